package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"resumed/internal/agent"
	"resumed/internal/config"
	"resumed/internal/resume"
	"resumed/internal/sanitize"
	"resumed/internal/tmux"
)

const (
	// lookPause lies between two looks at a screen or a transcript.
	lookPause = 200 * time.Millisecond

	// drawPatience is how long a program may take to draw what was typed.
	drawPatience = 2 * time.Second

	// linePatience is how long an agent may take to write down the prompt that
	// it was given.
	linePatience = 10 * time.Second
)

// livePlan says how a session is continued that a live process holds, as far
// as the user wants it to be.
func livePlan(ctx context.Context, a agent.Agent, session resume.Session, owner resume.Owner, cfg config.Resume) (agent.Plan, error) {
	holds := heldBy(owner)
	var plan agent.Plan
	if talker, ok := a.(agent.Talker); ok {
		var err error
		if plan, err = talker.Talk(ctx, session, owner, agent.Words{Prompt: cfg.Prompt}); err != nil {
			return agent.Plan{}, err
		}
	}
	switch passing := owner.Kind == "headless"; { // it ends by itself
	case plan == agent.Plan{} && cfg.Live == config.LiveType && !passing: // there is no way to reach it
		return agent.Plan{Leave: &agent.Leave{Why: holds + ": go on in it, or end it and the session is continued", Tell: true}}, nil
	case plan == agent.Plan{}:
		return agent.Plan{Leave: &agent.Leave{Why: holds, Park: cfg.Live == config.LiveNotify && !passing}}, nil
	case plan.Leave != nil && !plan.Leave.Park:
		return plan, nil // it goes on by itself, or works
	case cfg.Live == config.LiveIgnore:
		return agent.Plan{Leave: &agent.Leave{Why: holds}}, nil
	case cfg.Live == config.LiveNotify:
		return agent.Plan{Leave: &agent.Leave{Why: holds, Park: true}}, nil
	case plan.Leave != nil:
		return agent.Plan{Leave: &agent.Leave{Why: holds + ": " + plan.Leave.Why, Park: true}}, nil
	}
	return plan, nil
}

func heldBy(owner resume.Owner) string {
	words := fmt.Sprintf("a live process holds it: process %d (%s", owner.PID, owner.Kind)
	if owner.Tmux != "" {
		words += ", tmux " + owner.Tmux
	}
	return words + ")"
}

// typist types one prompt into one pane.
type typist struct {
	d *daemon
	*sending
	pane *tmux.Pane
}

// typeIn types a prompt into the terminal of the process that holds the
// session, and reports on it.
func (d *daemon) typeIn(ctx context.Context, act *sending) {
	session := act.session
	mark := session.Run.Mark
	t := &typist{d: d, sending: act}
	menu, held := t.ready(ctx)
	if held == nil && d.opts.DryRun {
		held = &resume.NotSent{Why: fmt.Sprintf("dry run: would have typed %q into %s", t.typing.Text, t.pane), Park: true}
	}
	if held == nil {
		var sent bool
		if sent, held = t.send(ctx, menu); !sent && held == nil {
			return // it was withdrawn, or the daemon stops
		}
	}
	if held != nil {
		if held.Park {
			held.Why = heldBy(*t.owner) + ": " + held.Why // for people
		}
		held.Mark, held.Owner = mark, t.owner
		d.tell(ctx, session.Key, *held)
		return
	}
	d.log.Info("typed", "session", session.Key.ID, "agent", session.Key.Agent, "attempt", len(session.Attempts),
		"pid", t.typing.Process.PID, "pane", t.pane.String())
	d.confirm(ctx, act, linePatience, "the prompt was typed and sent")
}

// ready finds the pane and looks whether a prompt can be typed there. Nothing
// is typed yet.
func (t *typist) ready(ctx context.Context) (menu bool, held *resume.NotSent) {
	pane, err := tmux.Find(ctx, t.typing.Process)
	if err != nil {
		return false, t.refused(err)
	}
	t.pane = pane
	sight, held := t.look(ctx, func(s agent.Sight) bool { return !s.Strange })
	switch {
	case held != nil:
		return false, held
	case sight.Draft != "":
		return false, &resume.NotSent{Why: "somebody has written something into its composer and not sent it"}
	}
	return sight.Menu, nil
}

