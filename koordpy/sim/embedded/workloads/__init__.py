"""Small controllers for the embedded cluster: Job, Deployment, ReplicaSet, StatefulSet, and garbage collection.

They make pods as kube-controller-manager does, with the same names, labels, owners and conditions, because gangs are
mostly made by such controllers. `runtime.py` decides when one looks at an object, a file each says what it does then.
They write beneath the HTTP API, by its rules, and cost nothing while there is no such object.
"""
