package main

import (
	"fmt"
	"os"
)

// Of signals, sockets and processes there is another kind on Windows, and agents are
// mostly run in WSL there: that is a Linux, in which resumed runs as on any other.
func main() {
	fmt.Fprintln(os.Stderr, "resumed: it does not run on Windows itself: install it in WSL, where your agents run (wsl --install), and run it there")
	os.Exit(1)
}
