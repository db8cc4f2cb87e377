package app

import (
	"context"
	"os"
	"strings"
	"time"

	"resumed/internal/humanize"
	"resumed/internal/resume"
)

// summaryPause is the least time between two summaries: a burst is one change.
const summaryPause = time.Second

// summary keeps the service manager's status line up to date.
type summary struct {
	source summarySource
	nudge  chan struct{} // of size 1: something changed
}

// summarySource is what a summary is made of.
type summarySource struct {
	engine   *resume.Engine
	settings *inForce
	pause    *pauseSwitch
}

func newSummary() *summary { return &summary{nudge: make(chan struct{}, 1)} }

// wake says that something changed. It returns at once.
func (s *summary) wake() {
	select {
	case s.nudge <- struct{}{}:
	default:
	}
}

// Run tells the service manager how things stand, when that changes.
func (s *summary) Run(ctx context.Context) error {
	if os.Getenv("NOTIFY_SOCKET") == "" {
		<-ctx.Done()
		return nil
	}
	told := ""
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.nudge:
		}
		sessions, err := s.source.engine.Kept(ctx)
		if err != nil {
			continue // the daemon stops
		}
		paused, refused := s.source.pause.paused.Load(), s.source.settings.Load().refused != nil
		if text := summarise(sessions, paused, refused, time.Now()); text != told {
			serviceManager{}.status(text)
			told = text
		}
		select {
		case <-ctx.Done():
		case <-time.After(summaryPause):
		}
	}
}

// summarise says in a line how things stand: "3 sessions wait, next at 15:00".
func summarise(sessions []*resume.Session, paused, refused bool, now time.Time) string {
	var waiting, running, lost int
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
			lost++
		case resume.Watching:
		}
	}
	var parts []string
	if refused {
		parts = append(parts, "the newest configuration has errors and is not used")
	}
	if lost > 0 {
		parts = append(parts, verb(lost, "needs a person", "need a person"))
	}
	if running > 0 {
		parts = append(parts, verb(running, "is resumed", "are resumed"))
	}
	if waiting > 0 {
		text := verb(waiting, "waits", "wait")
		if !next.IsZero() {
			text += ", next at " + humanize.ShortClock(next, now)
		}
		parts = append(parts, text)
	}
	if len(parts) == 0 {
		parts = append(parts, "watching")
	}
	if paused {
		parts = append([]string{"paused"}, parts...)
	}
	return strings.Join(parts, "; ")
}

func verb(n int, one, many string) string {
	return humanize.Count(n, "session") + " " + humanize.Verb(n, one, many)
}
