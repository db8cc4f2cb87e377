package deliver

import (
	"context"
	"slices"
	"time"

	"resumed/internal/agent"
	"resumed/internal/process"
	"resumed/internal/resume"
	"resumed/internal/sanitize"
)

// Changed is called with every change of a session. It does not block; some changes ask for a lookup of
// the session's process.
func (d *Deliverer) Changed(c resume.Change) {
	d.tracker.follow(c.After)
	if !c.After.Interrupted() {
		d.tracker.countScreen(c.After.Key, obstacle{})
	}
	_, moves := c.Event.(resume.Progressed)
	if isOccasion(c) && !(moves && d.tracker.missedRecently(c.After.Key, c.At)) {
		d.tracker.lookUp(c.After.Key, !tellsContext(c))
	}
}

// longestQuestion bounds what a hook says that its session asks for.
const longestQuestion = 300

// Hooked is called when an agent called a hook for a session. It does not block. asks is what the
// session's process asks a person for; answered means that it asks for nothing.
func (d *Deliverer) Hooked(key resume.Key, asks string, answered bool) {
	if asks != "" || answered {
		d.tracker.told(key, question{sanitize.Short(asks, longestQuestion), time.Now()})
	}
	wake(d.tracker.hooked)
}

// isOccasion reports whether the session's process probably lives at this change, and what it was
// started with is not known yet: it was just given a prompt, it moves, or a limit has just stopped it.
func isOccasion(c resume.Change) bool {
	fresh := func(at time.Time) bool { return c.At.Sub(at) < justNow }
	switch ev := c.Event.(type) {
	case resume.Limited:
		return c.After.Interrupted()
	case resume.SubagentEnded:
		return true
	case resume.Prompted:
		return fresh(ev.At)
	case resume.Progressed:
		return fresh(ev.At) && c.After.StartedWith() == nil
	default:
		return false
	}
}

func tellsContext(c resume.Change) bool {
	ev, ok := c.Event.(resume.Limited)
	return ok && ev.Context.Tokens > 0 && c.After.Context == ev.Context
}

const (
	// A process may write to its transcript before it records which session it has open. So if it is
	// not found, it is looked up again soon.
	mostLooks = 6
	nextLook  = 500 * time.Millisecond

	// batchDelay is the time between two batches of lookups: a lookup reads all processes of the
	// machine, and hundreds may be asked for in a second.
	batchDelay = 50 * time.Millisecond

	// batchSize is how many sessions are loaded from the engine at a time: each should be fresh when it
	// is used, and they take memory.
	batchSize = 128
)

type search struct {
	missed int  // how often it was not found
	weigh  bool // the size of the session's context is read first
}

// lookFor looks up the processes of some sessions, and removes and returns the searches that are over.
func (d *Deliverer) lookFor(ctx context.Context, searches map[resume.Key]search, keys []resume.Key) (over []resume.Key) {
	together := process.WithSnapshot(ctx) // the list of all processes is read once for all sessions
	settings := d.opts.Settings()
	for batch := range slices.Chunk(keys, batchSize) {
		sessions, err := d.opts.Engine.Lookup(ctx, batch)
		if err != nil {
			return nil // the daemon stops
		}
		for i, key := range batch {
			a, look := settings.Agent(key.Agent), searches[key]
			found := d.lookAt(together, a, sessions[i], look)
			look.missed++
			switch {
			case found:
			// The process of a session that moves may have started only just now, and not look like one of the agent yet.
			case look.missed == mostLooks || sessions[i].Interrupted() && a.NoProcess(together):
				d.tracker.miss(key, time.Now())
			default:
				searches[key] = look
				continue
			}
			delete(searches, key)
			over = append(over, key)
		}
	}
	return over
}

// lookAt looks up the process of a session, reads the files of a stopped one, and reports whether the search is over.
func (d *Deliverer) lookAt(ctx context.Context, a agent.Agent, known *resume.Session, look search) bool {
	if a == nil || known == nil {
		return true // the agent is switched off, or the session is forgotten
	}
	session := *known
	if look.missed == 0 {
		if session = d.countSubagents(ctx, a, session); session.Interrupted() {
			d.measure(ctx, a, session, look.weigh)
		}
	}
	return d.lookAtProcess(ctx, a, session)
}

func (d *Deliverer) lookAtProcess(ctx context.Context, a agent.Agent, session resume.Session) bool {
	if d.stillRuns(ctx, a, session) {
		return true
	}
	owner, err := a.Owner(ctx, session)
	if _, seen := d.identifyWriter(ctx, a, session); seen && err == nil && owner == nil {
		return true
	}
	if err != nil || owner == nil {
		return time.Since(session.LimitedAt) > justNow && time.Since(session.PromptedAt) > justNow && time.Since(session.MovedAt) > justNow
	}
	session = d.identify(ctx, a, session, owner)
	// There may be two for a moment: a shell forks before it runs a command.
	guessed := owner.Guessed && session.StartedWith() == nil
	return d.reach(ctx, a, session, *owner) && !guessed
}

