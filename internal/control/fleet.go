package control

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"resumed/internal/resume/view"
)

// ErrNoFleet says that the daemon is in no fleet.
var ErrNoFleet = errors.New("this host is in no fleet")

// DaemonFleet is the state of the daemon in its fleet.
type DaemonFleet struct {
	State string    `json:"state"` // connected | alone
	Why   string    `json:"why,omitempty"`
	URL   string    `json:"url"`
	Name  string    `json:"name"`  // of this host
	Hosts int       `json:"hosts"` // that were last seen, including this one
	Since time.Time `json:"since"`
}

// Fleet is the state of all hosts of a fleet, and a page of their interrupted sessions.
type Fleet struct {
	Version  int            `json:"version"`
	Hosts    []FleetHost    `json:"hosts"`
	Accounts []FleetAccount `json:"accounts"`
	Sessions []FleetSession `json:"sessions"`
	Next     string         `json:"next,omitempty"` // where the next page begins; empty: this is the last

	SessionsLeft int               `json:"sessions_left,omitempty"` // on the pages that follow
	AccountsLeft int               `json:"accounts_left,omitempty"` // that are not listed
	Unreadable   []FleetUnreadable `json:"unreadable"`              // never null; the first page also has entries that are not sessions
}

// Append adds the next page.
func (f *Fleet) Append(next Fleet) {
	f.Sessions, f.Next, f.SessionsLeft = latest(append(f.Sessions, next.Sessions...)), next.Next, next.SessionsLeft
	for _, u := range next.Unreadable {
		if i := slices.IndexFunc(f.Unreadable, func(known FleetUnreadable) bool { return known.Name == u.Name }); i >= 0 {
			f.Unreadable[i].Entries += u.Entries
		} else {
			f.Unreadable = append(f.Unreadable, u)
		}
	}
}

// latest keeps the last read version of each session: a session that changes while pages are
// read is on a later page again.
func latest(sessions []FleetSession) []FleetSession {
	at := make(map[[3]string]int)
	found := sessions[:0]
	for _, s := range sessions {
		key := [3]string{s.Host, s.Agent, s.ID}
		if i, known := at[key]; known {
			found[i] = s
			continue
		}
		at[key] = len(found)
		found = append(found, s)
	}
	return found
}

// FleetUnreadable counts the entries of a host, or of accounts, that cannot be read.
type FleetUnreadable struct {
	Name    string `json:"name"` // of the host, or "accounts"
	Entries int    `json:"entries"`
}

func (u FleetUnreadable) String() string {
	if u.Entries == 1 {
		return u.Name + ": one entry could not be read"
	}
	return fmt.Sprintf("%s: %d entries could not be read", u.Name, u.Entries)
}

// FleetHost is one host.
type FleetHost struct {
	Name        string    `json:"name"`
	SeenAt      time.Time `json:"seen_at"`
	State       string    `json:"state"` // alive | gone | alone
	SkewSeconds float64   `json:"skew_seconds"`
	Version     string    `json:"version,omitempty"`
}

// Skewed reports whether its clock is off by so much that people should know.
func (h FleetHost) Skewed() bool {
	const shown = 30
	return h.SkewSeconds > shown || h.SkewSeconds < -shown
}

// FleetAccount is an allowance that hosts share.
type FleetAccount struct {
	Name     string      `json:"name"` // the name on this host, else the beginning of its id
	ID       string      `json:"id"`
	State    string      `json:"state"` // closed | open | half_open
	ResetAt  *time.Time  `json:"reset_at"`
	By       string      `json:"by,omitempty"` // the host that was refused
	Probe    *FleetProbe `json:"probe"`
	Hosts    int         `json:"hosts"` // that have interrupted sessions of it
	Sessions int         `json:"sessions"`
}

// FleetProbe is the host that tests whether a limit is over.
type FleetProbe struct {
	Host string `json:"host"`
}

// FleetSession is a session of some host.
type FleetSession struct {
	Host string `json:"host"`
	view.Session
}

// FleetBackend serves requests about a fleet; its error is ErrNoFleet if there is none.
type FleetBackend interface {
	// Fleet returns a page of at most that many sessions. after is the Next of the page
	// before.
	Fleet(ctx context.Context, after string, most int) (Fleet, error)

	// ForgetAccount makes an account count as free for all hosts.
	ForgetAccount(ctx context.Context, name string) error

	// DoAway makes another host execute an order.
	DoAway(ctx context.Context, host, session string, order Action) (view.Session, error)
}
