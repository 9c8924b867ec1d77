"""The PodGroup controller: keeps `status` of every PodGroup true to its pods."""
