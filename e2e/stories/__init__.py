"""The stories: each one thing that a user sees on a cluster with real kubelets, in the order of their files."""
