package sdnotify

import (
	"context"
	"os"
	"strings"
	"time"

	"resumed/internal/humanize"
	"resumed/internal/resume"
)

// summaryPause is the shortest time between two summaries: a burst is one change.
const summaryPause = time.Second

// Summary updates the daemon's status line in systemd.
type Summary struct {
	source Source
	wake   chan struct{} // of size 1: something changed
}

// Source is the data of a summary.
type Source struct {
	Sessions      func(context.Context) ([]*resume.Session, error)
	Paused        func() bool
	ConfigRefused func() bool // the newest configuration is not used
}

// NewSummary returns a summary that has sent nothing yet.
func NewSummary(source Source) *Summary {
	return &Summary{source: source, wake: make(chan struct{}, 1)}
}

// Wake asks for a new summary. It returns at once.
func (s *Summary) Wake() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Run reports to systemd when the summary changes, until ctx is done.
func (s *Summary) Run(ctx context.Context) error {
	if os.Getenv("NOTIFY_SOCKET") == "" {
		<-ctx.Done()
		return nil
	}
	last := ""
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.wake:
		}
		sessions, err := s.source.Sessions(ctx)
		if err != nil {
			continue // the daemon stops
		}
		if text := summarise(sessions, s.source.Paused(), s.source.ConfigRefused(), time.Now()); text != last {
			send("STATUS=" + text)
			last = text
		}
		select {
		case <-ctx.Done():
		case <-time.After(summaryPause):
		}
	}
}

// summarise returns the state of all sessions in one line: "3 sessions wait, next at 15:00".
func summarise(sessions []*resume.Session, paused, refused bool, now time.Time) string {
	var waiting, running, stuck int
	var next time.Time
	for _, s := range sessions {
		switch s.State {
		case resume.Waiting:
			waiting++
			if !s.Paused && (next.IsZero() || s.ResumesAt().Before(next)) {
				next = s.ResumesAt()
			}
		case resume.Resuming, resume.Settling:
			running++
		case resume.GaveUp, resume.Parked:
			stuck++
		case resume.Watching:
		}
	}
	var parts []string
	if refused {
		parts = append(parts, "the newest configuration has errors and is not used")
	}
	say := func(n int, one, many, after string) {
		if n > 0 {
			parts = append(parts, humanize.Count(n, "session")+" "+humanize.Verb(n, one, many)+after)
		}
	}
	say(stuck, "needs a person", "need a person", "")
	say(running, "is resumed", "are resumed", "")
	after := ""
	if !next.IsZero() {
		after = ", next at " + humanize.ShortClock(next, now)
	}
	say(waiting, "waits", "wait", after)
	if len(parts) == 0 {
		parts = append(parts, "watching")
	}
	if paused {
		parts = append([]string{"paused"}, parts...)
	}
	return strings.Join(parts, "; ")
}
