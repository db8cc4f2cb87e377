// Package midturn watches the processes of sessions in the middle of a turn: whether one has ended, and
// whether one is silent. It looks at no other process, and not at sessions that write.
package midturn

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"os"
	"sync"
	"time"

	"resumed/internal/agent"
	"resumed/internal/process"
	"resumed/internal/procfs"
	"resumed/internal/resume"
	"resumed/internal/wake"
)

// lookEvery is the time after the last record of a session until its process is looked at, and from one
// look to the next. A look reads one file of the kernel.
const lookEvery = 5 * time.Second

// Options are what a Watcher works with. All are required.
type Options struct {
	Engine Engine
	Agent  func(name string) agent.Agent // nil: it is not configured, or switched off
	Rules  func() resume.Rules

	// Elsewhere reports whether another program takes care of the session, such as `resumed exec`.
	Elsewhere func(resume.Key) bool

	AliveAt time.Time       // when a daemon last ran, as far as is known
	Read    <-chan struct{} // closed when all existing transcripts were read
	Log     *slog.Logger
}

// Engine owns the sessions.
type Engine interface {
	Apply(ctx context.Context, key resume.Key, ev resume.Event) (resume.Session, error)
	Session(ctx context.Context, key resume.Key) (resume.Session, error)
}

// Watcher watches sessions in the middle of a turn.
type Watcher struct {
	opts  Options
	since time.Time   // turns whose last record is older are left alone, unless their process was seen alive
	added wake.Signal // there is a turn to watch, and there was none before

	mu    sync.Mutex // guards the fields below
	turns map[resume.Key]*turn
}

// turn is what is known about the last turn of a session. Only Run uses the fields after the first.
type turn struct {
	lookAt time.Time // with a monotonic reading: time in which the machine sleeps does not count

	seen  resume.Position // up to where the transcript was read that says that the turn has not ended
	alive bool            // its process was seen alive
	quiet *quiet          // nil: not measured yet
}

// New returns a Watcher. sessions are those of an earlier daemon: their processes may have ended since.
func New(opts Options, sessions []resume.Session) *Watcher {
	w := &Watcher{opts: opts, added: wake.NewSignal(), turns: make(map[resume.Key]*turn)}
	now := time.Now()
	w.since = resume.Earlier(now.Round(0), cmp.Or(opts.AliveAt, now.Round(0))).Add(-opts.Rules().Lookback)
	for _, s := range sessions {
		if isCandidate(s) && !lastRecord(s).Before(w.since) {
			w.turns[s.Key] = &turn{lookAt: now}
		}
	}
	return w
}

// isCandidate reports whether the session may be in the middle of a turn of a process that is known.
func isCandidate(s resume.Session) bool {
	return s.InMidturn() && s.StartedWith() != nil && s.Origin.GoneAt.IsZero()
}

func lastRecord(s resume.Session) time.Time { return resume.Later(s.MovedAt, s.PromptedAt) }

// Changed is called with every change of a session. It does not block.
func (w *Watcher) Changed(c resume.Change) {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := c.After.Key
	if c.Dropped || !isCandidate(c.After) {
		delete(w.turns, key)
		return
	}
	t := w.turns[key]
	switch {
	case lastRecord(c.After).Equal(lastRecord(c.Before)) && c.Before.Origin == c.After.Origin && c.Before.Run == c.After.Run:
		return
	case t != nil:
		t.lookAt = time.Now().Add(lookEvery)
		return
	}
	if lastRecord(c.After).Before(w.since) {
		return
	}
	w.turns[key] = &turn{lookAt: time.Now().Add(lookEvery)}
	w.added.Send()
}

// Run looks at the processes until ctx is done.
func (w *Watcher) Run(ctx context.Context) error {
	select {
	case <-w.opts.Read:
	case <-ctx.Done():
		return nil
	}
	for {
		together := process.WithSnapshot(ctx)
		keys, next := w.due(time.Now())
		for key, t := range keys {
			w.keep(key, t, w.look(together, key, t))
		}
		var timer <-chan time.Time // without turns, nothing is looked at
		if len(keys) > 0 {
			continue // a look may have taken long
		}
		if !next.IsZero() {
			timer = time.After(time.Until(next))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-w.added:
		case <-timer:
		}
	}
}

// due returns the turns to look at now, and when the next one follows; zero: there is none.
func (w *Watcher) due(now time.Time) (due map[resume.Key]*turn, next time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	due = maps.Clone(w.turns)
	maps.DeleteFunc(due, func(_ resume.Key, t *turn) bool {
		later := t.lookAt.After(now)
		if later && (next.IsZero() || t.lookAt.Before(next)) {
			next = t.lookAt
		}
		return later
	})
	return due, next
}

