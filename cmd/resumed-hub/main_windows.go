package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "resumed does not run on Windows itself. Install it in WSL (wsl --install), and run its hub there")
	os.Exit(1)
}
