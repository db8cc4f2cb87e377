package deliver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unicode"

	"resumed/internal/agent"
	"resumed/internal/resume"
	"resumed/internal/sanitize"
	"resumed/internal/terminal"
)

const (
	// lookPause lies between two looks at a screen or a transcript.
	lookPause = 200 * time.Millisecond

	// drawLooks is how many looks a program has to draw what was typed. They are counted
	// and not timed: on a busy machine the terminal is as slow as the program.
	drawLooks = 10

	// linePatience is how long an agent may take to write down the prompt that
	// it was given.
	linePatience = 10 * time.Second
)

// typing types the prompt into the terminal of the process that holds the
// session.
type typing struct {
	*delivery
	plan *agent.Typing
	pane Pane
	menu bool // one covers the composer, and is closed first
}

func (t *typing) String() string { return fmt.Sprintf("typed %q into %s", t.plan.Text, t.pane) }

// ready finds the pane and looks whether a prompt can be typed there.
func (t *typing) ready(ctx context.Context) *resume.NotSent {
	pane, err := t.machine.Pane(ctx, t.plan.Process)
	if err != nil {
		return t.named(t.refused(err))
	}
	t.pane = pane
	sight, notSent := t.look(ctx, func(s agent.Sight) bool { return !s.Strange })
	n := t.glances.count(t.session.Key, sight.Strange)
	switch {
	case notSent != nil && sight.Strange && n < lastGlance:
		notSent.Then = resume.TryAgain
		notSent.Why = fmt.Sprintf("%s; resumed looks again before it tells you (look %d of %d)", notSent.Why, n, lastGlance)
		return t.named(notSent)
	case notSent != nil:
		return t.named(notSent)
	case sight.Draft != "":
		return t.named(&resume.NotSent{Why: "there is a draft in its input field that nobody sent"})
	}
	t.menu = sight.Menu
	return nil
}

// lastGlance is how many looks at screens that are not known it takes until a
// person is called. What covers a terminal for a while (a notice, a dialog that
// somebody reads) is gone by then.
const lastGlance = 3

// glances counts, for each session, the looks at screens that were not known.
type glances struct {
	mu   sync.Mutex
	seen map[resume.Key]int // guarded by mu
}

// count returns how many looks in a row showed nothing that is known. The last
// one that is waited for ends the row.
func (g *glances) count(key resume.Key, strange bool) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := g.seen[key] + 1
	if strange && n < lastGlance {
		g.seen[key] = n
	} else {
		delete(g.seen, key)
	}
	return n
}

// forget ends the row of a session that is stopped no longer.
func (g *glances) forget(key resume.Key) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.seen, key)
}

// refused says what it means that a pane cannot be used.
func (t *typing) refused(err error) *resume.NotSent {
	refusal, ok := errors.AsType[*terminal.Refusal](err)
	if !ok {
		return &resume.NotSent{Why: err.Error()}
	}
	if refusal.Passing {
		return &resume.NotSent{Why: refusal.Why}
	}
	return &resume.NotSent{Why: noPane(refusal, t.plan), Then: resume.TellUnreached}
}

// noPane says why nothing can be typed, and what helps the next time.
func noPane(refusal *terminal.Refusal, plan *agent.Typing) string {
	if !refusal.Outside {
		return refusal.Why
	}
	next := fmt.Sprintf("start it with `resumed shell %s`", plan.Program)
	if refusal.Helps != "" {
		next = refusal.Helps + ", or " + next
	}
	return fmt.Sprintf("%s; next time %s", refusal.Why, next)
}

// look reads the screen until it is as wanted, or patience is over: a program
// that draws is not to be taken at half a word.
func (t *typing) look(ctx context.Context, wanted func(agent.Sight) bool) (agent.Sight, *resume.NotSent) {
	for n := 1; ; n++ {
		screen, err := t.pane.Screen(ctx)
		if err != nil {
			return agent.Sight{}, t.refused(err)
		}
		sight := t.plan.Judge(screen)
		if !wanted(sight) && n < drawLooks && ctx.Err() == nil {
			pause(ctx, lookPause)
			continue
		}
		if sight.Leave == nil {
			return sight, nil
		}
		notSent := leaving(sight.Leave, t.owner)
		if sight.Strange {
			notSent.Why += t.keep(screen)
		}
		return sight, notSent
	}
}

