package deliver

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"resumed/internal/agent"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
	"resumed/internal/sanitize"
	"resumed/internal/terminal"
)

const (
	// drawLooks is how often the screen is read until the program has drawn what was typed. It is a
	// count and not a time: on a busy machine the terminal is as slow as the program.
	drawLooks = 15

	// drawPause is the time after the first of them; it grows up to lookPause. A person who begins
	// to type meanwhile finds our text in the field, so it is short.
	drawPause = 20 * time.Millisecond

	// linePatience is how long an agent may take to record a typed prompt in its transcript.
	linePatience = 10 * time.Second
)

// typing types the prompt into the terminal of the process that has the session open.
type typing struct {
	*delivery
	plan *agent.Typing
	pane Pane
	menu bool // a menu covers the input field, and is closed first
}

func (t *typing) String() string { return fmt.Sprintf("typed %q into %s", t.plan.Text, t.pane) }

// preview does not read the screen: only what it shows when the prompt is typed counts.
func (t *typing) preview(_ context.Context, plan *view.Plan) *resume.NotSent {
	plan.Does = fmt.Sprintf("%q is typed into the terminal of process %d", t.plan.Text, t.plan.Process.PID)
	return nil
}

func (t *typing) ready(ctx context.Context) *resume.NotSent {
	pane, err := t.machine.Pane(ctx, t.plan.Process)
	if err != nil {
		return t.named(t.refused(err))
	}
	t.pane = pane
	if err := pane.Quiet(ctx); err != nil {
		return t.named(t.refused(err))
	}
	sight, notSent := t.look(ctx, func(s agent.ScreenState) bool { return !s.Strange })
	now := obstacle{strange: sight.Strange}
	if notSent == nil {
		now.draft = sight.Draft
	}
	n := t.tracker.countScreen(t.session.Key, now)
	again := func(why string) *resume.NotSent {
		return tryAgain(fmt.Sprintf("%s; resumed looks again before it tells you (look %d of %d)", why, n, lastScreenLook))
	}
	const drafted = "there is a draft in its input field that nobody sent"
	switch {
	case sight.Strange && n < lastScreenLook:
		notSent = again(notSent.Why)
	case now.draft != "" && n < lastScreenLook:
		notSent = again(drafted)
	case now.draft != "":
		return t.blocked(drafted + ": send it or clear it there, and the prompt is typed")
	case notSent != nil && notSent.Then == resume.Tell:
		return t.blocked(notSent.Why)
	case notSent == nil:
		notSent = t.unchanged(ctx, sight)
	}
	t.menu = sight.Menu
	return t.named(notSent)
}

// blocked is the verdict on a screen on which only a person can act. What helps is behind the last colon of the reason.
func (t *typing) blocked(why string) *resume.NotSent {
	colon := max(0, strings.LastIndex(why, ": "))
	why = cannotType(*t.owner, strings.TrimPrefix(why[colon:], ": "), why[:colon])
	t.tracker.block(t.session.Key, why)
	return &resume.NotSent{Why: why, Owner: t.owner, Then: resume.TellUnreached}
}

// unchanged looks again, to see whether a person types. tmux does not tell of keys that
// come through send-keys or a client in control mode.
func (t *typing) unchanged(ctx context.Context, before agent.ScreenState) *resume.NotSent {
	pause(ctx, lookPause)
	now, notSent := t.look(ctx, func(s agent.ScreenState) bool { return !s.Strange })
	if notSent == nil && (now.Draft != before.Draft || now.Menu != before.Menu) {
		return t.refused(terminal.ErrInUse)
	}
	return notSent
}

func (t *typing) refused(err error) *resume.NotSent {
	if refusal, ok := errors.AsType[*terminal.Refusal](err); ok && !refusal.Passing {
		return &resume.NotSent{Why: refusal.Advice(t.plan.Program), Then: resume.TellUnreached}
	}
	return tryAgain(err.Error())
}

// look reads the screen until it is as wanted: the program may have drawn only a part.
func (t *typing) look(ctx context.Context, wanted func(agent.ScreenState) bool) (agent.ScreenState, *resume.NotSent) {
	for n := 1; ; n++ {
		screen, err := t.pane.Screen(ctx)
		if err != nil {
			return agent.ScreenState{}, t.refused(err)
		}
		sight := t.plan.Judge(screen)
		if !wanted(sight) && n < drawLooks && ctx.Err() == nil {
			pause(ctx, min(time.Duration(n)*drawPause, lookPause))
			continue
		}
		if sight.Skip == nil {
			return sight, nil
		}
		notSent := leaving(sight.Skip, t.owner)
		if sight.Strange {
			notSent.Why += t.store(screen)
		}
		return sight, notSent
	}
}

