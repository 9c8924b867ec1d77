"""The client of the API server: connections, list and watch, writes with retries, events, leader election.

This package knows Kubernetes objects and HTTP. It never sees a gang, a plan or the cluster state.
"""
