//go:build !windows

package main

import (
	"runtime"

	"github.com/spf13/cobra"

	"resumed/internal/buildinfo"
	"resumed/internal/termui"
)

func version() string { return buildinfo.This().Version }

func (c *cli) versionCommand() *cobra.Command {
	return c.jsonFlag(&cobra.Command{
		Use:     "version",
		Short:   "Print the version, and what it was built from",
		Example: "  resumed version\n  resumed version --json",
		RunE: func(*cobra.Command, []string) error {
			build := buildinfo.This()
			value := map[string]any{
				"version": 1, "resumed": build.Version, "commit": orNull(build.Commit), "date": orNull(build.Date),
				"go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH,
			}
			return c.print(value, func(p *termui.Printer) { p.Text(buildinfo.About("resumed") + "\n") })
		},
	})
}

// orNull returns nil, which is null in JSON, for "".
func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
