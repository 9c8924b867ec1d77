"""Volumes, from the rules for a single node to pods on a real kube-apiserver."""
