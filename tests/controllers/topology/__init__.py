"""The topology controller: what the status of the network says, and that it is kept so at little cost."""
