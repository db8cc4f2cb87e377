package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"resumed/internal/limit"
	"resumed/internal/lines"
	"resumed/internal/resume"
	"resumed/internal/sanitize"
)

// MarkVariable tells the processes of resumed commands from those of people.
const MarkVariable = resume.MarkVariable

// Evidence is an observation and the offset of the line it was read from.
type Evidence struct {
	resume.Observation
	Offset int64
	Leave  string // why nothing is done about it, whatever the rules say; empty: the rules decide
}

// Back visits the evidence in a file from its end backwards, until visit returns false.
func Back(ctx context.Context, a FileAgent, src Source, path string, visit func(Evidence) bool) error {
	return lines.Back(ctx, path, func(line lines.Line) bool {
		if src.Sift != nil && src.Sift(line.Data) == Nothing {
			return true
		}
		observation, ok := a.Observe(src, line)
		if _, aside := observation.Event.(resume.SubagentEnded); aside {
			return true // it says nothing about the session itself
		}
		return !ok || visit(Evidence{Observation: observation, Offset: line.Offset})
	})
}

// Last returns the last evidence in a file, which decides the state of the session.
func Last(ctx context.Context, a FileAgent, src Source, path string) (last Evidence, found bool, err error) {
	err = Back(ctx, a, src, path, func(e Evidence) bool {
		last, found = e, true
		return false
	})
	return last, found, err
}

// SourcesOf returns the sources of a Reader; a Follower has none.
func SourcesOf(a Agent) []Source {
	if reader, ok := a.(FileAgent); ok {
		return reader.Sources()
	}
	return nil
}

// Watches reports whether path is in one of the agent's sources. For a Follower any path is.
func Watches(a Agent, path string) bool {
	_, follows := a.(DatabaseAgent)
	return follows || slices.ContainsFunc(SourcesOf(a), func(src Source) bool { return src.has(path) })
}

// SourceOf returns the source that contains path. A file from elsewhere is read as one of the first source.
func SourceOf(a FileAgent, path string) Source {
	sources := a.Sources()
	for _, src := range sources {
		if src.has(path) {
			return src
		}
	}
	if len(sources) == 0 {
		return Source{}
	}
	return sources[0]
}

