package program

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Version runs a program with its version flag, and returns its path with the first line of
// output. A program that does not know the flag has an unknown version.
func Version(ctx context.Context, env []string, program, flag string) string {
	const patience = 10 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, flag)
	cmd.Env = append(os.Environ(), env...)
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	if err != nil || line == "" {
		return program + " (version unknown)"
	}
	return program + " (" + line + ")"
}
