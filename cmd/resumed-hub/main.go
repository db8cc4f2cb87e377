// Command resumed-hub is the server that connects the machines of a fleet. `resumed hub` starts it, so its
// help and its messages use that name.
package main

import (
	"os"

	"resumed/internal/commandline"
)

func main() { commandline.Main((&cli{out: os.Stdout, err: os.Stderr}).root, run) }
