package agent

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"time"

	"resumed/internal/leash"
	"resumed/internal/lines"
	"resumed/internal/program"
	"resumed/internal/resume"
)

// Transcripts is the Base of an agent that writes its sessions line by line into files in its
// homes.
type Transcripts struct {
	Base
	Homes Homes
	Files Source // what each home's source is like
	Dir   string // of each home, with the transcripts

	// Elsewhere returns the variable, as KEY=value, that makes a run use another home than the
	// usual one; empty: not needed.
	Elsewhere func(home string) string

	// Read returns what a line means for its session, with the session's id. Observe adds the
	// fields that are set in the same way for all agents.
	Read func(lines.Line) (resume.Observation, bool)

	// Size returns the size of the context at a line that is an answer; nil: this agent does
	// not state it.
	Size func(lines.Line) (resume.Context, bool)
}

// UsualHome returns the home that the first set variable names, else the one of that name below
// the user's home directory; empty: not known.
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

// Run returns the plan to continue a session with the program and these arguments, in that
// directory. The arguments include the carried ones.
func (t *Transcripts) Run(s resume.Session, dir string, carried leash.Carried, args ...string) Plan {
	if leave := CheckDir(s, dir); leave != nil {
		return Plan{Leave: leave}
	}
	found, err := t.Find(s)
	if err != nil {
		return t.Missing()
	}
	return Plan{Run: t.Begin(found, dir, carried, t.Environment(found, s.Transcript), args...)}
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

// Written returns the timestamp of a record. If it is missing or impossible, the file's time is
// used.
func Written(timestamp string, file time.Time) time.Time {
	if t, err := time.Parse(time.RFC3339, timestamp); err == nil && resume.Possible(t) {
		return t
	}
	return file
}

// maxWeighLines bounds how far back an answer is searched. Mostly it is within the last near bytes.
const maxWeighLines, near = 2000, 16 << 10

// Weigh returns the size of the context that the last answer in the transcript states.
func (t *Transcripts) Weigh(ctx context.Context, s resume.Session) (resume.Context, bool, error) {
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
