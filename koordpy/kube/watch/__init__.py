"""List and watch: a resource's objects as they are, and every change of them."""
