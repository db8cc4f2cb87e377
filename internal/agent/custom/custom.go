// Package custom implements an agent that a user describes: where it writes, which lines are a limit and
// which are progress, and the command that continues it.
package custom

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"resumed/internal/agent"
	"resumed/internal/limit"
)

// Options describes the agent. Patterns are regular expressions with named groups: session and cwd,
// after and at (when the limit lifts), class (the kind of limit; or a group with the name of a class),
// time and zone (when the line was written), text (the part of the line that is shown to people).
type Options struct {
	Name     string
	Files    []string // globs of absolute paths
	Session  string   // group session, else the first group; matched with the line, then with the path
	Cwd      string   // the directory of sessions, if there is no group cwd
	About    string   // a glob with {session}: the file whose first line has the group cwd of Session
	Program  []string // the name of its program, whose processes in a session's directory may hold the session; then words of headless runs
	Limit    []string // lines that end a turn
	Progress []string // lines that mean that the session moved
	Resume   []string // the command; {session}, {prompt} and {cwd} are replaced
	Start    []string // the command that begins a session with the given id; none: not possible
	Env      []string // KEY=value, added for resumed runs

	Grace time.Duration  // a clock time this far in the past means now, not tomorrow
	Zone  *time.Location // for clock times without a zone; nil means local
}

// Agent is an agent that the user described.
type Agent struct {
	agent.Base
	is       Options
	session  *regexp.Regexp
	limits   []*regexp.Regexp
	progress []*regexp.Regexp
	sources  []agent.Source
}

var (
	_ agent.FileAgent = (*Agent)(nil)
	_ agent.Starter   = (*Agent)(nil)
)

// New checks the description. The error contains everything that is wrong.
func New(o Options) (*Agent, error) {
	a := &Agent{is: o}
	var bad []error
	check := func(wrong bool, format string, args ...any) {
		if wrong {
			bad = append(bad, fmt.Errorf(format, args...))
		}
	}
	check(o.Name == "", "name: a custom agent needs one")
	a.session = compile("session", o.Session, check, "session", "cwd")
	check(a.session != nil && a.session.NumSubexp() == 0, "session: %q has no group to take the session's id from", o.Session)
	check(len(o.Limit) == 0, "limit: at least one pattern is needed")
	ofLimit := []string{"session", "cwd", "after", "at", "class", "time", "zone", "text"}
	for _, class := range limit.Classes() {
		ofLimit = append(ofLimit, class.String())
	}
	for _, p := range o.Limit {
		a.limits = append(a.limits, compile("limit", p, check, ofLimit...))
	}
	for _, p := range o.Progress {
		a.progress = append(a.progress, compile("progress", p, check, "session", "cwd", "time", "zone"))
	}
	if len(o.Resume) == 0 {
		o.Resume = []string{""}
	}
	check(o.Resume[0] == "", "resume: a command is needed")
	check(strings.ContainsAny(o.Resume[0], "{}"), "resume: the program %q cannot hold a placeholder", o.Resume[0])
	check(len(o.Files) == 0, "files: at least one is needed")
	for _, glob := range o.Files {
		_, err := filepath.Match(glob, "")
		check(!filepath.IsAbs(glob), "files: %q: must be an absolute path", glob)
		check(strings.HasSuffix(glob, string(filepath.Separator)), "files: %q: must name files, not a directory", glob)
		check(err != nil, "files: %q: %w", glob, err)
	}
	if err := errors.Join(bad...); err != nil {
		return nil, fmt.Errorf("agent %s: %w", o.Name, err)
	}
	a.Base = agent.NewBase(agent.About{Name: o.Name}, agent.Options{Command: o.Resume[0], Env: o.Env, Grace: o.Grace, Zone: o.Zone})
	a.sources = a.makeSources()
	return a, nil
}

func compile(key, pattern string, check func(bool, string, ...any), groups ...string) *regexp.Regexp {
	re, err := regexp.Compile(pattern)
	check(pattern == "", "%s: an empty pattern matches every line", key)
	check(err != nil, "%s: %w", key, err)
	if pattern == "" || err != nil {
		return nil
	}
	for _, name := range re.SubexpNames() {
		check(name != "" && !slices.Contains(groups, name),
			"%s: %q has a group %q; only %s can be used there", key, pattern, name, strings.Join(groups, ", "))
	}
	return re
}

// Sources returns the directories of the agent's files.
func (a *Agent) Sources() []agent.Source { return slices.Clone(a.sources) }

// rootOf returns the longest directory without wildcards of a glob, and how many levels the files are below it.
func rootOf(glob string) (root string, depth int) {
	for root = filepath.Dir(glob); strings.ContainsAny(root, `*?[\`); depth++ {
		root = filepath.Dir(root)
	}
	return root, depth
}

// makeSources returns one source per directory. A file belongs to the first pattern that matches.
func (a *Agent) makeSources() (sources []agent.Source) {
	globs := slices.Clone(a.is.Files)
	for i, glob := range globs {
		globs[i] = filepath.Clean(glob)
		root, depth := rootOf(globs[i])
		at := slices.IndexFunc(sources, func(src agent.Source) bool { return src.Root == root })
		if at < 0 {
			at = len(sources)
			match := func(rel string) bool { return rootOfFirst(globs, filepath.Join(root, rel)) == root }
			sources = append(sources, agent.Source{Account: a.Home(), Root: root, Match: match, Sift: a.sift})
		}
		src := &sources[at]
		src.Depth = max(src.Depth, depth)
		// If the pattern's own path contains no session, the lines do, and one file may have many.
		src.Shared = src.Shared || !a.session.MatchString(globs[i])
	}
	return sources
}

// rootOfFirst returns the root of the first glob that matches a file, or "".
func rootOfFirst(globs []string, path string) string {
	for _, glob := range globs {
		if ok, _ := filepath.Match(glob, path); ok { // the globs were checked
			root, _ := rootOf(glob)
			return root
		}
	}
	return ""
}
