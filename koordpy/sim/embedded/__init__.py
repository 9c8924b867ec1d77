"""A small Kubernetes API in memory, with simulated nodes and kubelets.

It exists so that a demo, a simulation or a test can have a cluster in milliseconds: no Go, no root, no
container. It has the controllers that make pods and knows nothing of the scheduler; it must never import
anything of koordpy but `koordpy.api` and the transport protocol of `koordpy.kube`.
"""
