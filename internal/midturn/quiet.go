package midturn

import (
	"context"
	"os"
	"sync"
	"time"

	"resumed/internal/agent"
	"resumed/internal/process"
	"resumed/internal/procfs"
	"resumed/internal/resume"
)

// idleShare is the part of one processor that a process may use and still count as silent: while an
// agent waits for its provider, it draws a moving sign in its terminal (Claude Code 2.1.325: 4 %).
const idleShare = 0.1

// toolSlack is how long before the record of its call a tool may have been started.
const toolSlack = 5 * time.Second

var boot = sync.OnceValue(procfs.Boot)

// quiet is a measurement of a process, from which silence is counted.
type quiet struct {
	since time.Time // with a monotonic reading
	cpu   time.Duration
	wrote time.Time // when the session or a subagent of it last wrote a record
	told  bool
}

// turnsAgent is an agent whose transcripts tell whether a turn has ended.
type turnsAgent interface {
	agent.Agent
	agent.Turns
}

// listen measures the processes of a live session, and reports it if they were silent for too long. In
// between it only looks whether the process lives.
func (w *Watcher) listen(ctx context.Context, a turnsAgent, s resume.Session, t *turn) (again time.Duration) {
	bound := w.opts.Rules().Silent
	if bound == 0 || t.quiet != nil && t.quiet.told {
		return lookEvery
	}
	if t.quiet != nil {
		if left := bound - time.Since(t.quiet.since); left > 0 {
			return min(lookEvery, left)
		}
	}
	tree, known := process.Here.TreeOf(s.Origin.Process.PID)
	if !known {
		return lookEvery
	}
	now := &quiet{since: time.Now(), cpu: tree.CPU, wrote: lastWrite(a.Records(s))}
	before := t.quiet
	if t.quiet = now; before == nil {
		return min(lookEvery, bound)
	}
	if why := now.work(before, tree, s); why != "" {
		w.logOf(s).Debug("not silent", "why", why)
		return min(lookEvery, bound)
	}
	owner := where(ctx, a, s)
	if owner == nil {
		return min(lookEvery, bound)
	}
	now.told = true
	w.logOf(s).Debug("silent", "cpu", now.cpu-before.cpu, "in", now.since.Sub(before.since))
	if _, err := w.opts.Engine.Apply(ctx, s.Key, resume.Silent{Owner: *owner}); err != nil && ctx.Err() == nil {
		w.logOf(s).Error("a silent session could not be reported", "err", err)
	}
	return lookEvery
}

// work returns what shows that the session works since the measurement before; "": nothing.
func (q *quiet) work(before *quiet, tree procfs.Tree, s resume.Session) string {
	used, took := q.cpu-before.cpu, q.since.Sub(before.since)
	switch {
	case used < 0: // one of its processes has ended
		return "a process ended"
	case used > time.Duration(idleShare*float64(took)):
		return "it used the processor for " + used.String()
	case !q.wrote.Equal(before.wrote):
		return "its transcript was written"
	}
	since := time.Since(lastRecord(s)) + toolSlack
	for pid, age := range tree.Began {
		if pid != s.Origin.Process.PID && age < since && process.Here.Connected(pid) {
			return "a tool waits for the network"
		}
	}
	return ""
}

// where returns the silent process and its terminal; nil: it waits for an answer of its user, or does not
// work any longer.
func where(ctx context.Context, a agent.Agent, s resume.Session) *resume.Owner {
	owner, err := a.Owner(ctx, s)
	if err != nil || owner == nil {
		owner = &resume.Owner{PID: s.Origin.Process.PID, Kind: s.Kind}
	}
	attendant, tells := a.(agent.Attendant)
	if !tells || owner.Kind == resume.Headless {
		return owner
	}
	working, asks, err := attendant.Asks(ctx, s)
	if err == nil && (working == nil || asks != "") {
		return nil
	}
	return owner
}

// lastWrite returns when one of the files was last written.
func lastWrite(files []string) (at time.Time) {
	for _, file := range files {
		if info, err := os.Stat(file); err == nil { // otherwise it was removed
			at = resume.Later(at, info.ModTime())
		}
	}
	return at
}
