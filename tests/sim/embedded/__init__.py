"""The embedded API on its own: what cannot be compared with a real server, or needs virtual time."""
