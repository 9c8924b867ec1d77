"""The queue controller: keeps `status` of Queues up to date with the pods in them."""
