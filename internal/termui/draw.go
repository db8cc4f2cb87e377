package termui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"resumed/internal/humanize"
	"resumed/internal/sanitize"
)

func (m *model) View() tea.View {
	v := tea.NewView(strings.Join(m.screen(), "\n"))
	v.AltScreen = true
	v.WindowTitle = "resumed"
	return v
}

// screen returns the lines of the screen: exactly as many as it is high, and none wider than it is.
func (m *model) screen() []string {
	lines := m.header()
	room := m.room()
	all, scroll := m.pane()
	var body []string
	switch {
	case m.help:
		body = m.keys()
	case scroll != nil:
		*scroll = max(0, min(*scroll, len(all)-room))
		body = all[*scroll:]
	default:
		body = append(m.list(m.listRoom()), m.preview()...)
	}
	body = append(body, make([]string, room)...)
	if m.away != nil { // what is shown was true when the daemon was last heard
		for i, line := range body {
			body[i] = m.page.Paint.In(Dim, ansi.Strip(line))
		}
	}
	lines = append(lines, body[:room]...)
	lines = append(lines, m.message(), m.footer())
	lines = lines[:min(len(lines), max(0, m.height))]
	for i, line := range lines {
		lines[i] = m.page.cut(line)
	}
	return lines
}

// From previewFrom lines on, the details of the selected session are shown below a list that needs no more
// than half of them; from alwaysFrom on, below any list.
const previewFrom, alwaysFrom = 16, 24

func (m *model) listRoom() int {
	room := m.room()
	list := min(len(m.rows)+1, room/2)
	if len(m.rows) == 0 || room < previewFrom || room < alwaysFrom && list <= len(m.rows) {
		return room
	}
	return list
}

// preview shows the beginning of the selected session's details below the list, if there is room.
func (m *model) preview() []string {
	r, room := m.selected(), m.room()-m.listRoom()-2
	if r == nil || room < 0 {
		return nil
	}
	lines := m.page.session(r.view)
	if len(lines) > room {
		lines = append(lines[:room-1:room-1], m.page.Paint.In(Dim, "enter shows the rest"))
	}
	title := "── " + sanitize.Line(humanize.Called(r.view)) + " "
	title += strings.Repeat("─", max(0, m.page.Width-ansi.StringWidth(title)))
	return append([]string{"", m.page.Paint.In(Dim, title)}, lines...)
}

func (m *model) room() int { return max(1, m.height-len(m.header())-2) }

func (m *model) header() []string {
	lines := []string{m.spread(m.title(), m.page.Paint.In(Dim, m.page.Now.Format("15:04:05")))}
	d := m.board.status.Daemon
	if d.Config.Error != nil {
		first, _, _ := strings.Cut(*d.Config.Error, "\n")
		lines = append(lines, m.page.Paint.In(Red, m.page.cut("newest configuration is not used: "+sanitize.Line(first))))
	}
	for _, problem := range d.Problems {
		lines = append(lines, m.page.Paint.In(Red, m.page.cut(sanitize.Line(problem))))
	}
	if d.Fleet != nil {
		words, colour := fleetWords(d.Fleet)
		lines = append(lines, m.page.Paint.In(colour, m.page.cut(words)))
	}
	shown := 0
	for _, a := range m.board.status.Accounts {
		words, colour := accountWords(a, m.page.Now)
		if a.State == "closed" || shown >= max(1, m.height/8) {
			continue
		}
		shown++
		lines = append(lines, fmt.Sprintf("%s %s (%s)", sanitize.Line(a.String()), m.page.Paint.In(colour, words), humanize.Count(a.Sessions, "session")))
	}
	if m.height >= 12 {
		lines = append(lines, "")
	}
	return lines[:min(len(lines), max(1, m.height-5))]
}

func (m *model) title() string {
	name := m.page.Paint.In(Bold, "resumed")
	if m.away != nil {
		return name + "  " + m.page.Paint.In(Red, m.away.String())
	}
	if m.board.rows == nil {
		return name + "  looking for the daemon"
	}
	d := m.board.status.Daemon
	if d.Paused {
		name += " " + m.page.Paint.In(Cyan, "paused")
	}
	if d.DryRun {
		name += " " + m.page.Paint.In(Cyan, "dry run")
	}
	return name + "  " + m.page.tally(&m.board)
}

// spread puts one text left and one right, if there is room for both.
func (m *model) spread(left, right string) string {
	between := m.page.Width - ansi.StringWidth(left) - ansi.StringWidth(right)
	if between < gap {
		return left
	}
	return left + strings.Repeat(" ", between) + right
}

// gutter is the width of the mark of the selected row: it is visible without colours, too.
const gutter = 2

func (m *model) list(room int) []string {
	if len(m.rows) == 0 {
		switch {
		case m.filter != "":
			return []string{"No session matches " + fmt.Sprintf("%q", m.filter) + ". Esc shows all."}
		case m.board.rows != nil:
			return []string{"No session is interrupted. They appear here when a limit stops one."}
		}
		return nil
	}
	room = max(1, room-1)
	m.top = max(0, min(m.top, m.index, len(m.rows)-room))
	m.top = max(m.top, m.index-room+1)
	shown := m.rows[m.top:min(m.top+room, len(m.rows))]
	natural := m.natural
	natural[colNext] = m.nextFor
	natural.countdowns(shown, m.page.Now)
	m.nextFor = natural[colNext]
	fitted := natural.fit(max(1, m.page.Width-gutter))
	lines := []string{strings.Repeat(" ", gutter) + fitted.head(m.page.Paint)}
	for i, r := range shown {
		mark := " "
		if m.marked[r.view.Key()] {
			mark = "*"
		}
		if m.top+i == m.index {
			lines = append(lines, m.page.Paint.In(Reverse, fill(">"+mark+r.line(fitted, m.page.Now, false), m.page.Width)))
			continue
		}
		lines = append(lines, " "+mark+r.line(fitted, m.page.Now, m.page.Paint))
	}
	return lines
}

