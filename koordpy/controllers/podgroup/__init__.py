"""The PodGroup controller: keeps `status` of every PodGroup up to date with its pods."""
