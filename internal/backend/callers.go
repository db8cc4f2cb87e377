package backend

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"resumed/internal/agents"
	"resumed/internal/caller"
	"resumed/internal/control"
	"resumed/internal/journal"
	"resumed/internal/process"
	"resumed/internal/resume"
	"resumed/internal/sanitize"
	"resumed/internal/usage"
)

// AddReadings stores what the provider told a session about its account's allowances.
func (b *Backend) AddReadings(ctx context.Context, by caller.Caller, key resume.Key, readings []usage.Reading) error {
	session, err := b.opts.Engine.Session(ctx, key)
	if err == nil {
		err = b.itsOwn(ctx, by, key)
	}
	if err == nil {
		b.opts.Usage.Add(session.AccountKey(), readings)
	}
	return err
}

// HandleHook makes the transcript be read that an agent's hook names.
func (b *Backend) HandleHook(ctx context.Context, by caller.Caller, nudge control.HookEvent) error {
	if !agents.CallsHooks(nudge.Agent) {
		return fmt.Errorf("no agent %q calls a hook", nudge.Agent)
	}
	key := resume.Key{Agent: nudge.Agent, ID: nudge.Session}
	if err := b.itsOwn(ctx, by, key); err != nil {
		b.opts.Log.Debug("a hook reports about a session that is not its own", "agent", nudge.Agent, "session", nudge.Session, "err", err)
		return err
	}
	b.opts.Log.Debug("a hook asks for a look", "agent", nudge.Agent, "session", nudge.Session)
	b.opts.Hooks.Take(key, nudge.Transcript)
	b.opts.Deliver.Hooked(key, nudge.Asks, nudge.Answered)
	return nil
}

// itsOwn returns an error unless the session is the caller's own: that of its run, or of an agent that it belongs to.
// The commands of an agent must not report about the sessions of others.
func (b *Backend) itsOwn(ctx context.Context, by caller.Caller, key resume.Key) error {
	if by.Kind == caller.Person {
		return nil
	}
	session, err := b.opts.Engine.Session(ctx, key)
	if session.Run != nil && slices.Contains(by.Marks, session.Run.Mark) {
		return nil
	}
	registered := false
	var holders []int
	for _, holder := range by.Holders {
		if holder.Agent != key.Agent {
			continue
		}
		open, known := agents.SessionOf(holder.PID)
		if known && (open == key || err != nil) { // it has just begun a new one
			return nil
		}
		registered, holders = registered || known, append(holders, holder.PID)
	}
	for _, pid := range holders {
		if !registered && b.mayHave(pid, session) {
			return nil
		}
	}
	return fmt.Errorf("session %s is not the caller's own", sanitize.Short(key.ID, 40))
}

// mayHave reports whether the process of an agent that does not say which session it has open may have this one.
func (b *Backend) mayHave(pid int, s resume.Session) bool {
	if s.Origin != nil && s.Origin.Process.PID != pid && process.Here.Lives(s.Origin.Process) {
		return false
	}
	return s.Cwd == "" || process.Here.Cwd(pid) == s.Cwd
}

// Refused records an order that was refused.
func (b *Backend) Refused(by caller.Caller, order, name string) {
	var agents []string
	for _, holder := range by.Holders {
		agents = append(agents, holder.Agent)
	}
	if !b.refusals.isNew(fmt.Sprint(by.Kind, agents, order), time.Now()) {
		return
	}
	order = sanitize.Short(strings.TrimSpace(order+" "+name), 80)
	b.opts.Log.Warn("an order was refused", "order", order, "by", by.Why)
	b.opts.Journal.Note(journal.Refused, order+": "+by.Why)
}

// refusedOnce is how long the same order of the same kind of caller is recorded once: an agent may ask in a loop.
const refusedOnce = time.Hour

// refusals are those that were recorded lately.
type refusals struct {
	mu sync.Mutex
	at map[string]time.Time
}

// isNew reports whether a refusal was not recorded lately.
func (r *refusals) isNew(what string, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for known, at := range r.at {
		if age := now.Sub(at); age < 0 || age >= refusedOnce {
			delete(r.at, known)
		}
	}
	if _, known := r.at[what]; known {
		return false
	}
	if r.at == nil {
		r.at = make(map[string]time.Time)
	}
	r.at[what] = now
	return true
}
