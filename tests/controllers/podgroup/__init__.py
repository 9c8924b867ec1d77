"""The PodGroup controller: what a status says, and that it is kept so at little cost."""
