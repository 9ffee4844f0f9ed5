"""Model hosts: untrusted Python processes that run what the judge tells them to, and decide nothing."""
