//go:build packages && !windows

package main

import (
	"fmt"
	"os"

	"resumed/internal/commandline"
)

// main writes the man pages and completions for packages into a directory. It replaces the program under a
// build tag, so that the program does not contain what writes them.
func main() {
	if err := commandline.Generate((&cli{out: os.Stdout, err: os.Stderr}).root(), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "resumed:", err)
		os.Exit(exitFailed)
	}
}
