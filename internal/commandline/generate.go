//go:build packages

package commandline

import (
	"context"
	"errors"
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
	man, completions := filepath.Join(dir, "man"), filepath.Join(dir, "completions")
	seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil {
		return fmt.Errorf("read SOURCE_DATE_EPOCH: %w", err)
	}
	if err := errors.Join(os.MkdirAll(man, 0o755), os.MkdirAll(completions, 0o755)); err != nil {
		return fmt.Errorf("make a directory: %w", err)
	}
	date := time.Unix(seconds, 0).UTC()
	return errors.Join(
		doc.GenManTree(root, &doc.GenManHeader{Section: "1", Date: &date, Source: "resumed " + buildinfo.Newest, Manual: "User Commands"}, man),
		root.GenBashCompletionFileV2(filepath.Join(completions, root.Name()), true),
		root.GenZshCompletionFile(filepath.Join(completions, "_"+root.Name())),
		root.GenFishCompletionFile(filepath.Join(completions, root.Name()+".fish"), true),
	)
}
