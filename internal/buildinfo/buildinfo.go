// Package buildinfo returns the version of a program and the commit it was built from.
package buildinfo

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
)

// Newest is the version of the last or the next release. It is defined only here; the tag of a release
// is "v" plus this.
const Newest = "0.2.0"

// The linker sets these for packages (packaging/build), so that a clone, a second work tree and an
// archive of the sources give the same programs. In other builds the VCS stamps of the go command are
// used.
var released, commit, date string

// Build is the origin of a program.
type Build struct {
	Version string
	Commit  string // "": not known, as with `go run`
	Date    string // of the commit, RFC 3339
}

// This returns the build of this program.
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

// builtFrom reads the stamps of the go command. Only a build of the tag has the plain version. All
// others add the time of their commit, so that later builds sort after earlier ones.
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

// About returns one line to name in a bug report.
func About(program string) string {
	b := This()
	from := ""
	if b.Commit != "" {
		from = fmt.Sprintf("commit %.12s of %s, ", b.Commit, cmp.Or(b.Date, "an unknown day"))
	}
	return fmt.Sprintf("%s %s (%s%s, %s/%s)", program, b.Version, from, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// Command is how a person calls the program resumed from where they are: by its name if the shell finds
// it, by go run if that started this process, else by its path.
func Command() string {
	program, err := os.Executable()
	if _, missing := exec.LookPath("resumed"); missing == nil || err != nil {
		return "resumed"
	}
	if strings.Contains(program, "/go-build") || strings.HasSuffix(filepath.Dir(program), "-d") { // where go run puts what it builds
		return "go run ./cmd/resumed"
	}
	if strings.ContainsAny(program, " \t'\"\\$`") {
		return "'" + strings.ReplaceAll(program, "'", `'\''`) + "'"
	}
	return program
}
