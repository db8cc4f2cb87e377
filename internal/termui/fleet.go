package termui

import (
	"fmt"

	"resumed/internal/control"
	"resumed/internal/humanize"
	"resumed/internal/sanitize"
)

// Fleet shows the sessions of all hosts, their accounts and the hosts themselves.
func (p Page) Fleet(f control.Fleet) string {
	return p.fleet(f, "resumed status --fleet --json lists them all")
}

// fleet is Fleet with a text that says where to see more.
func (p Page) fleet(f control.Fleet, where string) string {
	out := &Printer{Page: p}
	say := func(format string, args ...any) { out.Line("%s", sanitize.Line(fmt.Sprintf(format, args...))) }
	tell := func(text string) { out.Wrapped(sanitize.Line(text)) }
	if len(f.Sessions) == 0 {
		say("No session of the fleet is interrupted.")
	}
	for _, s := range f.Sessions {
		say("%s/%s  %s  %s", s.Host, s.Name, s.Agent, humanize.StatePhrase(s.Session, p.Now))
	}
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
