"""What koordpy relies on a Kubernetes API to do, checked against a real kube-apiserver and the embedded one alike."""