// send types the prompt and presses Enter. Before the first key, it is on disk that it may have been sent.
func (t *typing) send(ctx context.Context) resume.Event {
	notSent := t.claim(ctx, t.plan.Process)
	// Not ctx: a prompt is never left half typed because the daemon stops.
	ctx = context.WithoutCancel(ctx)
	if notSent == nil && t.menu {
		notSent = t.closeMenu(ctx)
	}
	if notSent == nil {
		notSent = t.write(ctx)
	}
	if notSent == nil {
		err := t.pane.Press(ctx, terminal.Enter)
		if _, refused := errors.AsType[*terminal.Refusal](err); refused {
			notSent = t.unsent(ctx, err.Error())
		} // any other error proves nothing: the transcript shows whether it was sent
	}
	if notSent != nil {
		return t.named(notSent)
	}
	t.logOf(t.session.Key).Info("typed", "attempt", len(t.session.Attempts), "pid", t.plan.Process.PID, "pane", t.pane.String())
	return nil
}

func (t *typing) confirm(ctx context.Context) resume.Event {
	return t.appears(ctx, t.agent, t.session, linePatience, notShown("the prompt was typed and sent", linePatience))
}

// named adds to a reason which terminal it is about, if a person must look there.
func (t *typing) named(notSent *resume.NotSent) *resume.NotSent {
	if notSent == nil || notSent == withdrawn {
		return notSent
	}
	notSent.Owner = t.owner
	switch notSent.Then {
	case resume.TellUnreached:
		notSent.Why = t.settings.outOfReach(*t.owner, notSent.Why)
	case resume.Park:
		notSent.Why = openIn(*t.owner) + ": " + notSent.Why
	default:
	}
	return notSent
}

func (t *typing) closeMenu(ctx context.Context) *resume.NotSent {
	if err := t.pane.Press(ctx, terminal.Escape); err != nil {
		return t.refused(err)
	}
	sight, notSent := t.look(ctx, func(s agent.ScreenState) bool { return !s.Menu && !s.Strange })
	if notSent == nil && (sight.Menu || sight.Draft != "") {
		return t.unsent(ctx, "the limit's menu did not close to an empty input field")
	}
	return notSent
}

func (t *typing) write(ctx context.Context) *resume.NotSent {
	err := t.pane.Type(ctx, t.plan.Text)
	if _, refused := errors.AsType[*terminal.Refusal](err); refused {
		return t.refused(err)
	}
	if err != nil {
		return t.unsent(ctx, err.Error())
	}
	typed := func(s agent.ScreenState) bool {
		return s.Skip == nil && !s.Menu && withoutSpace(s.Draft) == withoutSpace(t.plan.Text)
	}
	sight, notSent := t.look(ctx, func(s agent.ScreenState) bool { return typed(s) || t.mixed(s.Draft) })
	switch {
	case notSent != nil:
		return t.unsent(ctx, "after the prompt was typed, "+notSent.Why)
	case !typed(sight):
		why := "the text in its input field is not what was typed"
		if screen, err := t.pane.Screen(ctx); err == nil && !t.mixed(sight.Draft) {
			why += t.store(screen)
		}
		return t.unsent(ctx, why)
	}
	return nil
}

// mixed reports whether a draft has more than what was typed, or something else: a person types.
func (t *typing) mixed(draft string) bool {
	return !strings.HasPrefix(withoutSpace(t.plan.Text), withoutSpace(draft))
}

// unsent is the verdict on a prompt that may have been typed and was not sent. If a person types there,
// it is taken back, and tried again later; otherwise a person must look.
func (t *typing) unsent(ctx context.Context, why string) *resume.NotSent {
	screen, err := t.pane.Screen(ctx)
	draft := t.plan.Judge(screen).Draft
	switch {
	case err != nil || !t.mixed(draft) && !errors.Is(t.pane.Quiet(ctx), terminal.ErrInUse):
		return park(why + "; Enter was not pressed")
	case !strings.HasPrefix(withoutSpace(draft), withoutSpace(t.plan.Text)):
		return t.refused(terminal.ErrInUse) // the person has cleared or sent it
	case strings.Contains(draft, "\n") && t.mixed(draft): // it may be in another line than the cursor
		return tryAgain("somebody types behind what resumed has typed: it is left in the input field")
	}
	if err := t.pane.TakeBack(ctx, t.plan.Text); err != nil {
		return tryAgain("what resumed has typed could not be taken back while somebody types there: " + err.Error())
	}
	return tryAgain("somebody began to type at the same time: what resumed had typed was taken back")
}

// store stores a screen that was not recognised, and returns a phrase that says where.
func (t *typing) store(screen string) string {
	path, err := t.files.StoreScreen(t.session.Key, sanitize.Text(screen))
	if err != nil {
		t.logOf(t.session.Key).Warn("a screen could not be kept", "err", err)
		return ""
	}
	return "; it is kept in " + path
}

func withoutSpace(s string) string { return strings.Join(strings.Fields(s), "") }
