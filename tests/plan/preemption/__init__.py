"""Preemption without a cluster around it: what `make_room` promises, on small pictures and on random ones."""
