"""A real etcd and kube-apiserver for tests: built once, started on loopback, and always taken down again."""
