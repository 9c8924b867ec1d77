"""What we say and hear, tested in virtual time: no sockets, no waiting, every failure on demand."""
