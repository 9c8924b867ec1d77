"""What the gang of a workload needs, one file for each kind: pure functions of the owner and its pods.

A value that cannot be understood raises MalformedValue, which names the field and the value; the pods then wait, and
their owner is told. `table.py` has all of them.
"""
