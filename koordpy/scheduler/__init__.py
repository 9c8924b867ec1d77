"""The scheduler: which job is next, what becomes of it, and everything that carries that out. Read `loop.py` first."""
