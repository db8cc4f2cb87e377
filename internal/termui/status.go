// Package termui shows people the state of their sessions: as a page, as a live view in a terminal, and
// as lines for a log. What agents and providers wrote is sanitized before it is shown.
package termui

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"resumed/internal/control"
	"resumed/internal/humanize"
	"resumed/internal/resume/view"
	"resumed/internal/sanitize"
)

// Page is the terminal for one output.
type Page struct {
	Width int // of the terminal; 0: no bound
	Paint Paint
	Now   time.Time
}

// Status shows the sessions, the accounts and the daemon.
func (p Page) Status(status control.Status) string {
	var b strings.Builder
	say := func(lines ...string) { fmt.Fprintln(&b, strings.Join(lines, "\n")) }
	if len(status.Sessions) == 0 {
		say("No session is interrupted.")
	}
	b.WriteString(p.Sessions(status.Sessions))
	b.WriteString(p.offers(status.Sessions))
	if n := len(view.WithoutStart(status.Sessions)); n > 0 {
		say("", fmt.Sprintf("Not seen when they started: %s. To continue with your settings as they are now:", humanize.Count(n, "session")), "  resumed retry --unseen")
	}
	if len(status.Accounts) > 0 {
		say("")
		say(p.accounts(status.Accounts)...)
	}
	say("")
	say(p.daemon(status.Daemon)...)
	return b.String()
}

// screen is how many rows most terminals show at once.
const screen = 24

// Sessions shows a row for each session; those that need a person come first.
func (p Page) Sessions(sessions []view.Session) string {
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
	fitted := natural.fit(p.Width)
	var text strings.Builder
	fmt.Fprintln(&text, p.cut(fitted.head(p.Paint)))
	for _, r := range sorted {
		fmt.Fprintln(&text, p.cut(r.line(fitted, p.Now, p.Paint)))
	}
	if len(sorted) > screen { // the first ones have scrolled away
		fmt.Fprintf(&text, "\n%s: %s\n%s\n", humanize.Count(len(sorted), "session"), p.tally(&b), p.Paint.In(Dim, "resumed status --watch searches and scrolls them"))
	}
	return text.String()
}

// accounts returns a line for each shared limit, limited ones first.
func (p Page) accounts(accounts []control.Account) []string {
	sorted := slices.SortedStableFunc(slices.Values(accounts), func(a, b control.Account) int {
		return cmp.Compare(b2i(a.State == "closed"), b2i(b.State == "closed"))
	})
	name, state := len("ACCOUNT"), len("LIMIT")
	for _, a := range sorted {
		name = max(name, ansi.StringWidth(sanitize.Line(a.String())))
		words, _ := accountWords(a, p.Now)
		state = max(state, ansi.StringWidth(words))
	}
	if p.Width > 0 {
		name = max(8, min(name, p.Width-state-len("SESSIONS")-2*gap))
	}
	spaces := strings.Repeat(" ", gap)
	head := fill("ACCOUNT", name) + spaces + fill("LIMIT", state) + spaces + "SESSIONS"
	if slices.ContainsFunc(sorted, func(a control.Account) bool { return len(a.Windows) > 0 }) {
		head += spaces + "USED"
	}
	lines := []string{p.Paint.In(Dim, p.cut(head))}
	for _, a := range sorted {
		words, colour := accountWords(a, p.Now)
		line := fill(sanitize.Line(a.String()), name) + spaces + p.Paint.In(colour, words) +
			strings.Repeat(" ", state-ansi.StringWidth(words)) + spaces + fmt.Sprint(a.Sessions)
		if used := humanize.Used(a.Windows); used != "" {
			line = fill(line, ansi.StringWidth(line)-len(fmt.Sprint(a.Sessions))+len("SESSIONS")) + spaces + used
		}
		lines = append(lines, p.cut(line))
	}
	return lines
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// accountWords returns the state of a limit in words.
func accountWords(a control.Account, now time.Time) (string, Colour) {
	words, tone := humanize.Account(a.State)
	if tone == humanize.Wait && a.ResetAt != nil && a.ResetAt.After(now) {
		words += ", lifts " + humanize.Until(*a.ResetAt, now)
	}
	return words, tones[tone]
}

// daemon shows the state of the daemon and its configuration.
func (p Page) daemon(d control.Daemon) []string {
	line := fmt.Sprintf("resumed %s, pid %d, up %s", sanitize.Line(d.Version), d.PID, humanize.Span(p.Now.Sub(d.StartedAt)))
	if d.Paused {
		line += p.Paint.In(Cyan, ", paused")
	}
	if d.DryRun {
		line += p.Paint.In(Cyan, ", dry run")
	}
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

func (p Page) cut(line string) string {
	if p.Width <= 0 {
		return line
	}
	return cut(line, p.Width)
}

func (p Page) wrap(text, indent string) []string {
	width := p.Width
	if width > 0 {
		width = max(10, width-len(indent))
	}
	lines := wrap(text, width)
	for i := range lines {
		lines[i] = indent + lines[i]
	}
	return lines
}
