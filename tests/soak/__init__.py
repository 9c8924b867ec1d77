"""koordpy as processes beside a real etcd and kube-apiserver, under load, while somebody kills them one by one.

`python -m tests.soak --minutes 20`. What is judged is what the API server says, and nothing that koordpy says of
itself.
"""
