package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"resumed/internal/leash"
	"resumed/internal/lines"
	"resumed/internal/process"
	"resumed/internal/program"
	"resumed/internal/resume"
	"resumed/internal/sanitize"
)

// Transcripts is the Base of an agent that writes its sessions as lines of files in its homes.
type Transcripts struct {
	Base
	Homes Homes
	Files Source // what each home's source is like
	Dir   string // of each home, with the transcripts

	// Elsewhere returns KEY=value, which makes a run use another home than the usual one; empty: not needed.
	Elsewhere func(home string) string

	// Read returns what a line means. Observe adds the fields that are set in the same way for all agents.
	Read func(lines.Line) (resume.Observation, bool)

	// Size returns the size of the context at an answer; nil: this agent does not state it.
	Size func(lines.Line) (resume.Context, bool)
}

// UsualHome returns the home that the first set variable names, else the one in the user's; empty: not known.
func UsualHome(name string, variables ...string) string {
	var named string
	for _, variable := range variables {
		named = cmp.Or(named, os.Getenv(variable))
	}
	if userDir, err := os.UserHomeDir(); named == "" && err == nil {
		return filepath.Join(userDir, name)
	}
	return named
}

// Sources returns the transcript directory of each home.
func (t *Transcripts) Sources() []Source { return t.Homes.Sources(t.Dir, t.Files) }

// Observe returns what one line means for its session. Cut lines are ignored.
func (t *Transcripts) Observe(src Source, line lines.Line) (resume.Observation, bool) {
	if line.Cut {
		return resume.Observation{}, false
	}
	o, ok := t.Read(line)
	if !ok {
		return resume.Observation{}, false
	}
	o.Key.Agent, o.Account, o.Transcript = t.Name(), src.Account, line.Path
	return o, true
}

// Run returns the plan to continue a session. The arguments include the carried ones.
func (t *Transcripts) Run(s resume.Session, dir string, carried leash.Repeated, args ...string) Plan {
	if leave := CheckDir(s, dir); leave != nil {
		return Plan{Skip: leave}
	}
	found, err := t.Find(s)
	if err != nil {
		return t.Missing()
	}
	return Plan{Run: t.NewCommand(found, dir, carried, t.Environment(found, s.Transcript), args...)}
}

// Environment returns the variables for a run of that transcript's session.
func (t *Transcripts) Environment(p program.Found, transcript string) []string {
	env := p.Environment(t.Env)
	if root := t.Homes.Of(transcript); root != t.Homes.Usual {
		if variable := t.Elsewhere(root); variable != "" {
			env = append(env, variable)
		}
	}
	return env
}

// Written returns the timestamp of a record, or the file's time if it is missing or impossible.
func Written(timestamp string, file time.Time) time.Time {
	if t, err := time.Parse(time.RFC3339, timestamp); err == nil && resume.ValidRecordTime(t) {
		return t
	}
	return file
}

// maxWeighLines bounds how far back an answer is searched. Mostly it is within the last near bytes.
const maxWeighLines, near = 2000, 16 << 10

// ContextSize returns the size of the context that the last answer in the transcript states.
func (t *Transcripts) ContextSize(ctx context.Context, s resume.Session) (resume.Context, bool, error) {
	return t.weighIn(ctx, lines.Last(s.Transcript, maxWeighLines))
}

// WeighAt is Weigh for the last answer before the line, if that is near.
func (t *Transcripts) WeighAt(line lines.Line) (resume.Context, bool) {
	found, known, err := t.weighIn(context.Background(), lines.Span{Before: line, Since: line.Offset - near})
	return found, known && err == nil
}

func (t *Transcripts) weighIn(ctx context.Context, in lines.Span) (found resume.Context, known bool, err error) {
	if t.Size == nil {
		return found, false, nil
	}
	err = in.Back(ctx, func(line lines.Line) bool {
		found, known = t.Size(line)
		return !known
	})
	return found, known, err
}

// Homes are the directories in which an agent stores its sessions. Each is a separate account.
type Homes struct {
	Usual string   // the agent's default; empty: not known
	Roots []string // those that are watched; never empty

	agent string
}

