//go:build !windows

package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// newest is the version of the last release, or of the one that is being made:
// the one place where it stands. The tag of a release is "v" and this.
const newest = "0.2.0"

// What the linker is told where packages are built (packaging/build), so that
// they come out alike from a clone, from a second work tree and from an archive of
// the sources; elsewhere the go command's own stamps tell.
var released, commit, date string

// origin is what a build tells of itself.
type origin struct {
	version string
	commit  string // "": not known, as under `go run`
	date    string // when it was committed, RFC 3339
}

// builtFrom reads what the go command wrote into the program. Only what was
// built from the tag itself has the plain version; all else carries the time of its
// commit behind it, so that a later one sorts after an earlier one.
func builtFrom(info *debug.BuildInfo) origin {
	settings := make(map[string]string)
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	o := origin{commit: settings["vcs.revision"], date: settings["vcs.time"]}
	switch {
	case info.Main.Version == "v"+newest:
		o.version = newest
	case o.date == "":
		o.version = newest + "+devel"
	default:
		o.version = newest + "+git" + strings.NewReplacer("-", "", ":", "", "T", "", "Z", "").Replace(o.date)
	}
	if settings["vcs.modified"] == "true" {
		o.version += ".changed"
	}
	return o
}

func thisBuild() origin {
	if released != "" {
		return origin{released, commit, date}
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return builtFrom(info)
}

func version() string { return thisBuild().version }

// about is what people want to know of a program that they report on.
func about() string {
	o := thisBuild()
	from := ""
	if o.commit != "" {
		from = fmt.Sprintf("commit %.12s of %s, ", o.commit, cmp.Or(o.date, "an unknown day"))
	}
	return fmt.Sprintf("resumed %s (%s%s, %s/%s)", o.version, from, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

func (c *cli) versionCommand() *cobra.Command {
	return c.jsonFlag(&cobra.Command{
		Use:     "version",
		Short:   "Print the version, and what it was built from",
		Example: "  resumed version\n  resumed version --json",
		RunE: func(*cobra.Command, []string) error {
			if c.json {
				o := thisBuild()
				return json.NewEncoder(escaping{c.out}).Encode(map[string]any{
					"version": 1, "resumed": o.version, "commit": known(o.commit), "date": known(o.date),
					"go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH,
				})
			}
			_, err := fmt.Fprintln(c.out, about())
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