func (s Source) has(path string) bool {
	rel, err := filepath.Rel(s.Root, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// SiftByType returns a Sift for records with a field type. The listed types are Moves or Matters, all others are Nothing.
// In a record without a type, the names of its fields count.
func SiftByType(moves, matters []string) func(line []byte) Weight {
	weights := make(map[string]Weight)
	for _, name := range moves {
		weights[name] = Moves
	}
	for _, name := range matters {
		weights[name] = Matters
	}
	return func(line []byte) (weight Weight) {
		if kind, known := lines.Text(line, "type"); known {
			return weights[string(kind)]
		}
		for name, w := range weights {
			if w > weight && bytes.Contains(line, []byte(`"`+name+`"`)) {
				weight = w
			}
		}
		return weight
	}
}

const maxText = 2000

// Clip shortens an agent's text, never within a character.
func Clip(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= maxText {
		return s
	}
	return strings.ToValidUTF8(s[:maxText], "") + "…"
}

// Ran is a finished resumed run.
type Ran struct {
	Since  time.Time // when it began
	Output string    // the end of what it printed
}

// Denial is a call that was refused. If the refusal has only its ID, the rest is found in the call.
type Denial Call

const longestUse = 120

// String returns a sentence for people.
func (d Denial) String() string {
	return "the resumed run was refused permission to use " + Call(d).String() + ", and nobody was there to give it: " +
		"allow it in the agent's own settings, or continue the session yourself"
}

// Call is a tool that an agent called.
type Call struct{ ID, Tool, Use string }

// String names the tool and what it is to do, for people.
func (c Call) String() string {
	what := "a tool"
	if c.Tool != "" {
		what = sanitize.Short(c.Tool, longestUse)
	}
	if use := strings.TrimSpace(c.Use); use != "" {
		what += fmt.Sprintf(" (%s)", sanitize.Short(use, longestUse))
	}
	return what
}

// ToolUse is what one record says about a run's tools. The zero ToolUse is a record without tools.
type ToolUse struct {
	At     time.Time
	Calls  []Call
	Done   []string // ids of calls that have their results
	Denied *Denial
	Other  bool // something else stopped the run, or another run began
	Begins bool // a turn begins
}

// OpenCall returns the first call of a tool that has no result, of the last ones in a turn; the zero Call:
// there is none, or the transcript cannot be read. A resume that called no tool has not changed the answer.
func OpenCall(ctx context.Context, s resume.Session, read func(lines.Line) ToolUse) (open Call) {
	done := make(map[string]bool)
	_ = lines.Back(ctx, s.Transcript, func(line lines.Line) bool {
		t, calls := read(line), false
		for _, id := range t.Done {
			done[id] = true
		}
		for _, call := range slices.Backward(t.Calls) {
			if call.ID != "" && !done[call.ID] {
				open, calls = call, true
			}
		}
		return calls || open.ID == "" && (!t.Begins || len(done) == 0 && SentByUs(s, t.At))
	})
	return open
}

// LastDenial reads a transcript from its end back to the beginning of a run. A denial counts if
// no tool was called after it: otherwise the agent continued without the tool. told reports
// whether the run called any tool at all.
func LastDenial(ctx context.Context, path string, since time.Time, read func(lines.Line) ToolUse) (d Denial, denied, told bool, err error) {
	err = lines.Back(ctx, path, func(line lines.Line) bool {
		t := read(line)
		if !t.At.IsZero() && t.At.Before(since.Add(-slack)) {
			return false
		}
		told = told || len(t.Calls) > 0 || t.Denied != nil
		if t.Denied != nil && !denied {
			d, denied = *t.Denied, true
		}
		if denied {
			return !d.names(t.Calls)
		}
		return len(t.Calls) == 0 && !t.Other
	})
	return d, denied, told, err
}

// names copies the tool's name from its call, and reports whether it is known.
func (d *Denial) names(calls []Call) bool {
	if at := slices.IndexFunc(calls, func(c Call) bool { return c.ID == d.ID }); d.Tool == "" && at >= 0 {
		*d = Denial(calls[at])
	}
	return d.Tool != ""
}

// UseOf returns what a tool was to do, from its arguments: the command, or the file it works on.
func UseOf(arguments map[string]any) string {
	for _, name := range []string{"command", "cmd", "file_path", "filePath", "absolute_path", "path", "url"} {
		switch value := arguments[name].(type) {
		case string:
			return value
		case []any:
			return strings.Trim(fmt.Sprint(value...), "[]")
		}
	}
	return ""
}

const slack = time.Second

// SentByUs reports whether a prompt of that time was sent by an earlier resume of the session.
func SentByUs(s resume.Session, at time.Time) bool {
	for _, attempts := range [][]resume.Attempt{s.Attempts, s.Past, s.Cut} {
		for _, a := range attempts {
			present := s.Run != nil && a.Mark == s.Run.Mark
			if !present && !at.Before(a.StartedAt.Add(-slack)) && !at.After(a.EndedAt.Add(slack)) {
				return true
			}
		}
	}
	return false
}

// StillStopped returns the last evidence and whether it still stops the session: else otherwise is the plan.
func StillStopped(ctx context.Context, a FileAgent, s resume.Session) (last Evidence, otherwise Plan, still bool, err error) {
	last, found, err := LastOf(ctx, a, s)
	if found && last.Key != s.Key {
		return last, SkipPlan("the transcript goes on as session " + last.Key.ID), false, err
	}
	otherwise, still, err = StillStoppedBy(s, last.Event, err)
	return last, otherwise, still, err
}

// StillStoppedBy reports whether last, the last event in the transcript, still stops a session.
// If not, otherwise is the plan to follow. unread is why the transcript could not be read.
func StillStoppedBy(s resume.Session, last resume.Event, unread error) (otherwise Plan, still bool, err error) {
	if errors.Is(unread, fs.ErrNotExist) {
		return Parked("the transcript is gone"), false, nil
	}
	if unread != nil {
		return Plan{}, false, unread
	}
	if why := WhyNotNow(s, last, time.Now()); why != "" {
		return SkipPlan(why), false, nil
	}
	return Plan{}, true, nil
}

// LastOf skips prompts sent by resumed: a resume that was cut off leaves its prompt behind.
func LastOf(ctx context.Context, a FileAgent, s resume.Session) (last Evidence, found bool, err error) {
	err = Back(ctx, a, SourceOf(a, s.Transcript), s.Transcript, func(e Evidence) bool {
		if prompt, ok := e.Event.(resume.Prompted); ok && e.Key == s.Key && SentByUs(s, prompt.At) {
			return true
		}
		last, found = e, true
		return false
	})
	return last, found, err
}

// WhyNotNow returns why a session is not continued after the last event in its transcript, or ""
// if it is still stopped. A nil event means that the transcript has none.
func WhyNotNow(s resume.Session, last resume.Event, now time.Time) string {
	at := resume.When(last)
	_, cancelled := last.(resume.Cancelled)
	if s.Limit.Class == limit.CutOff && !cancelled && !at.IsZero() && !at.After(s.LimitedAt) {
		return "" // its last turn has not ended
	}
	switch e := last.(type) {
	case resume.Limited:
		reset := e.Reset
		again := at.After(s.LimitedAt) // otherwise another session may know by now that the reset has moved
		if again && reset.Stated() && !reset.At.Equal(s.Limit.Reset.At) && reset.At.After(now) {
			return "the session was stopped again, until " + reset.At.UTC().Format(time.RFC3339)
		}
		return ""
	case resume.Prompted:
		return "a newer prompt was given to the session"
	case resume.Progressed:
		if s.DeniedAt(e.At) {
			return "" // a resume ended because it was refused a permission
		}
		return "the session has moved on by itself"
	case resume.Cancelled:
		return "the turn was interrupted by the user"
	default:
		return "the transcript does not say any more that the session stopped"
	}
}

// SkipPlan returns the plan for an obstacle that may pass by itself.
func SkipPlan(why string) Plan { return Plan{Skip: &Skip{Why: why}} }

// Runs returns the plan for a session that a run without a terminal holds.
func Runs(owner resume.Owner) Plan {
	return SkipPlan(fmt.Sprintf("process %d runs it without a terminal, and is waited for", owner.PID))
}

// Parked returns the plan for an obstacle that waiting does not fix.
func Parked(format string, args ...any) Plan {
	return Plan{Skip: &Skip{Why: fmt.Sprintf(format, args...), Park: true}}
}

// CheckDir returns nil for a directory that the session can work in, else why nothing may be sent.
func CheckDir(s resume.Session, dir string) *Skip {
	if dir == "" {
		return Parked("the session's directory is not known").Skip
	}
	if !filepath.IsAbs(dir) {
		return Parked("the session's directory %s is not an absolute path", dir).Skip
	}
	info, err := os.Stat(dir)
	switch {
	case err == nil && info.IsDir():
		return nil
	case err == nil:
		return Parked("the session's directory %s is not a directory any more", dir).Skip
	}
	why := fmt.Sprintf("the session's directory cannot be used: %v", err)
	if errors.Is(err, os.ErrNotExist) {
		why = fmt.Sprintf("the session's directory %s is gone", dir)
	}
	if !MayComeBack(s) {
		return Parked("%s", why).Skip
	}
	return &Skip{Why: why + ": it is continued when that is back", Tell: true}
}

// MayComeBack reports whether a directory is waited for. One that is away for days was deleted.
func MayComeBack(s resume.Session) bool {
	const days = 3 * 24 * time.Hour
	return time.Since(s.WaitFrom) < days || time.Since(s.Limit.Reset.At) < days
}
