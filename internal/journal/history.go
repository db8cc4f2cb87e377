package journal

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"time"

	"resumed/internal/control"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
	"resumed/internal/sanitize"
	"resumed/internal/state"
)

// Kinds of steps that do not enter a state.
const (
	Started  = "started"
	Stopped  = "stopped"
	Paused   = "paused"
	Unpaused = "unpaused"
	Config   = "config"
	Left     = "left"     // an interruption that gets no wait
	Enqueued = "queued"   // a task that was added
	Unqueued = "unqueued" // a task that was dropped
	Refused  = "refused"  // an order of a caller that may not give it
)

type step struct {
	From    string         `json:"from,omitempty"`
	To      string         `json:"to,omitempty"`
	Class   string         `json:"class,omitempty"`
	Reason  string         `json:"reason,omitempty"`
	NextAt  time.Time      `json:"next_at,omitzero"`
	Attempt int            `json:"attempt,omitempty"`
	Outcome resume.Outcome `json:"outcome,omitempty"`
	Error   string         `json:"error,omitempty"`
	AliveAt time.Time      `json:"alive_at,omitzero"`
}

// reasons are the reasons for which each session was held back since its last other step.
type reasons map[resume.Key][]string

// mostReasons bounds how many reasons of a session are stored and recorded until its next other step.
const mostReasons = 16

// first reports whether the session is held back for that reason for the first time.
func (r reasons) first(key resume.Key, why string) bool {
	if slices.Contains(r[key], why) || len(r[key]) >= mostReasons {
		return false
	}
	r[key] = append(r[key], why)
	return true
}

// notable reports whether a step is a new decision. A session that cannot be resumed now is tried every
// minute: that is one decision, with one reason.
func (j *Journal) notable(c resume.Change) bool {
	before, after := c.Before, c.After
	switch c.Event.(type) {
	case resume.NotSent, resume.HeldBack:
		if after.State == resume.Waiting {
			return j.held.first(after.Key, after.Reason)
		}
	case resume.Due, resume.Sending:
		// Nothing was sent yet: the result is another step. But a resume that did not help ends here.
		return after.State != resume.Resuming && after.State != before.State
	case resume.Pause, resume.Unpause:
		return before.Paused != after.Paused
	case resume.Reconsider, resume.Postponed:
		return c.Stepped()
	case resume.Recalled:
		if after.Pending() {
			return false // its start was not recorded
		}
	}
	news := c.Sent() || c.Stepped() || c.Declined()
	if news {
		delete(j.held, after.Key)
	}
	return news
}

func (j *Journal) history(c resume.Change) {
	s := c.After
	line := step{
		From: max(c.Before.State, resume.Watching).String(), To: s.State.String(),
		Reason: s.Reason, NextAt: s.NextAt, Attempt: s.Tries(),
	}
	if s.Interrupted() {
		line.Class = s.Limit.Class.String()
	}
	if attempt := c.Concluded(); attempt != nil {
		line.Outcome, line.Error = attempt.Outcome, attempt.Err
	}
	kind := s.State.String()
	switch ev := c.Event.(type) {
	case resume.Started:
		// Due was not recorded as a step of its own, and a quick agent may have moved by now.
		line.From, line.To, kind = resume.Waiting.String(), resume.Resuming.String(), resume.Resuming.String()
		if line.Attempt == 0 {
			line.Attempt = len(s.Past)
		}
		if c.StartsTask() {
			line.Attempt, line.Reason = 0, fmt.Sprintf("there is room: task %d is begun by process %d", s.Task.N, ev.PID)
			break
		}
		how := "runs as process"
		if ev.Unverifiable {
			how = "is handed to process"
		}
		line.Reason = fmt.Sprintf("the wait is over: resume %d %s %d", line.Attempt, how, ev.PID)
		if attempt, _ := s.Tried(ev.Mark); attempt.Models.AllowedText() != "" {
			line.Reason += ", " + attempt.Models.AllowedText()
		}
	case resume.Ended:
		if s.State == resume.Settling && s.Pending() {
			line.Reason = "the command ended: now its session must show"
		} else if s.State == resume.Settling {
			line.Reason = "the resume was delivered: now the transcript must move"
		}
	case resume.Enqueued:
		kind = Enqueued
		line.Reason = fmt.Sprintf("task %d: %s", s.Task.N, sanitize.Short(s.Task.Prompt, sanitize.Sentence))
	case resume.Pause:
		if kind = Paused; ev.By != "" {
			line.Reason = "asked for by machine " + ev.By
		}
	case resume.Unpause:
		kind = Unpaused
	case resume.Limited:
		if c.Declined() {
			kind, line.Class = Left, ev.Class.String()
		}
	}
	j.record(c.At, s.Key, kind, line)
}

