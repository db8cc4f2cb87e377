package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"resumed/internal/config"
	"resumed/internal/control"
	"resumed/internal/limit"
	"resumed/internal/notify"
	"resumed/internal/resume"
	"resumed/internal/state"
)

// story applies events to a session, one every ten minutes, and returns the changes.
func story(events ...resume.Event) []resume.Change {
	now := time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	rules := config.Default().Rules()
	rules.Backoff.Jitter = false
	s := resume.Session{Key: resume.Key{Agent: "diary", ID: "a"}}
	var changes []resume.Change
	for _, ev := range events {
		if limited, ok := ev.(resume.Limited); ok && limited.At.IsZero() {
			limited.At = now
			ev = limited
		}
		after := s.Next(ev, rules, now, 0.5)
		changes = append(changes, resume.Change{At: now, Event: ev, Before: s, After: after})
		s = after
		now = now.Add(10 * time.Minute)
	}
	return changes
}

func rateLimited() resume.Limited {
	return resume.Limited{Verdict: limit.Verdict{Class: limit.RateLimit, WaitHelps: true}, Text: "slow down"}
}

func started(mark string) resume.Started {
	return resume.Started{Mark: mark, Process: resume.Process{PID: 42}}
}

// ledger records everything that a journal writes.
type ledger struct {
	store   []string      // what was put and dropped
	entries []state.Entry // of the history
	told    []notice      // notices to people
	log     bytes.Buffer  // level and message of each line
	changes control.Changes
}

// notice is a notice to people.
type notice struct {
	event   notify.Event
	session resume.Session
}

func (l *ledger) Put(s resume.Session) {
	l.store = append(l.store, "put "+s.Key.ID+" "+s.State.String())
}
func (l *ledger) DropSession(key resume.Key)  { l.store = append(l.store, "drop "+key.ID) }
func (l *ledger) AppendHistory(e state.Entry) { l.entries = append(l.entries, e) }

func (l *ledger) options() Options {
	short := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.LevelKey || a.Key == slog.MessageKey {
			return a
		}
		return slog.Attr{}
	}
	return Options{
		Store: l, Changes: &l.changes,
		Log:  slog.New(slog.NewTextHandler(&l.log, &slog.HandlerOptions{ReplaceAttr: short})),
		Tell: func(event notify.Event, s resume.Session) { l.told = append(l.told, notice{event, s}) },
	}
}

// events are the events of the notices.
func (l *ledger) events() []notify.Event {
	all := []notify.Event{}
	for _, n := range l.told {
		all = append(all, n.event)
	}
	return all
}

// history is the recorded lines, each on one line.
func (l *ledger) history(t *testing.T) []string {
	t.Helper()
	all := []string{}
	for _, e := range l.entries {
		var line step
		if err := json.Unmarshal(e.Data, &line); err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		fmt.Fprintf(&text, "%s: %s to %s", e.Kind, line.From, line.To)
		for _, more := range []string{line.Class, string(line.Outcome), line.Error, line.Reason} {
			if more != "" {
				text.WriteString(", " + more)
			}
		}
		all = append(all, text.String())
	}
	return all
}

// lines are the logged lines.
func (l *ledger) lines() []string { return strings.Split(strings.TrimSpace(l.log.String()), "\n") }

// tell passes changes to a journal.
func tell(l *ledger, changes ...resume.Change) {
	j := New(l.options(), nil)
	for _, c := range changes {
		j.Changed(c)
	}
}

// audience is a daemon with streams that send only names. It must be used in a bubble: streams have
// their own pace.
type audience struct {
	control.Backend
	changes *control.Changes
}

func (a audience) Changes() *control.Changes { return a.changes }

func (a audience) Status(context.Context, bool, ...resume.Key) (control.Status, error) {
	return control.Status{}, nil
}

// heard returns the names that a stream gets within a minute.
func heard(f *control.Subscriber) []resume.Key {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	update, err := f.Next(ctx)
	if err != nil {
		return nil
	}
	return update.Gone
}