// NewHomes returns the homes at roots, or the usual one. The error contains everything that is wrong.
func NewHomes(agent, usual string, roots []string) (Homes, error) {
	h := Homes{agent: agent}
	if usual != "" {
		h.Usual = filepath.Clean(usual)
	}
	if len(roots) == 0 {
		if h.Usual == "" {
			return h, fmt.Errorf("find the home of %s: $HOME is not set", agent)
		}
		roots = []string{h.Usual}
	}
	var bad []error
	for _, root := range roots {
		root = filepath.Clean(root)
		if !filepath.IsAbs(root) {
			bad = append(bad, fmt.Errorf("root %q of %s is not an absolute path", root, agent))
		} else if !slices.Contains(h.Roots, root) {
			h.Roots = append(h.Roots, root)
		}
	}
	return h, errors.Join(bad...)
}

// Account returns the account of the home at root.
func (h Homes) Account(root string) string {
	if root == h.Usual {
		return h.agent + ":default"
	}
	return h.agent + ":" + root
}

// Of returns the home that contains path, or the first one.
func (h Homes) Of(path string) string {
	for _, root := range h.Roots {
		if strings.HasPrefix(path, root+string(filepath.Separator)) {
			return root
		}
	}
	return h.Roots[0]
}

// Sources returns a copy of like for a directory of each home.
func (h Homes) Sources(dir string, like Source) []Source {
	sources := make([]Source, 0, len(h.Roots))
	for _, root := range h.Roots {
		src := like
		src.Account, src.Root = h.Account(root), filepath.Join(root, dir)
		sources = append(sources, src)
	}
	return sources
}

// Files returns the files that match a pattern in the homes, also the default one.
func (h Homes) Files(pattern string) []string {
	var all []string
	for _, root := range append([]string{h.Usual}, h.Roots...) {
		names, _ := fs.Glob(os.DirFS(root), pattern) // errs on a bad pattern only
		for _, name := range names {
			all = append(all, filepath.Join(root, name))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// File returns the first file that matches a pattern in the homes; empty: none does.
func (h Homes) File(pattern string) string { return cmp.Or(append(h.Files(pattern), "")...) }

// NewFiles returns a function that lists the matching files created since: a new session writes a new file.
func (h Homes) NewFiles(pattern string) func() []string {
	before := h.Files(pattern)
	return func() []string {
		return slices.DeleteFunc(h.Files(pattern), func(path string) bool {
			_, found := slices.BinarySearch(before, path)
			return found
		})
	}
}

// IsUUID reports whether a text is a UUID, which many agents use as id.
func IsUUID(text string) bool {
	const length = 36 // excludes the other forms that the library accepts
	return len(text) == length && uuid.Validate(text) == nil
}

// UnwatchedProcess stores its sessions in a home that is not watched.
type UnwatchedProcess struct {
	PID      int
	Variable string   // that names the home
	Home     string   // the value of Variable
	Roots    []string // what should be watched: only the last one is new
}

// String returns a sentence for people.
func (s UnwatchedProcess) String() string {
	return fmt.Sprintf("process %d has %s=%s, which is not watched: its sessions are not continued",
		s.PID, s.Variable, sanitize.Short(s.Home, sanitize.Sentence))
}

// Remedy returns the line of the configuration that fixes it.
func (s UnwatchedProcess) Remedy() string {
	quoted := make([]string, len(s.Roots))
	for i, root := range s.Roots {
		quoted[i] = strconv.Quote(root)
	}
	return fmt.Sprintf("roots = [%s] in its [[agent]] entry", strings.Join(quoted, ", "))
}

// Unwatched ignores a process with another home directory than the user's: it belongs to another user.
func (t *Transcripts) Unwatched(ctx context.Context) ([]UnwatchedProcess, error) {
	running, err := t.Processes.Running(ctx, t.about.Is)
	if err != nil {
		return nil, err
	}
	variable, _, _ := strings.Cut(t.Elsewhere("/somewhere"), "=")
	var found []UnwatchedProcess
	for _, p := range running {
		said := p.Variable(variable)
		if said == "" || p.Mark != "" || !process.SameDir(p.Variable("HOME"), t.UserDir) {
			continue
		}
		if !filepath.IsAbs(said) {
			said = filepath.Join(p.Cwd, said)
		}
		home := filepath.Clean(said)
		if below := filepath.Join(said, filepath.Base(t.Homes.Usual)); t.Elsewhere(below) == variable+"="+home {
			home = below // the variable names its parent directory
		}
		is := func(other string) bool { return process.SameDir(other, home) }
		listed := func(s UnwatchedProcess) bool { return is(s.Roots[len(s.Roots)-1]) }
		if !slices.ContainsFunc(t.Homes.Roots, is) && !slices.ContainsFunc(found, listed) {
			found = append(found, UnwatchedProcess{p.PID, variable, said, append(slices.Clone(t.Homes.Roots), home)})
		}
	}
	return found, nil
}
