package termui

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/require"

	"resumed/internal/control"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

// press sends keys and runs the commands that they return.
func press(m *model, keys ...string) {
	named := map[string]tea.KeyPressMsg{
		"enter": {Code: tea.KeyEnter}, "esc": {Code: tea.KeyEscape}, "up": {Code: tea.KeyUp}, "down": {Code: tea.KeyDown},
		"pgdown": {Code: tea.KeyPgDown}, "pgup": {Code: tea.KeyPgUp}, "end": {Code: tea.KeyEnd}, "home": {Code: tea.KeyHome},
		"backspace": {Code: tea.KeyBackspace}, "space": {Code: tea.KeySpace, Text: " "},
	}
	for _, key := range keys {
		msg, ok := named[key]
		if !ok {
			msg = tea.KeyPressMsg{Code: []rune(key)[0], Text: key}
		}
		if _, cmd := m.Update(msg); cmd != nil {
			if answer := cmd(); answer != nil {
				m.Update(answer)
			}
		}
	}
}

func shown(m *model) string { return strings.Join(m.screen(), "\n") }

// live returns a view of a daemon's sessions, 80 by 24.
func live(t *testing.T, sessions ...view.Session) (*model, *fake) {
	daemon := newFake()
	m := newModel(t.Context(), Following{Daemon: daemon})
	m.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	m.Update(control.Update{Status: status(sessions...), Whole: true})
	return m, daemon
}

func TestKeysGiveOrders(t *testing.T) {
	m, daemon := live(t, session("4f2a", resume.Waiting), session("9c1d", resume.GaveUp))
	press(m, "down", "r")
	require.Equal(t, "due claude-code/4f2a", <-daemon.orders)
	require.Contains(t, shown(m), "4f2a: due now")

	press(m, "up", "c")
	require.Contains(t, shown(m), "Forget the interruption of 9c1d (shop)? y/n")
	press(m, "n")
	require.Empty(t, daemon.orders, "only yes is yes")
	press(m, "c", "y")
	require.Equal(t, "cancel claude-code/9c1d", <-daemon.orders)

	press(m, "p")
	require.Equal(t, "pause claude-code/9c1d", <-daemon.orders)
	paused := session("9c1d", resume.GaveUp, func(v *view.Session) { v.Paused = true })
	m.Update(control.Update{Status: status(paused)})
	press(m, "p")
	require.Equal(t, "unpause claude-code/9c1d", <-daemon.orders)

	press(m, "P")
	require.Equal(t, "paused true", <-daemon.orders)
}

func TestTheSelectionStaysWithItsSession(t *testing.T) {
	m, daemon := live(t, session("4f2a", resume.Waiting), session("9c1d", resume.Waiting), session("d00d", resume.Waiting))
	press(m, "down", "down")
	m.Update(control.Update{Status: status(session("d00d", resume.GaveUp))})
	require.Equal(t, 0, m.index, "it moved up")
	press(m, "r")
	require.Equal(t, "due claude-code/d00d", <-daemon.orders)
	m.Update(control.Update{Status: status(), Gone: []resume.Key{{Agent: "claude-code", ID: "d00d"}}})
	press(m, "r")
	require.Equal(t, "due claude-code/4f2a", <-daemon.orders, "the next one takes its place")
}

func TestFilterByTyping(t *testing.T) {
	other := func(v *view.Session) { v.Cwd = "/src/api" }
	m, _ := live(t, session("4f2a", resume.Waiting), session("9c1d", resume.Waiting, other), session("d00d", resume.Parked, other))
	press(m, "/", "a", "p", "i", "space", "p", "a", "r")
	require.Contains(t, shown(m), "d00d")
	require.NotContains(t, shown(m), "9c1d")
	require.Contains(t, shown(m), "1 of 1 (3 in all)")
	press(m, "backspace", "backspace", "backspace", "backspace", "enter")
	require.Contains(t, shown(m), "filter: api")
	require.Contains(t, shown(m), "9c1d")
	require.NotContains(t, shown(m), "4f2a")
	press(m, "/", "q", "z")
	require.Contains(t, shown(m), "No session matches")
	press(m, "esc")
	require.Contains(t, shown(m), "4f2a")
}

