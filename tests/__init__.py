"""The tests, importable as `tests.*` so that the control plane can also be built and run without pytest."""
