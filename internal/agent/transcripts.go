package agent

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"sync"
	"time"

	"resumed/internal/leash"
	"resumed/internal/program"
	"resumed/internal/resume"
)

// Transcripts is the Base of an agent that writes its sessions, line after
// line, into files of its homes.
type Transcripts struct {
	Base
	Homes Homes
	Files Source // what each home's source is like
	Dir   string // of each home, in which the files lie

	// Elsewhere returns the variable, as KEY=value, that takes a run to another
	// home than the usual one; empty: it finds that by itself.
	Elsewhere func(home string) string

	// Read says what a line means for its session, by its id, and leaves to
	// Observe what is the same for all.
	Read func(Line) (resume.Observation, bool)

	// ToolUse says what a line tells of tools.
	ToolUse func(Line) ToolUse

	// Size returns how large the context was at a line that is an answer; nil:
	// this agent does not tell.
	Size func(Line) (resume.Context, bool)
}

// UsualHome returns the home that the first of these variables names, else the
// one of that name below the user's home directory; empty: not known.
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

// Sources returns the directory of transcripts of each home.
func (t *Transcripts) Sources() []Source { return t.Homes.Sources(t.Dir, t.Files) }

// Observe says what one line means for its session. Of a line that is not whole
// nothing can be said.
func (t *Transcripts) Observe(src Source, line Line) (resume.Observation, bool) {
	if line.Cut {
		return resume.Observation{}, false
	}
	line.Data = Lean(line.Data)
	o, ok := t.Read(line)
	if !ok {
		return resume.Observation{}, false
	}
	o.Key.Agent, o.Account, o.Transcript = t.Name(), src.Account, line.Path
	return o, true
}

// Denied returns what a run was refused at last, by what its transcript tells.
func (t *Transcripts) Denied(ctx context.Context, s resume.Session, run Ran) (Denial, bool, error) {
	if err := ctx.Err(); err != nil {
		return Denial{}, false, err
	}
	d, denied, _, err := LastDenial(ctx, s.Transcript, run.Since, t.ToolUse)
	return d, denied, err
}

// Run is the plan to continue a session by the program and these arguments, in
// that directory. What is carried is among them.
func (t *Transcripts) Run(s resume.Session, dir string, carried leash.Carried, args ...string) Plan {
	if err := CheckDir(dir); err != nil {
		return Parked("%v", err)
	}
	found, err := t.Find(s)
	if err != nil {
		return t.Missing()
	}
	return Plan{Run: t.Begin(found, dir, carried, t.Environment(found, s.Transcript), args...)}
}

// Environment returns what a run of that transcript's session is given.
func (t *Transcripts) Environment(p program.Found, transcript string) []string {
	env := p.Environment(t.Env)
	if root := t.Homes.Of(transcript); root != t.Homes.Usual {
		if variable := t.Elsewhere(root); variable != "" {
			env = append(env, variable)
		}
	}
	return env
}

// Written returns the time that a record says of itself. One without, or with an
// impossible one, is as old as its file.
func Written(timestamp string, file time.Time) time.Time {
	if t, err := time.Parse(time.RFC3339, timestamp); err == nil && resume.Possible(t) {
		return t
	}
	return file
}

// Cache remembers something of each file. The zero Cache is empty.
type Cache[V any] struct {
	mu     sync.Mutex
	byPath map[string]V // guarded by mu
}

const maxCached = 512 // beyond the sessions that move at a time

// Get returns what is remembered of the file.
func (c *Cache[V]) Get(path string) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, ok := c.byPath[path]
	return v, ok
}

// Put remembers something of the file.
func (c *Cache[V]) Put(path string, v V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byPath == nil || len(c.byPath) >= maxCached {
		c.byPath = make(map[string]V)
	}
	c.byPath[path] = v
}
