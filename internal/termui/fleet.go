package termui

import (
	"context"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"resumed/internal/control"
	"resumed/internal/humanize"
	"resumed/internal/resume/view"
	"resumed/internal/sanitize"
)

// Fleet shows the sessions of all hosts, their accounts and the hosts themselves.
func (p Renderer) Fleet(f control.Fleet) string {
	return p.fleet(f, "resumed status --fleet --json lists them all")
}

// fleet is Fleet with a text that says where to see more.
func (p Renderer) fleet(f control.Fleet, where string) string {
	out := &Printer{Renderer: p}
	say := func(format string, args ...any) { out.Line("%s", sanitize.Line(fmt.Sprintf(format, args...))) }
	tell := func(text string) { out.Wrapped(sanitize.Line(text)) }
	if len(f.Sessions) == 0 {
		say("No session of the fleet is interrupted.")
	}
	sessions := make([]view.Session, 0, len(f.Sessions))
	for _, s := range f.Sessions {
		s.Name, s.ID = s.Host+"/"+s.Name, s.Host+"/"+s.ID // by which retry, cancel and pause know it
		sessions = append(sessions, s.Session)
	}
	out.Text(p.list(sessions, ""))
	if f.Next != "" {
		say("… and %d more: %s", f.SessionsLeft, where)
	}
	for _, u := range f.Unreadable {
		tell(u.String())
	}
	say("")
	for _, a := range f.Accounts {
		words, _ := humanize.Account(a.State)
		line := fmt.Sprintf("account %s: %s", a.Name, words)
		if a.ResetAt != nil {
			line += ", lifts " + humanize.Until(*a.ResetAt, p.Now)
		}
		if a.By != "" && a.State != "closed" {
			line += ", as " + a.By + " was told"
		}
		if a.Probe != nil {
			line += ", " + a.Probe.Host + " tries"
		}
		tell(fmt.Sprintf("%s; %s on %s", line, humanize.Count(a.Sessions, "interrupted session"), humanize.Count(a.Hosts, "host")))
	}
	if f.AccountsLeft > 0 {
		say("… and %d more accounts", f.AccountsLeft)
	}
	for _, h := range f.Hosts {
		line := fmt.Sprintf("host %s: %s, last seen %s", h.Name, h.State, humanize.Clock(h.SeenAt, p.Now))
		if h.Skewed() {
			line += fmt.Sprintf("; its clock is off by %.0fs", h.SkewSeconds)
		}
		tell(line)
	}
	return out.String()
}

const (
	// fleetRows is how many sessions of a fleet are requested at a time: there may be a hundred
	// thousand.
	fleetRows = 200

	// fleetEvery is how often they are requested again while they are shown.
	fleetEvery = 3 * time.Second
)

type fleetView struct {
	seen   *control.Fleet // nil: no answer yet
	err    error
	asked  time.Time
	pages  []string // where the pages before this one begin
	after  string   // where this page begins
	scroll int
}

type fleetAnswer struct {
	found control.Fleet
	err   error
	after string
}

func (m *model) openFleet() tea.Cmd {
	if m.board.status.Daemon.Fleet == nil {
		m.notice = notice{text: "this host is in no fleet", colour: Yellow, until: m.page.Now.Add(noticeFor)}
		return nil
	}
	m.fleet, m.open, m.text, m.notice = &fleetView{}, false, nil, notice{}
	return m.askFleet()
}

func (m *model) askFleet() tea.Cmd {
	m.fleet.asked = m.page.Now
	after := m.fleet.after
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(m.ctx, orderTimeout)
		defer cancel()
		found, err := m.f.Daemon.Fleet(ctx, after, fleetRows)
		return fleetAnswer{found, err, after}
	}
}

// fleetAgain requests it again when that is due.
func (m *model) fleetAgain() tea.Cmd {
	if m.fleet == nil || m.page.Now.Sub(m.fleet.asked).Abs() < fleetEvery {
		return nil
	}
	return m.askFleet()
}

// fleetCommand handles a key while the fleet is shown.
func (m *model) fleetCommand(name string) tea.Cmd {
	f := m.fleet
	switch name {
	case "q":
		return tea.Quit
	case "?":
		m.help = true
	case "F", "esc", "left", "backspace":
		m.fleet = nil
	case ">", "right":
		if f.seen != nil && f.seen.Next != "" {
			f.pages, f.after, f.scroll = append(f.pages, f.after), f.seen.Next, 0
			return m.askFleet()
		}
	case "<":
		if n := len(f.pages); n > 0 {
			f.pages, f.after, f.scroll = f.pages[:n-1], f.pages[n-1], 0
			return m.askFleet()
		}
	default:
		m.travel(name)
	}
	return nil
}

// fleetLines shows the fleet, like `status --fleet`.
func (m *model) fleetLines() []string {
	f := m.fleet
	var lines []string
	if f.err != nil {
		lines = append(lines, m.page.Paint.In(Yellow, "what is shown is old: "+sanitize.Line(f.err.Error())))
	}
	if f.seen == nil {
		return append(lines, "asking the fleet")
	}
	text := m.page.fleet(*f.seen, "> shows them")
	return append(lines, strings.Split(strings.TrimSuffix(text, "\n"), "\n")...)
}

func fleetWords(f *control.DaemonFleet) (string, Colour) {
	words, colour := fmt.Sprintf("fleet: %s, as %s with %s", f.State, f.Name, humanize.Count(f.Hosts, "host")), Dim
	if f.State != "connected" {
		colour = Yellow
	}
	if f.Why != "" {
		words += ": " + f.Why
	}
	return sanitize.Line(words), colour
}
