//go:build !windows

// Command resumed continues sessions of coding agents that a limit stopped: it waits as long as the
// provider asked, continues the same session, and notifies a person when that does not help.
package main

import (
	"os"

	"resumed/internal/commandline"
)

func main() { commandline.Main((&cli{out: os.Stdout, err: os.Stderr}).root, run) }
