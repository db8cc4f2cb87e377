// Package sdnotify reports the state of the daemon to systemd. Without systemd it does nothing;
// a message that cannot be sent is dropped.
package sdnotify

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	sd "github.com/coreos/go-systemd/v22/daemon"

	"resumed/internal/humanize"
	"resumed/internal/resume"
	"resumed/internal/wake"
)

func send(message string) { _, _ = sd.SdNotify(false, message) }

// Ready reports that the daemon has started.
func Ready(status string) { send(sd.SdNotifyReady + "\nSTATUS=" + status) }

// Reloading must be followed by Reloaded, or systemd waits forever.
func Reloading() { send(sd.SdNotifyReloading + "\n" + sd.SdNotifyMonotonicUsec()) }

// Reloaded reports that a reload has ended.
func Reloaded() { send(sd.SdNotifyReady) }

// Stopping reports that the daemon stops.
func Stopping() { send(sd.SdNotifyStopping + "\nSTATUS=stopping") }

// FeedWatchdog notifies systemd as long as ping succeeds, until ctx is done: systemd restarts the
// daemon if the engine hangs.
func FeedWatchdog(ctx context.Context, ping func(context.Context) error) error {
	interval, err := sd.SdWatchdogEnabled(false)
	if err != nil {
		return fmt.Errorf("read watchdog interval: %w", err)
	}
	if interval == 0 {
		<-ctx.Done()
		return nil
	}
	ticker := time.NewTicker(interval / 3)
	defer ticker.Stop()
	for {
		if err := ping(ctx); err == nil {
			send(sd.SdNotifyWatchdog)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// summaryPause is the shortest time between two summaries: a burst is one change.
const summaryPause = time.Second

// Summary updates the daemon's status line in systemd.
type Summary struct {
	source  Source
	changed wake.Signal
}

// Source is the data of a summary.
type Source struct {
	Sessions      func(context.Context) ([]*resume.Session, error)
	Paused        func() bool
	ConfigRefused func() bool // the newest configuration is not used
}

// NewSummary returns a summary that has sent nothing yet.
func NewSummary(source Source) *Summary {
	return &Summary{source: source, changed: wake.NewSignal()}
}

// Wake asks for a new summary. It returns at once.
func (s *Summary) Wake() { s.changed.Send() }

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
		case <-s.changed:
		}
		sessions, err := s.source.Sessions(ctx)
		if err != nil {
			continue // the daemon stops
		}
		if text := summarise(sessions, s.source.Paused(), s.source.ConfigRefused(), time.Now()); text != last {
			send("STATUS=" + text)
			last = text
		}
		wake.Sleep(ctx, summaryPause)
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
