"""Run times that nobody declared and that were seen: what earlier pods of a workload took."""
