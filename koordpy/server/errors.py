"""Errors of the HTTP server, in a module of their own: handling them must not load the web server."""

from __future__ import annotations


class CannotServe(Exception):
    """The address or the certificate cannot be used; `str()` is one line."""
