package termui

import (
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"resumed/internal/control"
	"resumed/internal/resume"
)

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
	case "?":
		m.help = true
	case "/":
		m.open, m.text, m.typing = false, nil, true
	case "enter":
		m.open, m.scroll, m.text = !m.open && m.selected() != nil, 0, nil
	case "l":
		return m.run("logs")
	case "h":
		return m.run("history")
	case "o":
		return m.openPage()
	case "y":
		return m.copy()
	case "*":
		m.markAll()
	case "esc", "left", "backspace":
		m.back()
	case "r":
		return m.give(control.Due)
	case "c":
		return m.confirmCancel()
	case "p":
		return m.togglePause()
	case "P":
		return m.toggleAll()
	case "F":
		return m.openFleet()
	case "space":
		if _, scroll := m.pane(); scroll == nil {
			m.mark()
			return nil
		}
		m.travel(name)
	default:
		m.travel(name)
	}
	return nil
}

// back closes the innermost view.
func (m *model) back() {
	switch {
	case m.text != nil:
		m.text = nil
	case m.open:
		m.open = false
		m.refresh()
	case len(m.marked) > 0:
		clear(m.marked)
	case m.filter != "":
		m.setFilter("")
	}
}

// travel moves the selection, or scrolls the details.
func (m *model) travel(name string) {
	lines, scroll := m.pane()
	page := max(1, m.room()-1)
	if scroll == nil {
		page = max(1, m.listRoom()-1)
	}
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
	if step != 0 {
		m.left = resume.Key{}
		m.move(m.index + step)
	}
}
