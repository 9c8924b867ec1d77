"""The scheduler: which job is next, what becomes of it, what carries that out. Read `loop.py`, then `attempt.py`."""
