package termui

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"resumed/internal/control"
	"resumed/internal/humanize"
	"resumed/internal/resume"
	"resumed/internal/sanitize"
)

// orderTimeout is how long an order may take.
const orderTimeout = 10 * time.Second

// mark marks the selected session, or removes its mark, and goes on to the next one.
func (m *model) mark() {
	m.notice = notice{} // how many are marked is news
	if r := m.selected(); r != nil {
		if key := r.view.Key(); m.marked[key] {
			delete(m.marked, key)
		} else {
			m.marked[key] = true
		}
		m.travel("down")
	}
}

// markAll marks all sessions that the filter shows, or removes all marks.
func (m *model) markAll() {
	m.notice = notice{}
	if len(m.marked) > 0 {
		clear(m.marked)
		return
	}
	for _, r := range m.rows {
		m.marked[r.view.Key()] = true
	}
}

// targets returns the sessions that an order is for: the marked ones, else the selected one.
func (m *model) targets() (rows []*row) {
	for _, r := range m.board.order {
		if !m.open && m.marked[r.view.Key()] {
			rows = append(rows, r)
		}
	}
	if r := m.selected(); len(rows) == 0 && r != nil {
		rows = append(rows, r)
	}
	return rows
}

// named returns the name of the one session, or how many there are.
func named(rows []*row) string {
	if len(rows) == 1 {
		return rows[0].name
	}
	return humanize.Count(len(rows), "session")
}

// early means that providers asked sessions to wait longer: a person decides.
type early struct {
	rows []*row
	err  error
}

// give gives an order for the targets. The cursor stays where it is, also if the session moves in the
// list.
func (m *model) give(order control.Action) tea.Cmd {
	if r := m.selected(); r != nil {
		m.left = r.view.Key()
	}
	return m.giveTo(order, m.targets())
}

func (m *model) giveTo(order control.Action, rows []*row) tea.Cmd {
	if len(rows) == 0 {
		return nil
	}
	done := map[control.Action]string{control.Cancel: "interruption forgotten", control.Pause: "paused", control.Unpause: "unpaused"}
	retry := order == control.Retry || order == control.Due
	return func() tea.Msg {
		var tooEarly early
		answer := m.order(func(ctx context.Context) (string, error) {
			words, failed := "", []error(nil)
			for _, r := range rows {
				after, err := m.f.Daemon.Do(ctx, r.view.Key().String(), order)
				switch {
				case errors.Is(err, control.ErrEarly):
					tooEarly.rows, tooEarly.err = append(tooEarly.rows, r), err
				case err != nil:
					failed = append(failed, fmt.Errorf("%s: %w", r.name, err))
				case retry:
					words = humanize.After(after, true, "due now", time.Now())
				default:
					words = done[order]
				}
			}
			if len(rows) > 1 && words != "" {
				words = map[bool]string{true: "retried", false: words}[retry]
			}
			if answered := len(rows) - len(failed) - len(tooEarly.rows); len(rows) > 1 && answered > 0 {
				return fmt.Sprintf("%s: %s", humanize.Count(answered, "session"), words), errors.Join(failed...)
			}
			return rows[0].name + ": " + words, errors.Join(failed...)
		})()
		if len(tooEarly.rows) > 0 {
			return tooEarly
		}
		return answer
	}
}

// askEarly asks whether to resume sessions before the time that their providers named.
func (m *model) askEarly(e early) {
	text := humanize.ReasonAt(e.err.Error(), m.page.Now)
	if len(e.rows) > 1 {
		text = "the providers asked to wait longer"
	}
	m.ask = &question{text: fmt.Sprintf("Resume %s now? y/n: %s", named(e.rows), text), yes: m.giveTo(control.Retry, e.rows)}
}

func (m *model) confirmCancel() tea.Cmd {
	rows := m.targets()
	if len(rows) == 0 {
		return nil
	}
	what := named(rows)
	if len(rows) == 1 {
		what += " (" + rows[0].project + ")"
	}
	m.ask = &question{text: fmt.Sprintf("Forget the interruption of %s? y/n", what), yes: m.give(control.Cancel)}
	return nil
}

func (m *model) togglePause() tea.Cmd {
	if rows := m.targets(); len(rows) > 0 && rows[0].view.Paused {
		return m.give(control.Unpause)
	}
	return m.give(control.Pause)
}

func (m *model) toggleAll() tea.Cmd {
	paused, still := !m.board.status.Daemon.Paused, 0
	for _, r := range m.board.order {
		if r.view.Paused {
			still++
		}
	}
	return m.order(func(ctx context.Context) (string, error) {
		if err := m.f.Daemon.SetPaused(ctx, paused); err != nil {
			return "", err
		}
		if paused {
			return "resumed is paused: it starts nothing", nil
		}
		if still > 0 {
			return "resumed goes on; " + humanize.StillPaused(still), nil
		}
		return "resumed goes on", nil
	})
}

func (m *model) copy() tea.Cmd {
	var ids []string
	for _, r := range m.targets() {
		ids = append(ids, r.view.Typed())
	}
	if len(ids) == 0 {
		return nil
	}
	text := strings.Join(ids, " ")
	m.notice = notice{text: "copied: " + sanitize.Line(text), colour: Green, until: m.page.Now.Add(noticeFor)}
	return tea.SetClipboard(text)
}

type output struct {
	title  string
	lines  []string
	scroll int
}

// run shows what a command prints about the selected session.
func (m *model) run(command string) tea.Cmd {
	r := m.selected()
	if r == nil || m.f.Run == nil {
		return nil
	}
	name, width := r.view.Typed(), m.page.Width
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(m.ctx, orderTimeout)
		defer cancel()
		text, err := m.f.Run(ctx, command, name)
		if err != nil {
			text += err.Error()
		}
		shown := output{title: "resumed " + command + " " + sanitize.Line(name)}
		for line := range strings.Lines(sanitize.Text(text)) {
			shown.lines = append(shown.lines, Renderer{Width: width}.wrap(strings.TrimRight(sanitize.Line(line), "\n"), "")...)
		}
		return shown
	}
}

func (m *model) openPage() tea.Cmd {
	if m.f.Run == nil {
		return nil
	}
	return m.order(func(ctx context.Context) (string, error) {
		text, err := m.f.Run(ctx, "open")
		return sanitize.Line(strings.TrimSpace(text)), err
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

// stays returns the row that is selected after the list has changed: that of the same session, but the
// same place if an order made it move.
func (m *model) stays(found int) int {
	if found >= 0 && m.at == m.left && found != m.index && !m.open {
		m.left = resume.Key{}
		return m.index
	}
	return found
}