// keep sets when a turn is looked at again; 0: not before the session moves.
func (w *Watcher) keep(key resume.Key, t *turn, again time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch now := time.Now(); {
	case w.turns[key] != t: // it is over
	case t.lookAt.After(now): // it moved meanwhile
	case again == 0:
		delete(w.turns, key)
	default:
		t.lookAt = now.Add(again)
	}
}

// look looks at the process of a session, and returns when to look again; 0: not before the session
// moves.
func (w *Watcher) look(ctx context.Context, key resume.Key, t *turn) (again time.Duration) {
	s, err := w.opts.Engine.Session(ctx, key)
	a, tells := w.opts.Agent(key.Agent).(turnsAgent)
	if err != nil || !tells || !isCandidate(s) {
		return 0
	}
	lives := a.Lives(s.Origin.Process) && !restarted(s)
	if lives && t.seen == s.Seen && t.alive {
		return w.measure(ctx, a, s, t)
	}
	at, open, err := a.OpenTurn(ctx, s)
	if err != nil || !open {
		w.logOf(s).Debug("not in the middle of a turn", "lives", lives, "err", err) // a transcript that cannot be read proves nothing
		return 0
	}
	t.seen, t.quiet = s.Seen, nil
	if lives {
		t.alive = true
		return w.measure(ctx, a, s, t)
	}
	if !t.alive && (at.Before(w.since) || !isProven(s)) {
		return 0
	}
	if w.opts.Elsewhere(key) {
		return lookEvery
	}
	w.ended(ctx, a, s, resume.Died{Process: s.Origin.Process, At: at, How: a.Ended(s)})
	return 0
}

// isProven reports whether the process that was seen earlier is the one that wrote the last turn, and its
// pid is one of this machine. A resume is a process of its own, and reports its own end.
func isProven(s resume.Session) bool {
	resumed := s.LastResume().After(s.PromptedAt)
	return !resumed && (s.Origin.Sandbox == "" || restarted(s))
}

func restarted(s resume.Session) bool {
	return s.Origin.Boot != "" && boot() != "" && s.Origin.Boot != boot()
}

// ended applies the end of a process in the middle of a turn, unless another one has the session open.
func (w *Watcher) ended(ctx context.Context, a agent.OwnerFinder, s resume.Session, died resume.Died) {
	owner, err := a.Owner(ctx, s)
	if err != nil || owner != nil { // the session's next prompt is watched again
		w.logOf(s).Debug("its process ended, and another process has it open", "owner", owner, "err", err)
		return
	}
	if restarted(s) {
		died.How, died.BootedAt = resume.Restarted, process.Here.BootedAt()
	}
	after, err := w.opts.Engine.Apply(ctx, s.Key, died)
	if err != nil && ctx.Err() == nil {
		w.logOf(s).Error("the end of a process could not be applied", "err", err)
	}
	w.logOf(s).Debug("its process ended in the middle of a turn", "pid", died.Process.PID, "how", died.How, "state", after.State)
}

func (w *Watcher) logOf(s resume.Session) *slog.Logger {
	return w.opts.Log.With("session", s.Key.ID, "agent", s.Key.Agent)
}

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
	agent.OpenToolReader
}

// measure measures the processes of a live session, and reports it if they were silent for too long. In
// between it only looks whether the process lives.
func (w *Watcher) measure(ctx context.Context, a turnsAgent, s resume.Session, t *turn) (again time.Duration) {
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
	if why := now.work(before, tree, s, func() bool { return a.OpenTool(ctx, s) != "" }); why != "" {
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

// work returns what shows that the session works since the measurement before; "": nothing. Without a tool
// that has no result yet, processes that wait are in the background, and the session does not wait for them.
func (q *quiet) work(before *quiet, tree procfs.Tree, s resume.Session, waitsForTool func() bool) string {
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
		switch begunInTurn := pid != s.Origin.Process.PID && age < since; {
		case begunInTurn && process.Here.Connected(pid) && waitsForTool():
			return "a tool waits for the network"
		case begunInTurn && process.Here.Sleeps(pid) && waitsForTool(): // such as the pause of a loop that asks a server
			return "a tool waits for a time"
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
	attendant, tells := a.(agent.QuestionReader)
	if !tells || owner.Kind == resume.Headless {
		return owner
	}
	working, asks, err := attendant.PendingQuestion(ctx, s)
	if err == nil && (working == nil || asks != "") {
		return nil
	}
	return owner
}

func lastWrite(files []string) (at time.Time) {
	for _, file := range files {
		if info, err := os.Stat(file); err == nil { // otherwise it was removed
			at = resume.Later(at, info.ModTime())
		}
	}
	return at
}
