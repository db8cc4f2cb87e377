// Package buildinfo says which version a program is, and what it was built from.
package buildinfo

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// Newest is the version of the last release, or of the one that is being made. It is written only here;
// the tag of a release is "v" and this.
const Newest = "0.2.0"

// The linker sets these where packages are built (packaging/build), so that the programs are the same from a
// clone, from a second work tree and from an archive of the sources. Elsewhere the stamps of the go command count.
var released, commit, date string

// Build is what a program was built from.
type Build struct {
	Version string
	Commit  string // "": not known, as under `go run`
	Date    string // when it was committed, RFC 3339
}

// This returns what this program was built from.
func This() Build {
	if released != "" {
		return Build{released, commit, date}
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return builtFrom(info)
}

// builtFrom reads the stamps of the go command. Only a build of the tag itself has the plain version; every
// other one has the time of its commit after it, so that a later build sorts after an earlier one.
func builtFrom(info *debug.BuildInfo) Build {
	settings := make(map[string]string)
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	b := Build{Commit: settings["vcs.revision"], Date: settings["vcs.time"]}
	switch {
	case info.Main.Version == "v"+Newest:
		b.Version = Newest
	case b.Date == "":
		b.Version = Newest + "+devel"
	default:
		b.Version = Newest + "+git" + strings.NewReplacer("-", "", ":", "", "T", "", "Z", "").Replace(b.Date)
	}
	if settings["vcs.modified"] == "true" {
		b.Version += ".changed"
	}
	return b
}

// About is one line for people: what to name in a report of a problem.
func About(program string) string {
	b := This()
	from := ""
	if b.Commit != "" {
		from = fmt.Sprintf("commit %.12s of %s, ", b.Commit, cmp.Or(b.Date, "an unknown day"))
	}
	return fmt.Sprintf("%s %s (%s%s, %s/%s)", program, b.Version, from, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
