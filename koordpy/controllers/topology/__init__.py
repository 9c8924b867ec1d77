"""The topology controller: keeps `status` of the ClusterNetworkTopology up to date with the labels of the nodes."""
