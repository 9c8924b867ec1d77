"""koordpy beside the real kube-scheduler: the same cluster, the same pod, and the same answer expected of both."""