// send types the prompt and sends it. That it may have been sent is on disk
// before the first key is pressed.
func (t *typing) send(ctx context.Context) (sent bool, instead resume.Event) {
	if ok, notSent := t.claim(ctx, t.plan.Process); !ok {
		return false, event(t.named(notSent))
	}
	// Not ctx: a prompt that was begun is never left half typed because the
	// daemon stops.
	ctx = context.WithoutCancel(ctx)
	if t.menu {
		if notSent := t.closeMenu(ctx); notSent != nil {
			return false, event(t.named(notSent))
		}
	}
	if notSent := t.write(ctx); notSent != nil {
		return false, event(t.named(notSent))
	}
	err := t.pane.Press(ctx, terminal.Enter)
	if _, refused := errors.AsType[*terminal.Refusal](err); refused {
		return false, event(t.named(unsent(err.Error())))
	}
	t.log.Info("typed", "session", t.session.Key.ID, "agent", t.session.Key.Agent, "attempt", len(t.session.Attempts),
		"pid", t.plan.Process.PID, "pane", t.pane.String())
	return true, nil // where no answer came the transcript will tell
}

// confirm waits until the agent has written the prompt down.
func (t *typing) confirm(ctx context.Context) resume.Event {
	return t.appears(ctx, linePatience, "the prompt was typed and sent")
}

// named says of a reason whose terminal it is about, where a person must look there.
func (t *typing) named(notSent *resume.NotSent) *resume.NotSent {
	if notSent == nil {
		return nil
	}
	notSent.Owner = t.owner
	switch notSent.Then {
	case resume.TellUnreached:
		notSent.Why = t.opts.Settings().outOfReach(*t.owner, notSent.Why)
	case resume.Park:
		notSent.Why = heldBy(*t.owner) + ": " + notSent.Why
	}
	return notSent
}

func (t *typing) closeMenu(ctx context.Context) *resume.NotSent {
	if err := t.pane.Press(ctx, terminal.Escape); err != nil {
		return t.refused(err)
	}
	sight, notSent := t.look(ctx, func(s agent.Sight) bool { return !s.Menu && !s.Strange })
	if notSent == nil && (sight.Menu || sight.Draft != "") {
		return unsent("the limit's menu did not close to an empty input field")
	}
	return notSent
}

// write types the prompt and reads it back.
func (t *typing) write(ctx context.Context) *resume.NotSent {
	err := t.pane.Type(ctx, t.plan.Text)
	if _, refused := errors.AsType[*terminal.Refusal](err); refused {
		return t.refused(err)
	}
	if err != nil {
		return unsent(err.Error())
	}
	stands := func(s agent.Sight) bool {
		return s.Leave == nil && !s.Menu && squeeze(s.Draft) == squeeze(t.plan.Text)
	}
	sight, notSent := t.look(ctx, stands)
	switch {
	case notSent != nil:
		return unsent("after the prompt was typed, " + notSent.Why)
	case !stands(sight):
		why := "the text in its input field is not what was typed"
		if screen, err := t.pane.Screen(ctx); err == nil {
			why += t.keep(screen)
		}
		return unsent(why)
	}
	return nil
}

// unsent is a prompt that was typed and not sent: a person must look.
func unsent(why string) *resume.NotSent {
	return &resume.NotSent{Why: why + "; Enter was not pressed", Then: resume.Park}
}

// keep writes a screen that was not recognised where a person can look at it,
// and returns words that say where.
func (t *typing) keep(screen string) string {
	dir, err := t.shelves.claim(outputs, t.session.Key)
	path := filepath.Join(dir, "screen.txt") // the newest is enough
	if err == nil {
		err = os.WriteFile(path, []byte(sanitize.Text(screen)), 0o600)
	}
	if err != nil {
		t.log.Warn("a screen could not be kept", "session", t.session.Key.ID, "err", err)
		return ""
	}
	return "; it is kept in " + path
}

func squeeze(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}
