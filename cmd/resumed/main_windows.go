package main

import (
	"fmt"
	"os"
)

// Of signals, sockets and processes there is another kind on Windows, and agents are
// mostly run in WSL there: that is a Linux, in which resumed runs as on any other.
func main() {
	fmt.Fprintln(os.Stderr, "resumed does not run on Windows itself. Install it in WSL (wsl --install), and run it there with your agents")
	os.Exit(1)
}