// identifyWriter stores what the process that writes the session's transcript was started with, if the
// agent knows only the writer: that process may not have the session open, but it shows how the session
// was started.
func (d *Deliverer) identifyWriter(ctx context.Context, a agent.Agent, session resume.Session) (after resume.Session, seen bool) {
	pid := a.Writer(ctx, session)
	if pid == 0 {
		return session, false
	}
	return d.identify(ctx, a, session, &resume.Owner{PID: pid, Kind: session.Kind}), true
}

// stillRuns checks the known process, by one file of the kernel, and stores that it was seen.
func (d *Deliverer) stillRuns(ctx context.Context, a agent.OwnerFinder, session resume.Session) bool {
	if session.Origin == nil || session.Interrupted() || !a.Lives(session.Origin.Process) {
		return false
	}
	if session.StartedWith() == nil {
		seen := *session.Origin
		seen.SeenAt = time.Now().Round(0)
		d.note(ctx, session, resume.Learned{Origin: &seen})
	}
	return true
}

// recorded adds the start that a hook of the agent recorded, if the daemon has not seen it itself.
func (d *Deliverer) recorded(ctx context.Context, session resume.Session) resume.Session {
	if session.StartedWith().Seen() {
		return session
	}
	if start, ok := d.opts.Starts.Get(session.Key); ok && start.Seen() {
		return d.note(ctx, session, resume.Learned{Origin: start})
	}
	return session
}

// identify stores what a session's owner runs and was started with, and whether a person uses it.
func (d *Deliverer) identify(ctx context.Context, a agent.Agent, session resume.Session, owner *resume.Owner) resume.Session {
	var news resume.Learned
	had := session.StartedWith()
	known := had != nil && a.Lives(had.Process) && had.Process.PID == owner.PID
	if !owner.Guessed && (!known || had.Login != "") { // a person may sign in as another user meanwhile
		news.Origin = a.Origin(owner.PID, d.opts.Settings().Secrets)
	}
	if had.Seen() && !news.Origin.Seen() || news.Origin != nil && !session.MayBeOf(*news.Origin) { // a process that ends shows only a part
		news.Origin = nil
	}
	if news.Origin != nil { // a later daemon needs it too
		if err := d.opts.Starts.Put(session.Key, news.Origin); err != nil {
			d.logOf(session.Key).Warn("the environment of a session is lost if the daemon is restarted", "err", err)
		}
	}
	if session.WithKind(owner.Kind).Kind != session.Kind {
		news.Kind = owner.Kind
	}
	return d.note(ctx, session, news)
}

// measure stores how much of the allowances is used and, with weigh, how much a resume has to read again.
func (d *Deliverer) measure(ctx context.Context, a agent.Meter, session resume.Session, weigh bool) resume.Session {
	var news resume.Learned
	if weigh {
		size, known, err := a.ContextSize(ctx, session)
		if d.isNews(ctx, session, "the size of its context", known && size != session.Context, err) {
			news.Context = &size
		}
	}
	usage, known, err := a.Usage(ctx, session)
	if d.isNews(ctx, session, "how much of the allowance is used", known && usage != session.Usage, err) {
		news.Usage = &usage
	}
	return d.note(ctx, session, news)
}

// countSubagents stores which subagents of the session were stopped. It returns the updated session.
func (d *Deliverer) countSubagents(ctx context.Context, a agent.Agent, session resume.Session) resume.Session {
	parent, ok := a.(agent.SubagentReader)
	if !ok {
		return session
	}
	stopped, err := parent.Subagents(ctx, session)
	if d.isNews(ctx, session, "its subagents", !slices.Equal(stopped, session.Subagents), err) {
		return d.note(ctx, session, resume.Learned{Subagents: &stopped})
	}
	return session
}

// isNews reports whether a value was read and has changed. It logs an error.
func (d *Deliverer) isNews(ctx context.Context, session resume.Session, what string, changed bool, err error) bool {
	if err != nil && ctx.Err() == nil {
		d.logOf(session.Key).Debug("something of a session could not be read", "what", what, "err", err)
	}
	return err == nil && changed
}

// note stores news about a session, if there are any, and returns the session with them. Its other fields stay: a
// delivery decides by what it has read.
func (d *Deliverer) note(ctx context.Context, session resume.Session, news resume.Learned) resume.Session {
	if news == (resume.Learned{}) {
		return session
	}
	if after, ok := d.apply(ctx, session.Key, news); ok {
		session.Origin, session.Kind = after.Origin, after.Kind
		session.Context, session.Usage, session.Subagents = after.Context, after.Usage, after.Subagents
	}
	return session
}
