package termui

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"resumed/internal/control"
	"resumed/internal/humanize"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
	"resumed/internal/sanitize"
)

// orderTimeout is how long an order may take.
const orderTimeout = 10 * time.Second

// key handles a key.
func (m *model) key(k tea.KeyPressMsg) tea.Cmd {
	switch name := k.String(); {
	case name == "ctrl+c":
		return tea.Quit
	case name == "ctrl+z":
		return tea.Suspend
	case m.ask != nil: // only y means yes
		yes := m.ask.yes
		if m.ask = nil; name != "y" && name != "Y" {
			return nil
		}
		return yes
	case m.typing:
		m.typed(name, k.Text)
		return nil
	case m.help:
		m.help = false
		return nil
	case m.fleet != nil:
		return m.fleetCommand(name)
	default:
		return m.command(name)
	}
}

// typed changes the filter.
func (m *model) typed(name, text string) {
	switch name {
	case "enter":
		m.typing = false
	case "esc":
		m.typing = false
		m.setFilter("")
	case "backspace":
		_, size := utf8.DecodeLastRuneInString(m.filter)
		m.setFilter(m.filter[:len(m.filter)-size])
	case "ctrl+u":
		m.setFilter("")
	case "up", "down", "pgup", "pgdown":
		m.travel(name)
	case "space":
		m.filter += " "
	default:
		if text != "" {
			m.setFilter(m.filter + text)
		}
	}
}

func (m *model) command(name string) tea.Cmd {
	switch name {
	case "q":
		return tea.Quit
	case "?", "h":
		m.help = true
	case "/":
		m.open, m.typing = false, true
	case "enter":
		m.open, m.scroll = !m.open && m.selected() != nil, 0
	case "esc", "left", "backspace":
		m.back()
	case "r":
		return m.give(control.Retry)
	case "c":
		return m.confirmCancel()
	case "p":
		return m.togglePause()
	case "P":
		return m.toggleAll()
	case "F":
		return m.openFleet()
	default:
		m.travel(name)
	}
	return nil
}

// back closes the innermost view.
func (m *model) back() {
	if m.open {
		m.open = false
		m.refresh()
		return
	}
	if m.filter != "" {
		m.setFilter("")
	}
}

// travel moves the selection, or scrolls the details.
func (m *model) travel(name string) {
	page := max(1, m.room()-1)
	lines, scroll := m.pane()
	far := len(m.rows) + len(lines)
	steps := map[string]int{
		"up": -1, "k": -1, "ctrl+p": -1, "down": 1, "j": 1, "ctrl+n": 1,
		"pgup": -page, "b": -page, "ctrl+b": -page, "pgdown": page, "space": page, "f": page, "ctrl+f": page,
		"home": -far, "g": -far, "end": far, "G": far,
	}
	step := steps[name]
	if scroll != nil {
		*scroll = max(0, min(*scroll+step, len(lines)-m.room()))
		return
	}
	m.move(m.index + step)
}

// give gives an order for the selected session.
func (m *model) give(order control.Order) tea.Cmd {
	r := m.selected()
	if r == nil {
		return nil
	}
	name, key := r.name, r.view.Key()
	return m.order(func(ctx context.Context) (string, error) {
		after, err := m.f.Daemon.Do(ctx, key.String(), order)
		if err != nil {
			return "", fmt.Errorf("%s %s: %w", order, name, err)
		}
		return name + ": " + outcome(order, after), nil
	})
}

// outcome returns the result of an order in words.
func outcome(order control.Order, after view.Session) string {
	state, _ := humanize.State(after)
	switch order {
	case control.Retry:
		if after.State == resume.Waiting || after.State == resume.Resuming {
			return "resumed now, all tries available again"
		}
		return "nothing to retry: " + after.State.String()
	case control.Cancel:
		return "interruption forgotten"
	case control.Pause:
		return "paused: nothing is started until it is unpaused"
	default:
		return "unpaused: " + state
	}
}

func (m *model) confirmCancel() tea.Cmd {
	r := m.selected()
	if r == nil {
		return nil
	}
	m.ask = &question{
		text: fmt.Sprintf("Forget the interruption of %s (%s)? y/n", r.name, r.project),
		yes:  m.give(control.Cancel),
	}
	return nil
}

func (m *model) togglePause() tea.Cmd {
	r := m.selected()
	if r != nil && r.view.Paused {
		return m.give(control.Unpause)
	}
	return m.give(control.Pause)
}

func (m *model) toggleAll() tea.Cmd {
	paused := !m.board.status.Daemon.Paused
	return m.order(func(ctx context.Context) (string, error) {
		if err := m.f.Daemon.SetPaused(ctx, paused); err != nil {
			return "", err
		}
		if paused {
			return "resumed is paused: it starts nothing", nil
		}
		return "resumed goes on", nil
	})
}

// order runs an order in the background, and shows its result.
func (m *model) order(do func(context.Context) (string, error)) tea.Cmd {
	return func() tea.Msg {
		ctx, cancel := context.WithTimeoutCause(m.ctx, orderTimeout, fmt.Errorf("no answer within %s", orderTimeout))
		defer cancel()
		text, err := do(ctx)
		n := notice{text: text, colour: Green, until: time.Now().Add(noticeFor)}
		if errors.Is(err, context.DeadlineExceeded) {
			err = context.Cause(ctx)
		}
		if err != nil {
			n.text, n.colour = sanitize.Line(err.Error()), Red
		}
		return n
	}
}
