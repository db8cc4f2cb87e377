package main

import (
	"fmt"
	"os"
)

// Signals, sockets and processes are different on Windows, and agents mostly run in WSL there, which is
// a Linux on which resumed works.
func main() {
	fmt.Fprintln(os.Stderr, "resumed does not run on Windows itself. Install it in WSL (wsl --install), and run it there with your agents")
	os.Exit(1)
}
