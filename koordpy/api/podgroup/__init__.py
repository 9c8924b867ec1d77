"""The objects that define gangs, one module for each API family, and the one form that they are all read into.

An adapter turns an object of its family into a `GangObject` (`gangobject.py`). What stands behind that knows one kind
of gang. Nothing here decides whose word counts: that is `state/gangs/spec.py`.
"""
