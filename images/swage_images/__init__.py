"""Builds swage's OCI images on a Debian machine, without Docker and reproducibly."""
