"""The behaviour contract as short stories, each told twice: in virtual time, and on a real kube-apiserver."""
