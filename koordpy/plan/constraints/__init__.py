"""Constraints of a pod's spec that a filter and a score share: node terms, tolerations, topology spread, volumes."""
