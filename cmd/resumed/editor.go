//go:build !windows

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"resumed/internal/hint"
)

// edited opens a text in the user's editor, and returns the result.
func edited(ctx context.Context, text string) (string, error) {
	editor := cmp.Or(os.Getenv("VISUAL"), os.Getenv("EDITOR"))
	if editor == "" {
		return "", hint.With(errors.New("neither VISUAL nor EDITOR is set"), "resumed queue edit TASK -- PROMPT")
	}
	dir, err := os.MkdirTemp("", "resumed-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "prompt.md")
	if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
		return "", err
	}
	run := exec.CommandContext(ctx, "sh", "-c", editor+` "$1"`, "sh", path) // the editor may have arguments
	run.Stdin, run.Stdout, run.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := run.Run(); err != nil {
		return "", fmt.Errorf("run the editor %s: %w", editor, err)
	}
	after, err := os.ReadFile(path)
	return strings.TrimRight(string(after), "\n"), err
}
