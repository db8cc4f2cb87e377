package termui

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/control"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

// The person goes through a list: after an order the next session is under the cursor, not the same one
// elsewhere.
func TestTheCursorStaysAfterAnOrder(t *testing.T) {
	m, daemon := live(t, session("aaaa", resume.GaveUp), session("bbbb", resume.GaveUp), session("cccc", resume.GaveUp))
	press(m, "r")
	require.Equal(t, "due claude-code/aaaa", <-daemon.orders)
	m.Update(control.Update{Status: status(session("cccc", resume.GaveUp))})
	require.Equal(t, "aaaa", m.selected().name, "as long as it does not move")
	m.Update(control.Update{Status: status(session("aaaa", resume.Resuming))})
	require.Equal(t, 0, m.index)
	require.Equal(t, "bbbb", m.selected().name)
	m.Update(control.Update{Status: status(session("bbbb", resume.Waiting))})
	require.Equal(t, "bbbb", m.selected().name, "no order was given for it: the cursor goes with it")
}

func TestMarkedSessionsGetTheOrder(t *testing.T) {
	m, daemon := live(t, session("aaaa", resume.GaveUp), session("bbbb", resume.GaveUp), session("cccc", resume.Waiting))
	press(m, "y", "space", "space")
	require.Contains(t, shown(m), "2 marked", "and not what was copied before")
	require.Contains(t, shown(m), "\n *bbbb")
	press(m, "r")
	require.Equal(t, []string{"due claude-code/aaaa", "due claude-code/bbbb"}, []string{<-daemon.orders, <-daemon.orders})
	press(m, "c")
	require.Contains(t, shown(m), "Forget the interruption of 2 sessions? y/n")
	press(m, "n", "esc")
	require.NotContains(t, shown(m), "marked")
	press(m, "*", "p")
	require.Equal(t, []string{"pause claude-code/aaaa", "pause claude-code/bbbb", "pause claude-code/cccc"}, []string{<-daemon.orders, <-daemon.orders, <-daemon.orders})
	press(m, "*", "y")
	require.Contains(t, shown(m), "copied: cccc")
}

// earlyDaemon is a daemon whose provider asked to wait longer.
type earlyDaemon struct{ *fake }

func (d earlyDaemon) Do(ctx context.Context, name string, order control.Action) (view.Session, error) {
	if order == control.Due {
		return view.Session{}, fmt.Errorf("%w until %s", control.ErrEarly, noon.Format(time.RFC3339))
	}
	return d.fake.Do(ctx, name, order)
}

func TestARetryBeforeTheProvidersTimeAsksFirst(t *testing.T) {
	m, daemon := live(t, session("aaaa", resume.Waiting))
	m.f.Daemon = earlyDaemon{daemon}
	press(m, "r")
	require.Contains(t, shown(m), "Resume aaaa now? y/n: the provider asked to wait until ")
	press(m, "n")
	require.Empty(t, daemon.orders)
	press(m, "r", "y")
	require.Equal(t, "retry claude-code/aaaa", <-daemon.orders)
}

func TestKeysShowWhatCommandsPrint(t *testing.T) {
	m, _ := live(t, session("aaaa", resume.Waiting))
	m.f.Run = func(_ context.Context, args ...string) (string, error) {
		return "output of " + strings.Join(args, " ") + "\x1b[31m\nsecond line\n", nil
	}
	press(m, "l")
	require.Contains(t, shown(m), "resumed logs aaaa")
	require.Contains(t, shown(m), "output of logs aaaa")
	require.NotContains(t, shown(m), "\x1b")
	press(m, "esc", "h")
	require.Contains(t, shown(m), "output of history aaaa")
	press(m, "esc", "o")
	require.Contains(t, shown(m), "output of open")
	require.Contains(t, shown(m), "> aaaa", "the list is still there")
	link := "http://127.0.0.1:7733/?token=" + strings.Repeat("x", 60)
	m.f.Run = func(context.Context, ...string) (string, error) { return link + "\n", nil }
	press(m, "o")
	require.Contains(t, strings.ReplaceAll(shown(m), "\n", ""), link, "all of it, until the person goes back")
	require.NotContains(t, m.message(), "http", "once is enough")
}

func TestDetailsAreShownBelowTheListIfThereIsRoom(t *testing.T) {
	m, _ := live(t, session("aaaa", resume.Waiting), session("bbbb", resume.GaveUp))
	require.Contains(t, shown(m), "── bbbb (shop) ──")
	require.Contains(t, shown(m), "directory")
	press(m, "down")
	require.Contains(t, shown(m), "── aaaa (shop) ──")
	require.Len(t, m.screen(), 24)
}
