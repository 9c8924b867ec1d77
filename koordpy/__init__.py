"""koordpy: a Kubernetes scheduler for jobs whose pods must start together."""

__version__ = "0.3.0"