func TestDetailsOpenAndClose(t *testing.T) {
	m, _ := live(t, session("4f2a", resume.Waiting, func(v *view.Session) { v.Text = "the agent's own words" }))
	press(m, "enter")
	require.Contains(t, shown(m), "the agent's own words")
	m.Update(control.Update{Status: status(), Gone: []resume.Key{{Agent: "claude-code", ID: "4f2a"}}})
	require.Contains(t, shown(m), "not listed any longer")
	press(m, "esc")
	require.Contains(t, shown(m), "No session is interrupted")
}

func TestAnAbsentDaemonIsSaidAndComesBack(t *testing.T) {
	m, _ := live(t, session("4f2a", resume.Waiting))
	m.Update(lost{control.ErrNoDaemon})
	require.Contains(t, shown(m), "no daemon; looking for it")
	require.Contains(t, shown(m), "4f2a", "what was known stays")
	m.page.Paint = true
	grey := slices.ContainsFunc(m.screen(), func(line string) bool {
		return strings.Contains(line, "4f2a") && line == Paint(true).In(Dim, ansi.Strip(line))
	})
	require.True(t, grey, "and is grey")
	m.page.Paint = false
	m.Update(control.Update{Status: status(session("9c1d", resume.Waiting)), Whole: true})
	require.NotContains(t, shown(m), "no daemon")
	require.NotContains(t, shown(m), "4f2a")
}

// Whatever keys are pressed and however the window is resized, the output has exactly the size of the
// screen.
func TestTheScreenIsAlwaysWhole(t *testing.T) {
	keys := []string{"up", "down", "pgup", "pgdown", "home", "end", "enter", "esc", "/", "a", "0", "backspace", "space", "?", "r", "c", "y", "p", "P", "g", "G", "*", "l", "h", "o"}
	dice := rand.New(rand.NewPCG(1, 2))
	for run := range 12 {
		m, daemon := live(t)
		for step := range 120 {
			switch dice.IntN(8) {
			case 0:
				m.Update(tea.WindowSizeMsg{Width: 1 + dice.IntN(200), Height: 1 + dice.IntN(60)})
			case 1:
				var some []view.Session
				for range dice.IntN(40) {
					some = append(some, session(fmt.Sprintf("%04x-語", dice.IntN(99)), resume.States()[dice.IntN(6)]))
				}
				m.Update(control.Update{Status: status(some...), Whole: dice.IntN(2) == 0})
			case 2:
				m.Update(lost{})
			default:
				press(m, keys[dice.IntN(len(keys))])
			}
			for len(daemon.orders) > 0 {
				<-daemon.orders
			}
			lines := m.screen()
			require.Len(t, lines, m.height, "run %d, step %d", run, step)
			for _, line := range lines {
				require.LessOrEqual(t, ansi.StringWidth(line), m.page.Width, "run %d, step %d: %q", run, step, line)
			}
		}
	}
}

func TestTheSelectedRowIsAlwaysOnTheScreen(t *testing.T) {
	var many []view.Session
	for i := range 500 {
		many = append(many, session(fmt.Sprintf("s%03d", i), resume.Watching))
	}
	m, _ := live(t, many...)
	for _, key := range []string{"end", "pgup", "up", "home", "pgdown", "down", "G", "g"} {
		press(m, key)
		require.Contains(t, shown(m), "> "+m.rows[m.index].name, key)
	}
	press(m, "end")
	m.Update(tea.WindowSizeMsg{Width: 60, Height: 15})
	require.Contains(t, shown(m), "> s499")
	require.Contains(t, shown(m), "500 of 500")
}

