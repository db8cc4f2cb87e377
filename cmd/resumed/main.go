//go:build !packages && !windows

// Command resumed continues the sessions of coding agents that a limit
// stopped: it waits as long as the provider asked, continues the same session,
// and calls a person when that does not help.
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
