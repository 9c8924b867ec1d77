"""Credentials: the address of the API server, TLS, tokens, proxies."""
