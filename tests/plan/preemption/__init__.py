"""Preemption without a cluster around it: what `find_preemption` promises, on small pictures and on random ones."""