func (j *Journal) record(at time.Time, key resume.Key, kind string, line step) {
	data, err := json.Marshal(line)
	if err != nil {
		j.opts.Log.Error("a step could not be written to the history", "err", err)
		return
	}
	j.opts.Store.AppendHistory(state.Entry{At: at, Key: key, Kind: kind, Data: data})
}

// Note appends a line about the daemon itself. It is safe for concurrent use.
func (j *Journal) Note(kind, reason string) {
	j.record(time.Now(), resume.Key{}, kind, step{Reason: reason})
}

// NoteStart appends that a daemon starts, and when one last ran before: a daemon that crashed could not
// record its end.
func (j *Journal) NoteStart(version string, alive time.Time) {
	j.record(time.Now(), resume.Key{}, Started, step{Reason: "resumed " + version, AliveAt: alive})
}

// archive is the source of a history: the store of a running daemon, or a reader of the stored state.
type archive interface {
	History(context.Context, state.Filter) iter.Seq2[state.Entry, error]
	HistoryKeys(context.Context) ([]resume.Key, error)
}

// History returns the steps in a since a time, of all sessions or of the named one. known are more
// sessions that may be named, and their names.
func History(ctx context.Context, a archive, name string, since time.Time, known []view.Session) (iter.Seq2[control.Step, error], error) {
	filter := state.Filter{Since: since}
	views := make(map[resume.Key]view.Session, len(known))
	for _, v := range known {
		views[v.Key()] = v
	}
	if name != "" {
		keys, err := a.HistoryKeys(ctx)
		if err != nil {
			return nil, err
		}
		known = slices.Clip(known)
		for _, key := range keys {
			if _, ok := views[key]; !ok {
				known = append(known, view.Session{Agent: key.Agent, ID: key.ID})
			}
		}
		session, err := view.Find(known, name)
		if err != nil {
			return nil, err
		}
		filter.Key = session.Key()
	}
	return Steps(ctx, a, filter, views), nil
}

// Steps returns the steps that the filter selects, oldest first, with the names of known sessions.
func Steps(ctx context.Context, a archive, filter state.Filter, known map[resume.Key]view.Session) iter.Seq2[control.Step, error] {
	return func(yield func(control.Step, error) bool) {
		for entry, err := range a.History(ctx, filter) {
			if err != nil {
				yield(control.Step{}, err)
				return
			}
			if !yield(show(entry, known[entry.Key]), nil) {
				return
			}
		}
	}
}

// show converts a stored line for other programs. If it cannot be parsed, the rest of the entry is
// still shown.
func show(entry state.Entry, of view.Session) control.Step {
	var shown control.Step // its fields have the names of those of a stored step
	if err := json.Unmarshal(entry.Data, &shown); err != nil {
		shown.Error = fmt.Sprintf("the line cannot be read: %v", err)
	}
	shown.Version, shown.At, shown.Kind = 1, entry.At.UTC(), entry.Kind
	shown.Session, shown.Agent, shown.Name = entry.Key.ID, entry.Key.Agent, of.Name
	if of.Cwd != "" {
		shown.Project = filepath.Base(of.Cwd)
	}
	for _, at := range []*time.Time{&shown.AliveAt, &shown.NextAt} {
		if *at = at.UTC(); !resume.FitsJSON(*at) {
			*at = time.Time{}
		}
	}
	return shown
}
