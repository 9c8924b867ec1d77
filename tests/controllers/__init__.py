"""The controllers: what a PodGroup's status says, and that it is kept so at little cost."""
