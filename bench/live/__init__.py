"""Scheduling on a real control plane: the same workloads, one scheduler after the other, seen by an observer."""
