"""One file per filter, named as kube-scheduler names the plugin."""
