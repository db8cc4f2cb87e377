//go:build packages && !windows

package commandline

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"resumed/internal/buildinfo"
)

// Main writes the man pages and completions of a program for packages, into the directory in the first
// argument.
func Main(root func() *cobra.Command, _ func(ctx context.Context, args []string, out, errOut io.Writer) int) {
	if err := generate(root(), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "resumed:", err)
		os.Exit(1)
	}
}

func generate(root *cobra.Command, dir string) error {
	root.DisableAutoGenTag = true
	if err := manPages(root, filepath.Join(dir, "man")); err != nil {
		return err
	}
	completions := filepath.Join(dir, "completions")
	if err := os.MkdirAll(completions, 0o755); err != nil {
		return fmt.Errorf("make a directory: %w", err)
	}
	for name, write := range map[string]func(string) error{
		root.Name():           func(file string) error { return root.GenBashCompletionFileV2(file, true) },
		"_" + root.Name():     root.GenZshCompletionFile,
		root.Name() + ".fish": func(file string) error { return root.GenFishCompletionFile(file, true) },
	} {
		if err := write(filepath.Join(completions, name)); err != nil {
			return fmt.Errorf("write completion: %w", err)
		}
	}
	return nil
}

func manPages(root *cobra.Command, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make a directory: %w", err)
	}
	seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil {
		return fmt.Errorf("read SOURCE_DATE_EPOCH: %w", err)
	}
	date := time.Unix(seconds, 0).UTC()
	header := &doc.GenManHeader{Section: "1", Date: &date, Source: "resumed " + buildinfo.Newest, Manual: "User Commands"}
	if err := doc.GenManTree(root, header, dir); err != nil {
		return fmt.Errorf("write man pages: %w", err)
	}
	return nil
}
