// The container that holds a pod's namespaces: it waits to be told to end, and reaps what is left to it.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func reap() {
	for {
		if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); pid <= 0 || err != nil {
			return
		}
	}
}

func main() {
	signals := make(chan os.Signal, 32)
	signal.Notify(signals, syscall.SIGCHLD, syscall.SIGINT, syscall.SIGTERM)
	for received := range signals {
		if received != syscall.SIGCHLD {
			return
		}
		reap()
	}
}
