"""Thin clients of the sandbox's compile and evaluation services."""
