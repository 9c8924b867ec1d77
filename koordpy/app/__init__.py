"""The processes put together: settings and the file that they come from, connections, leases, tasks, logs."""
