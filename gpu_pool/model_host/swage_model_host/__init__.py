"""Model hosts: untrusted processes that run what the judge tells them to, and decide nothing."""