func BenchmarkTenThousandSessions(b *testing.B) {
	var many []view.Session
	for i := range 10_000 {
		many = append(many, session(fmt.Sprintf("%08x-8b1d-4c55", i*2654435761), resume.States()[i%6]))
	}
	m := newModel(b.Context(), Following{Daemon: newFake()})
	m.Update(tea.WindowSizeMsg{Width: 120, Height: 40})
	m.Update(control.Update{Status: status(many...), Whole: true})
	b.Run("all anew", func(b *testing.B) {
		for b.Loop() {
			m.Update(control.Update{Status: status(many...), Whole: true})
		}
	})
	b.Run("one changes", func(b *testing.B) {
		for b.Loop() {
			m.Update(control.Update{Status: status(many[77])})
		}
	})
	b.Run("a second goes by", func(b *testing.B) {
		for b.Loop() {
			m.Update(tick(time.Now()))
			_ = m.screen()
		}
	})
	b.Run("a key", func(b *testing.B) {
		for b.Loop() {
			press(m, "down")
			_ = m.screen()
		}
	})
}

func TestTheFleetIsShownInPages(t *testing.T) {
	m, daemon := live(t, session("4f2a", resume.Waiting))
	press(m, "F")
	require.Contains(t, shown(m), "this host is in no fleet")
	in := status(session("4f2a", resume.Waiting))
	in.Daemon.Fleet = &control.DaemonFleet{State: "alone", Why: "the fleet does not answer", Name: "laptop", Hosts: 2}
	m.Update(control.Update{Status: in, Whole: true})
	require.Contains(t, shown(m), "fleet: alone, as laptop with 2 hosts: the fleet does not answer")

	press(m, "F")
	require.Equal(t, "fleet  200", <-daemon.orders, "a hundred thousand rows are not asked for")
	for _, words := range []string{"laptop-/4f2a", "laptop tries; 3 interrupted", "on 2 hosts", "host build: gone", "> shows them"} {
		require.Contains(t, shown(m), words)
	}
	press(m, ">", ">", ">")
	require.Equal(t, "fleet b 200", <-daemon.orders)
	require.Equal(t, "fleet c 200", <-daemon.orders)
	require.Empty(t, daemon.orders, "there is no fourth")
	require.Contains(t, shown(m), "laptop-c/4f2a")
	press(m, "<")
	require.Equal(t, "fleet b 200", <-daemon.orders)
	m.Update(fleetAnswer{err: errors.New("no answer"), after: "b"})
	require.Contains(t, shown(m), "what is shown is old: no answer")
	require.Contains(t, shown(m), "laptop-b/4f2a")
	m.Update(fleetAnswer{after: "c"})
	require.Contains(t, shown(m), "laptop-b/4f2a", "what was asked before comes late")
	press(m, "r", "esc")
	require.Empty(t, daemon.orders, "no order is for what is not shown")
	require.Contains(t, shown(m), "> 4f2a")
}

// The preview is shown where there is room: below a short list, or in the lower half of a high screen.
func TestPreviewWhereThereIsRoom(t *testing.T) {
	sessions := func(n int) (all []view.Session) {
		for i := range n {
			all = append(all, session(fmt.Sprintf("s%03d", i), resume.Waiting))
		}
		return all
	}
	for _, c := range []struct {
		sessions, height int
		shown            bool
	}{{3, 24, true}, {8, 24, true}, {9, 24, false}, {40, 24, false}, {40, 40, true}, {1, 10, false}, {0, 40, false}} {
		m, _ := live(t, sessions(c.sessions)...)
		m.Update(tea.WindowSizeMsg{Width: 80, Height: c.height})
		require.Equal(t, c.shown, strings.Contains(shown(m), "── s000 "), "%d sessions, %d lines:\n%s", c.sessions, c.height, shown(m))
		press(m, "end")
		require.True(t, c.sessions == 0 || strings.Contains(shown(m), fmt.Sprintf("> s%03d", c.sessions-1)), "the cursor is seen:\n%s", shown(m))
	}
}
