package webui

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"resumed/internal/control"
	"resumed/internal/humanize"
	"resumed/internal/sanitize"
)

const (
	// fleetRows is how many sessions of a fleet are sent at a time: there may be a hundred
	// thousand.
	fleetRows = 500

	// A search reads that many sessions at a time, and that often at most.
	fleetSearched = 1000
	mostSearched  = 100
)

// fleetDocument is what the page gets of the fleet.
type fleetDocument struct {
	Line     string         `json:"line"` // this machine and the fleet in one line
	Tone     string         `json:"tone"`
	Hosts    []fleetHost    `json:"hosts"`
	Accounts []fleetAccount `json:"accounts"`
	Sessions []fleetSession `json:"sessions"`
	Next     string         `json:"next,omitempty"` // where the next page begins
}

type fleetHost struct {
	control.FleetHost
	Tone   humanize.Tone `json:"tone"`
	Skewed bool          `json:"skewed"`
}

// fleetAccount is an account that machines of the fleet share.
type fleetAccount struct {
	Name    string     `json:"name"`
	State   string     `json:"state"`
	Tone    string     `json:"tone"`
	ResetAt *time.Time `json:"reset_at,omitempty"`
	Words   string     `json:"words"` // which machine met the limit, which one tries, and how many sessions wait
}

// fleetSession is an interrupted session of any machine.
type fleetSession struct {
	Host string `json:"host"`
	Away bool   `json:"away"` // orders go to another host
	row
}

func (p *Page) fleet(r *http.Request) (any, error) {
	status, err := p.backend.Status(r.Context(), false)
	if err != nil {
		return nil, err
	}
	query := r.URL.Query()
	found, err := p.fleetRows(r.Context(), query.Get("after"), strings.Fields(strings.ToLower(query.Get("find"))))
	if errors.Is(err, control.ErrNoFleet) {
		found, err = control.Fleet{}, nil // there is none, or it is joining
	}
	return showFleet(*cmp.Or(status.Daemon.Fleet, &control.DaemonFleet{}), found), err
}

// fleetRows returns the next sessions that have all the words, and whatever else there is to know of the
// fleet.
func (p *Page) fleetRows(ctx context.Context, after string, words []string) (control.Fleet, error) {
	if len(words) == 0 {
		return p.backend.Fleet(ctx, after, fleetRows)
	}
	found, err := p.backend.Fleet(ctx, after, fleetSearched)
	page := found
	found.Sessions = nil
	for searched := 1; err == nil; searched++ {
		for _, s := range page.Sessions {
			if hasWords(s, words) {
				found.Sessions = append(found.Sessions, s)
			}
		}
		found.Next = page.Next
		if page.Next == "" || len(found.Sessions) >= fleetRows || searched == mostSearched {
			break
		}
		page, err = p.backend.Fleet(ctx, page.Next, fleetSearched)
	}
	return found, err
}

func hasWords(s control.FleetSession, words []string) bool {
	state, _ := humanize.State(s.Session)
	text := strings.ToLower(strings.Join([]string{s.Host, s.Name, s.ID, s.Agent, s.Account, s.Cwd, state, s.Reason}, "\n"))
	return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, word) })
}

func showFleet(here control.DaemonFleet, f control.Fleet) fleetDocument {
	d := fleetDocument{
		Line: here.State + ", as " + here.Name + " with " + humanize.Count(here.Hosts, "host"), Tone: string(humanize.Good), Next: f.Next,
		Hosts: []fleetHost{}, Accounts: []fleetAccount{}, Sessions: []fleetSession{},
	}
	if here.State != "connected" {
		d.Tone = string(humanize.Wait)
	}
	if here.Why != "" {
		d.Line += ": " + sanitize.Line(here.Why)
	}
	for _, u := range f.Unreadable {
		d.Line += "; " + sanitize.Line(u.String())
	}
	d.Line = sanitize.Cut(d.Line, sanitize.Sentence)
	for _, h := range f.Hosts {
		h.Name, h.Version = sanitize.Line(h.Name), sanitize.Line(h.Version)
		tone := cmp.Or(map[string]humanize.Tone{"gone": humanize.Bad, "alone": humanize.Wait}[h.State], humanize.Good)
		d.Hosts = append(d.Hosts, fleetHost{h, tone, h.Skewed()})
	}
	for _, a := range f.Accounts {
		d.Accounts = append(d.Accounts, showFleetAccount(a))
	}
	for _, s := range f.Sessions {
		d.Sessions = append(d.Sessions, fleetSession{sanitize.Line(s.Host), s.Host != here.Name, showSession(s.Session)})
	}
	return d
}

func showFleetAccount(a control.FleetAccount) fleetAccount {
	state, tone := humanize.Account(a.State)
	shown := fleetAccount{Name: sanitize.Line(a.Name), State: state, Tone: string(tone), ResetAt: a.ResetAt}
	if a.By != "" && a.State != "closed" {
		shown.Words = "as " + sanitize.Line(a.By) + " was told; "
	}
	if a.Probe != nil {
		shown.Words += sanitize.Line(a.Probe.Host) + " tries; "
	}
	shown.Words += humanize.Count(a.Sessions, "interrupted session") + " on " + humanize.Count(a.Hosts, "host")
	return shown
}
