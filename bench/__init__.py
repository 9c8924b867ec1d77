"""Figures about koordpy: planning in memory, and scheduling on a real control plane beside other schedulers.

Nothing here judges: it prints figures, beside targets and beside the last run. Tests never assert on time.
"""
