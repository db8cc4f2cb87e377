// Package termui shows people the state of their sessions: as a page, as a live view in a terminal, and
// as lines for a log. What agents and providers wrote is sanitized before it is shown.
package termui

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"resumed/internal/control"
	"resumed/internal/humanize"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
	"resumed/internal/sanitize"
)

// Renderer is the terminal for one output.
type Renderer struct {
	Width int // of the terminal; 0: no bound
	Paint Paint
	Now   time.Time
}

// Status shows in a line how things are, and then the sessions, the accounts and the daemon.
func (p Renderer) Status(status control.Status) string {
	out := &Printer{Renderer: p}
	out.Lines(p.stillness(status.Daemon)...)
	if len(status.Sessions) == 0 {
		out.Lines("No session is interrupted.")
	}
	out.Text(p.Sessions(status.Sessions))
	out.offers(status.Sessions)
	if len(status.Accounts) > 0 {
		out.Lines("")
		out.Lines(p.accounts(status.Accounts)...)
	}
	out.Lines("")
	out.Lines(p.daemon(status.Daemon)...)
	return out.String()
}

// stillness says why the daemon starts nothing at all.
func (p Renderer) stillness(d control.Daemon) (lines []string) {
	if d.Paused {
		lines = append(lines, p.wrap("resumed is paused: it starts nothing until resumed unpause", "")...)
	}
	if d.DryRun {
		lines = append(lines, p.wrap("dry run: it only says what it would start", "")...)
	}
	for i, line := range lines {
		lines[i] = p.Paint.In(Cyan, line)
	}
	return lines
}

// mostOffers bounds how many offers are shown: the details of each session show its own.
const mostOffers = 3

// offers shows which sessions could continue with another model while they wait.
func (p *Printer) offers(sessions []view.Session) {
	var offers []string
	names := make(map[string][]string)
	for _, s := range sessions {
		words := s.Remedy
		if words == "" || humanize.Needs(s) != humanize.Time {
			continue
		}
		if names[words] == nil {
			offers = append(offers, words)
		}
		names[words] = append(names[words], sanitize.Line(s.Name))
	}
	for i, words := range offers[:min(len(offers), mostOffers)] {
		if i == 0 {
			p.Lines("")
		}
		p.Wrapped(some(names[words]) + ": " + sanitize.Line(words))
		delete(names, words)
	}
	if len(names) > 0 {
		p.Lines("and more: resumed status SESSION")
	}
}

// some returns the first names of a list.
func some(names []string) string {
	if len(names) > mostNamed {
		names = append(names[:mostNamed:mostNamed], "…")
	}
	return strings.Join(names, " ")
}

// screen is how many rows most terminals show at once.
const screen = 24

// Sessions shows a row for each session below a line of summary; those that need a person come first,
// and those with the same cause are together.
func (p Renderer) Sessions(sessions []view.Session) string {
	return p.list(sessions, "resumed status --watch searches and scrolls them")
}

