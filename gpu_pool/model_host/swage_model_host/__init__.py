"""Model hosts: untrusted Python processes that do what the judge says and decide nothing."""