// refused says what it means that a pane cannot be used.
func (t *typist) refused(err error) *resume.NotSent {
	refusal, ok := errors.AsType[*tmux.Refusal](err)
	if !ok {
		return &resume.NotSent{Why: err.Error()}
	}
	return &resume.NotSent{Why: refusal.Why, Park: !refusal.Passing}
}

// look reads the screen until it is as wanted, or patience is over: a program
// that draws is not to be taken at half a word.
func (t *typist) look(ctx context.Context, wanted func(agent.Sight) bool) (agent.Sight, *resume.NotSent) {
	for deadline := time.Now().Add(drawPatience); ; pause(ctx, lookPause) {
		screen, err := t.pane.Screen(ctx)
		if err != nil {
			return agent.Sight{}, t.refused(err)
		}
		sight := t.typing.Judge(screen)
		if !wanted(sight) && time.Now().Before(deadline) && ctx.Err() == nil {
			continue
		}
		if sight.Leave == nil {
			return sight, nil
		}
		held := holding(sight.Leave, t.owner)
		if sight.Strange {
			held.Why += t.keep(screen)
		}
		return sight, held
	}
}

// send types the prompt and sends it. That it may have been sent is on disk
// before the first key is pressed. It returns false and no reason where the
// resume was withdrawn.
func (t *typist) send(ctx context.Context, menu bool) (sent bool, held *resume.NotSent) {
	if ok, held := t.d.claim(ctx, t.session, t.typing.Process); !ok {
		return false, held
	}
	// Not ctx: a prompt that was begun is never left half typed because the
	// daemon stops.
	ctx = context.WithoutCancel(ctx)
	if menu {
		if held := t.closeMenu(ctx); held != nil {
			return false, held
		}
	}
	if held := t.write(ctx); held != nil {
		return false, held
	}
	err := t.pane.Press(ctx, tmux.Enter)
	if _, refused := errors.AsType[*tmux.Refusal](err); refused {
		return false, unsent(err.Error())
	}
	return true, nil // where tmux gave no answer the transcript will tell
}

func (t *typist) closeMenu(ctx context.Context) *resume.NotSent {
	if err := t.pane.Press(ctx, tmux.Escape); err != nil {
		return t.refused(err)
	}
	sight, held := t.look(ctx, func(s agent.Sight) bool { return !s.Menu && !s.Strange })
	if held == nil && (sight.Menu || sight.Draft != "") {
		return unsent("the limit's menu did not give way to an empty composer")
	}
	return held
}

// write types the prompt and reads it back.
func (t *typist) write(ctx context.Context) *resume.NotSent {
	err := t.pane.Type(ctx, t.typing.Text)
	if _, refused := errors.AsType[*tmux.Refusal](err); refused {
		return t.refused(err)
	}
	if err != nil {
		return unsent(err.Error())
	}
	stands := func(s agent.Sight) bool {
		return s.Leave == nil && !s.Menu && squeeze(s.Draft) == squeeze(t.typing.Text)
	}
	sight, held := t.look(ctx, stands)
	switch {
	case held != nil:
		return unsent("after the prompt was typed, " + held.Why)
	case !stands(sight):
		why := "what was typed does not stand in its composer as it was typed"
		if screen, err := t.pane.Screen(ctx); err == nil {
			why += t.keep(screen)
		}
		return unsent(why)
	}
	return nil
}

// unsent is a prompt that was typed and not sent: a person must look.
func unsent(why string) *resume.NotSent {
	return &resume.NotSent{Why: why + "; Enter was not pressed", Park: true}
}

// keep writes a screen that was not recognised where a person can look at it,
// and returns words that say where.
func (t *typist) keep(screen string) string {
	dir, err := t.d.claimRuns(t.session.Key)
	path := filepath.Join(dir, "screen.txt") // the newest is enough
	if err == nil {
		err = os.WriteFile(path, []byte(sanitize.Text(screen)), 0o600)
	}
	if err != nil {
		t.d.log.Warn("a screen could not be kept", "session", t.session.Key.ID, "err", err)
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

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