// list is Sessions with a text that says how to see many of them.
func (p Renderer) list(sessions []view.Session, many string) string {
	if len(sessions) == 0 {
		return ""
	}
	var b board
	sorted := b.apply(control.Update{Status: control.Status{Sessions: sessions}, Whole: true})
	var natural layout
	for _, r := range sorted {
		natural.grow(r.room)
	}
	natural.countdowns(sorted, p.Now)
	groups, indent := grouped(sorted), ""
	titled := func(g *group) bool { return len(groups) > 1 || g.rows[0].need == humanize.You }
	if slices.ContainsFunc(groups, titled) {
		indent = strings.Repeat(" ", gutter)
	}
	width := p.Width
	if width > 0 {
		width = max(1, width-len(indent))
	}
	fitted := natural.fit(width)
	lines := append(p.wrap(p.summary(&b), ""), "", p.cut(indent+fitted.head(p.Paint)))
	for _, g := range groups {
		if titled(g) {
			lines = append(lines, p.heading(g)...)
		}
		for _, r := range g.rows {
			lines = append(lines, p.cut(indent+r.line(fitted, p.Now, p.Paint)))
		}
	}
	if len(sorted) > screen { // the first lines have scrolled away
		lines = append(lines, "")
		lines = append(lines, p.wrap(p.summary(&b), "")...)
		if many != "" {
			lines = append(lines, p.cut(p.Paint.In(Dim, many)))
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

// accounts returns a line for each shared limit, limited ones first.
func (p Renderer) accounts(accounts []control.Account) []string {
	head, limit := Row("ACCOUNT", "LIMIT", "SESSIONS"), len("LIMIT")
	var limited, free [][]Cell
	for _, a := range accounts {
		words, colour := accountWords(a, p.Now)
		limit = max(limit, ansi.StringWidth(words))
		row := []Cell{{Text: sanitize.Line(a.String())}, {words, colour}, {Text: fmt.Sprint(a.Sessions)}}
		if used := humanize.Used(a.Windows); used != "" {
			row = append(row, Cell{Text: used})
			head = Row("ACCOUNT", "LIMIT", "SESSIONS", "USED")
		}
		if a.State == "closed" {
			free = append(free, row)
		} else {
			limited = append(limited, row)
		}
	}
	rows := slices.Concat([][]Cell{head}, limited, free)
	if p.Width > 0 { // the name gives way
		for _, row := range rows {
			row[0].Text = cut(row[0].Text, max(8, p.Width-limit-len("SESSIONS")-2*gap))
		}
	}
	lines := p.table(rows)
	lines[0] = p.Paint.In(Dim, lines[0])
	return lines
}

func accountWords(a control.Account, now time.Time) (string, Colour) {
	words, tone := humanize.Account(a.State)
	if tone == humanize.Wait && a.ResetAt != nil && a.ResetAt.After(now) {
		words += ", lifts " + humanize.Until(*a.ResetAt, now)
	}
	return words, tones[tone]
}

func (p Renderer) daemon(d control.Daemon) []string {
	line := fmt.Sprintf("resumed %s, pid %d, up %s", sanitize.Line(d.Version), d.PID, humanize.Span(p.Now.Sub(d.StartedAt)))
	config := "built-in defaults"
	if d.Config.Path != "" {
		config = fmt.Sprintf("%s, read %s", home(sanitize.Line(d.Config.Path)), humanize.Clock(d.Config.LoadedAt, p.Now))
	}
	lines := append(p.wrap(line, ""), p.wrap("configuration: "+config, "")...)
	if d.Config.Error != nil {
		lines = append(lines, p.Paint.In(Red, p.cut("The newest configuration has errors and is not used:")))
		for text := range strings.Lines(*d.Config.Error) {
			lines = append(lines, p.wrap(sanitize.Line(text), "  ")...)
		}
	}
	if f := d.Fleet; f != nil {
		words, _ := fleetWords(f)
		lines = append(lines, p.wrap(words, "")...)
	}
	if q := humanize.Queue(d.Queue.Queued, d.Queue.Starting, d.Queue.Failed, d.Queue.NextAt, p.Now); q != "" {
		lines = append(lines, p.wrap(q, "")...)
	}
	for _, ch := range d.Notices.Channels {
		if notice := humanize.Undelivered(ch.Name, ch.Pending, ch.Failed, ch.LastError); notice != "" {
			lines = append(lines, p.Paint.In(Yellow, p.cut(notice)))
		}
	}
	for _, problem := range d.Problems {
		for _, text := range p.wrap(sanitize.Line(problem), "") {
			lines = append(lines, p.Paint.In(Red, text))
		}
	}
	return lines
}

// home replaces the home directory in a path by ~.
func home(path string) string {
	dir, err := os.UserHomeDir()
	if err != nil || dir == "/" {
		return path
	}
	if rest, inside := strings.CutPrefix(path, dir+"/"); inside {
		return "~/" + rest
	}
	return path
}

func (p Renderer) cut(line string) string {
	if p.Width <= 0 {
		return line
	}
	return cut(line, p.Width)
}

func (p Renderer) wrap(text, indent string) []string {
	lines := strings.Split(text, "\n")
	if p.Width > 0 {
		lines = Break(text, max(10, p.Width-len(indent)))
	}
	for i := range lines {
		lines[i] = indent + lines[i]
	}
	return lines
}

// Break breaks a text into lines of a width: between words, at hyphens, and within a word that is wider.
func Break(text string, width int) []string {
	lines := strings.Split(ansi.Wrap(text, width, ""), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ") // the library keeps a space after a line that is full
	}
	return lines
}

type group struct {
	title string
	rows  []*row
}

// grouped puts rows together that need the same for the same cause. The order of the groups is that of
// their first rows.
func grouped(rows []*row) (groups []*group) {
	known := make(map[string]*group)
	for _, r := range rows {
		title := humanize.Heading(r.view)
		g := known[title]
		if g == nil {
			g = &group{title: title}
			known[title] = g
			groups = append(groups, g)
		}
		g.rows = append(g.rows, r)
	}
	return groups
}

// mostNamed bounds how many sessions a printed command names.
const mostNamed = 3

// toDo returns what a person can do for all sessions of the group; empty: nothing, or each has its own.
func (g *group) toDo() string {
	first := g.rows[0].view
	if g.rows[0].need != humanize.You {
		return ""
	}
	same := func(of func(view.Session) string) bool {
		return !slices.ContainsFunc(g.rows, func(r *row) bool { return of(r.view) != of(first) })
	}
	var names []string
	for _, r := range g.rows {
		names = append(names, r.name)
	}
	need := func(v view.Session) string {
		if v.Needs == nil {
			return ""
		}
		return *v.Needs
	}
	switch {
	case !same(need):
		return ""
	case need(first) == string(resume.StartUnseen):
		return "resumed retry --unseen continues them with your settings as they are now"
	case need(first) == string(resume.TrustNeeded) || !same(func(v view.Session) string { return v.Remedy }):
		return "resumed status SESSION says what helps"
	case first.Unreached != "" || need(first) != "retry" && need(first) != "sign_in" && need(first) != "billing":
		return sanitize.Line(first.Remedy)
	case first.Remedy != "":
		return sanitize.Line(first.Remedy) + "; then resumed retry " + some(names)
	default:
		return "resumed retry " + some(names)
	}
}

// heading is the line, or the two lines, above the rows of a group.
func (p Renderer) heading(g *group) []string {
	_, colour := stateOf(g.rows[0].view)
	if g.rows[0].need == humanize.You {
		colour = Red
	}
	lines := []string{p.cut(p.Paint.In(colour, fmt.Sprintf("%s (%d)", g.title, len(g.rows))))}
	if todo := g.toDo(); todo != "" {
		for _, line := range Wrap("to do: "+todo, p.Width-gutter) {
			lines = append(lines, p.cut(strings.Repeat(" ", gutter)+line))
		}
	}
	return lines
}

// summary is one line about all sessions: how many need a person, how many go on by themselves, and when
// the next one does.
func (p Renderer) summary(b *board) string {
	text := humanize.Count(len(b.order), "session") + ": " + p.tally(b)
	var next *time.Time
	for _, r := range b.order {
		at := r.view.NextAt
		if r.need == humanize.Time && at != nil && at.After(p.Now) && (next == nil || at.Before(*next)) {
			next = at
		}
	}
	if next != nil {
		text += "; next " + humanize.Until(*next, p.Now)
	}
	return text
}

// tally counts the sessions by what they need, most urgent first.
func (p Renderer) tally(b *board) string {
	counts := b.needs
	var parts []string
	for _, each := range []struct {
		need   humanize.Need
		words  string
		colour Colour
	}{
		{humanize.You, humanize.Verb(counts[humanize.You], "needs you", "need you"), Red},
		{humanize.Trying, "resuming", Magenta},
		{humanize.Time, "waiting", Yellow},
		{humanize.Unpause, "paused", Cyan},
		{humanize.Nothing, "watching", Green},
	} {
		if n := counts[each.need]; n > 0 {
			parts = append(parts, p.Paint.In(each.colour, fmt.Sprintf("%d %s", n, each.words)))
		}
	}
	if len(parts) == 0 {
		return "no session is interrupted"
	}
	return strings.Join(parts, ", ")
}

// ByState returns which sessions are in a state, as status --json names it, paused, or needs_you.
func ByState(name string) (func(view.Session) bool, error) {
	switch name {
	case "needs_you":
		return func(s view.Session) bool { return humanize.Needs(s) == humanize.You }, nil
	case "paused":
		return func(s view.Session) bool { return s.Paused }, nil
	}
	var state resume.State
	if err := state.UnmarshalText([]byte(name)); err != nil {
		return nil, fmt.Errorf("state %q is not known; it is one of %s", sanitize.Line(name), strings.Join(StateNames(), ", "))
	}
	return func(s view.Session) bool { return s.State == state }, nil
}

// StateNames returns the names that ByState knows.
func StateNames() []string {
	names := []string{"needs_you", "paused"}
	for _, state := range resume.States() {
		names = append(names, state.String())
	}
	return names
}
