package execrun

import (
	"context"
	"time"

	"resumed/internal/procfs"
	"resumed/internal/resume"
	"resumed/internal/starts"
)

// The process of a run is looked at less and less often.
const (
	firstLook = 20 * time.Millisecond
	lastLook  = time.Minute
)

// observeStart stores what the agent's process was started with, until ctx is done: if this process is
// killed, a daemon continues the session as it was started. One look is not enough. A script first
// becomes its interpreter, and a start counts only if the process was seen after it got its prompt.
func (t *task) observeStart(ctx context.Context, pid int) {
	if t.talk.agent == nil {
		return
	}
	for wait := firstLook; ; wait = min(2*wait, lastLook) {
		if o := t.originBelow(pid); o != nil {
			program, _ := t.talk.agent.Identify(o.Process.PID)
			t.talk.start = starts.Start{Origin: o, Program: program}
			t.storeStart(o.SeenAt)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// maxDepth is more than there are programs between a command and the agent that it starts.
const maxDepth = 8

// originBelow returns what the agent's process was started with, or nil. The process is the command itself
// or, behind a program such as npx or bwrap, the nearest one below it: what the agent starts is further down.
func (t *task) originBelow(pid int) *resume.Origin {
	level := []int{pid}
	for range maxDepth {
		for _, pid := range level {
			if o := t.talk.agent.Origin(pid, false); o.Seen() {
				return o
			}
		}
		level = procfs.Proc.Children(level)
	}
	return nil
}

// storeStart stores what the latest run was started with, if that and its session are known. seen is
// when its process was last known to live.
func (t *task) storeStart(seen time.Time) {
	if t.talk.start.Origin == nil || t.talk.id == "" {
		return
	}
	t.talk.start.Origin.SeenAt = seen.Round(0)
	_ = t.Starts.Put(t.talk.session().Key, t.talk.start) // without it the daemon asks a person
}
