"""The commands, as a user runs them: child processes, exit codes and what is printed."""
