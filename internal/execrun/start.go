package execrun

import (
	"context"
	"time"

	"resumed/internal/procfs"
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
		if start := t.startBelow(pid); start.Origin != nil {
			t.talk.start = start
			t.storeStart(start.Origin.SeenAt)
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

// startBelow returns how the agent's process was started; zero: it is not known. The process is the command
// itself or, behind a program such as npx or bwrap, the nearest one below it: what the agent starts is further
// down. The program is looked up before and after the rest: the process may have become the agent, or have
// ended, in between.
func (t *task) startBelow(pid int) starts.Start {
	level := []int{pid}
	for range maxDepth {
		for _, pid := range level {
			program, known := t.talk.agent.Identify(pid)
			o := t.talk.agent.Origin(pid, false)
			if !o.Seen() {
				continue
			}
			if !known {
				program, known = t.talk.agent.Identify(pid)
			}
			if !known && !t.talk.agent.Lives(o.Process) {
				return starts.Start{} // what an earlier look has found stays
			}
			return starts.Start{Origin: o, Program: program}
		}
		level = procfs.Proc.Children(level)
	}
	return starts.Start{}
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
