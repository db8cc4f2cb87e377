//go:build !packages && !windows

// Command resumed-hub is the server that connects the machines of a fleet. `resumed hub` starts it, so its
// help and its messages use that name.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
