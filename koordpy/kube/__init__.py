"""What we say and hear: the connection to the API server, list and watch, writes with retries, the leader lease.

This room knows Kubernetes objects and HTTP. It never sees a gang, a plan or the cluster state.
"""
