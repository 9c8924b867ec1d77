"""`koordpy run` as users run it: a process of its own on a real kube-apiserver."""
