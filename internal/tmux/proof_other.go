//go:build !linux

package tmux

import "resumed/internal/resume"

// variables finds nothing: environments of other processes are not read here,
// and so it cannot be proved whose a pane is.
func variables(int) (server, pane string, err error) {
	return "", "", &Refusal{Why: "whose tmux pane it is can only be proved on Linux"}
}

func belongs(resume.Process, string, string) error {
	return &Refusal{Why: "whose tmux pane it is can only be proved on Linux"}
}
