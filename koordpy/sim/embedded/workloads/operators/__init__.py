"""Operators of other projects, played small: PyTorchJob, MPIJob and RayCluster make pods as their real operators do.

Names, labels, owners and order are theirs, because gangs are made of these; services, secrets, environment variables
and init containers are left out. `definitions.py` has what has to be installed for them; without it they cost nothing.
"""