// pane returns the lines that are shown in place of the table, and their scroll position; nil: the
// table is shown.
func (m *model) pane() (lines []string, scroll *int) {
	switch {
	case m.fleet != nil:
		return m.fleetLines(), &m.fleet.scroll
	case m.text != nil:
		return append([]string{m.page.Paint.In(Dim, m.text.title), ""}, m.text.lines...), &m.text.scroll
	case !m.open:
		return nil, nil
	}
	if r := m.selected(); r != nil {
		return m.page.session(r.view), &m.scroll
	}
	return []string{"This session is not listed any longer."}, &m.scroll
}

// message is the line above the footer: a question, the filter, the result of an order, or the position
// in the list.
func (m *model) message() string {
	where := m.page.Paint.In(Dim, m.where())
	switch {
	case m.ask != nil:
		return m.page.Paint.In(Bold, m.ask.text)
	case m.typing:
		return m.spread("/"+sanitize.Line(m.filter)+"▏", where)
	case m.notice.until.After(m.page.Now):
		return m.spread(m.page.Paint.In(m.notice.colour, m.notice.text), where)
	case len(m.marked) > 0 && m.fleet == nil && !m.open && m.text == nil:
		return m.spread(fmt.Sprintf("%d marked: r, c, p and y are for them; esc unmarks", len(m.marked)), where)
	case m.filter != "" && m.fleet == nil && !m.open:
		return m.spread("filter: "+sanitize.Line(m.filter), where)
	}
	return m.spread("", where)
}

// where returns which part of the whole is on the screen.
func (m *model) where() string {
	lines, scroll := m.pane()
	switch shown, all := len(m.rows), len(m.board.rows); {
	case m.help:
		return ""
	case scroll != nil && len(lines) > m.room():
		return fmt.Sprintf("lines %d to %d of %d", *scroll+1, *scroll+m.room(), len(lines))
	case scroll != nil || shown == 0:
		return ""
	case shown < all:
		return fmt.Sprintf("%d of %d (%d in all)", m.index+1, shown, all)
	default:
		return fmt.Sprintf("%d of %d", m.index+1, shown)
	}
}

// bind is a key and what it does. If there is no room for all, those with the highest spare are left
// out first.
type bind struct {
	key, does string
	spare     int
}

var (
	listKeys = []bind{
		{"↑↓", "move", 9},
		{"enter", "details", 3},
		{"r", "retry", 4},
		{"c", "cancel", 5},
		{"p", "pause", 6},
		{"l", "logs", 10},
		{"space", "mark", 8},
		{"/", "filter", 7},
		{"?", "keys", 1},
		{"q", "quit", 0},
	}
	detailKeys = []bind{
		{"esc", "back", 2},
		{"↑↓", "scroll", 3},
		{"r", "retry", 4},
		{"c", "cancel", 5},
		{"p", "pause", 6},
		{"l", "logs", 7},
		{"h", "history", 8},
		{"?", "keys", 1},
		{"q", "quit", 0},
	}
	fleetKeys  = []bind{{"esc", "back", 1}, {"↑↓", "scroll", 4}, {">", "more", 2}, {"<", "before", 3}, {"q", "quit", 0}}
	filterKeys = []bind{{"enter", "keep", 0}, {"esc", "show all", 1}, {"↑↓", "move", 2}}
)

// explained describes every key.
var explained = []struct{ key, does string }{
	{"↑ ↓, k j", "move one session"},
	{"pgup pgdn, b f", "move a page"},
	{"home end, g G", "first and last session"},
	{"enter", "details, evidence, resumes; esc leads back"},
	{"/", "filter by any words; esc shows all again"},
	{"space, *", "mark a session, or all: r, c, p and y are then for these"},
	{"r", "retry now; asks if the provider named a later time"},
	{"c", "cancel: forget this interruption"},
	{"p", "pause or unpause the session"},
	{"l", "logs: what its resumed runs printed"},
	{"h", "history: what was decided, and why"},
	{"o", "open the web page"},
	{"y", "copy the id"},
	{"P", "pause or unpause resumed as a whole"},
	{"F", "the machines that share an account; > and < turn pages"},
	{"q", "quit"},
}

// footer shows as many keys as there is room for.
func (m *model) footer() string {
	binds := listKeys
	switch {
	case m.help:
		return m.page.Paint.In(Dim, "any key leads back")
	case m.typing:
		binds = filterKeys
	case m.fleet != nil:
		binds = fleetKeys
	case m.open || m.text != nil:
		binds = detailKeys
	}
	for {
		line := ""
		for _, b := range binds {
			line += m.page.Paint.In(Bold, b.key) + " " + m.page.Paint.In(Dim, b.does) + "  "
		}
		line = strings.TrimRight(line, " ")
		if len(binds) == 0 || ansi.StringWidth(line) <= m.page.Width {
			return line
		}
		sparest := slices.MaxFunc(binds, func(a, b bind) int { return cmp.Compare(a.spare, b.spare) })
		binds = slices.DeleteFunc(slices.Clone(binds), func(b bind) bool { return b == sparest })
	}
}

func (m *model) keys() []string {
	room := 0
	for _, e := range explained {
		room = max(room, ansi.StringWidth(e.key))
	}
	var lines []string
	for _, e := range explained {
		text := m.page.wrap(e.does, strings.Repeat(" ", room+gap))
		text[0] = m.page.Paint.In(Bold, fill(e.key, room)) + text[0][room:]
		lines = append(lines, text...)
	}
	return lines
}
