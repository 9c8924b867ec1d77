"""What a pod's spec demands of nodes, in terms that a filter and a score share: node terms, taints, spread, volumes."""
