"""The controllers on an API in memory and on a real kube-apiserver; a room for each, as in `koordpy/controllers/`."""
