//go:build !windows

package main

import (
	"encoding/json"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"resumed/internal/buildinfo"
	"resumed/internal/logging"
)

func version() string { return buildinfo.This().Version }

func (c *cli) versionCommand() *cobra.Command {
	return c.jsonFlag(&cobra.Command{
		Use:     "version",
		Short:   "Print the version, and what it was built from",
		Example: "  resumed version\n  resumed version --json",
		RunE: func(*cobra.Command, []string) error {
			if c.json {
				build := buildinfo.This()
				return json.NewEncoder(logging.Escape(c.out)).Encode(map[string]any{
					"version": 1, "resumed": build.Version, "commit": known(build.Commit), "date": known(build.Date),
					"go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH,
				})
			}
			_, err := fmt.Fprintln(c.out, buildinfo.About("resumed"))
			return err
		},
	})
}

// known is null in JSON where nothing is known.
func known(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
