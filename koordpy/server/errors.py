"""What can go wrong with serving; here, so that whoever handles it need not load a web server."""

from __future__ import annotations


class CannotServe(Exception):
    """The address or the certificate cannot be used; `str()` is one line."""
