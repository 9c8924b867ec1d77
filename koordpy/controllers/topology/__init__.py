"""The topology controller: keeps `status` of the ClusterNetworkTopology true to the nodes' labels."""
