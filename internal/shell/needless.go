//go:build !windows

package shell

import (
	"context"
	"os"

	"resumed/internal/resume"
	"resumed/internal/terminal"
	"resumed/internal/terminal/gnuscreen"
	"resumed/internal/terminal/kitty"
	"resumed/internal/terminal/shellpty"
	"resumed/internal/terminal/tmux"
)

// Needless reports whether the daemon can type into the terminal of this process as it is.
func Needless(ctx context.Context) bool {
	_, err := terminal.Find(ctx, resume.Process{PID: os.Getpid()}, tmux.Look, gnuscreen.Look, shellpty.Look, kitty.Look)
	return err == nil
}
