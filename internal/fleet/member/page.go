package member

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"resumed/internal/control"
	"resumed/internal/fleet"
	"resumed/internal/fleet/natskv"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

// mostAccounts is how many accounts of a fleet are shown.
const mostAccounts = 1000

// Fleet returns the state of the fleet, and one page of its sessions. Other sessions are not read: the
// hosts publish how many they have.
func (c *Client) Fleet(ctx context.Context, after string, most int) (control.Fleet, error) {
	m := c.current()
	if m == nil {
		return control.Fleet{}, control.ErrNoFleet
	}
	if m.fleet.Standing().Alone {
		return control.Fleet{}, errors.New("the fleet does not answer")
	}
	accounts, err := m.store.Newest(ctx, fleet.Accounts)
	if err != nil {
		return control.Fleet{}, err
	}
	from, _ := strconv.ParseUint(after, 10, 64) // an invalid position means the beginning
	views, err := m.store.Page(ctx, fleet.View, from, most)
	if err != nil {
		return control.Fleet{}, err
	}
	return m.pageOf(from == 0, views, accounts, m.fleet.Hosts(), m.fleet.Missing()), nil
}

// pageOf converts what was read. Unreadable entries are counted, and do not affect the rest.
func (m *membership) pageOf(first bool, views, accounts natskv.Page, hosts, missing []fleet.Host) control.Fleet {
	page := control.Fleet{Version: 1, Sessions: []control.FleetSession{}, SessionsLeft: views.Left}
	if views.Next != 0 {
		page.Next = strconv.FormatUint(views.Next, 10)
	}
	slices.SortFunc(views.Entries, func(x, y fleet.Entry) int { return cmp.Compare(x.Key, y.Key) })
	lastSeen := make(map[string]time.Time) // of hosts with sessions, also former ones
	unreadable := make(map[string]int)
	for _, e := range views.Entries {
		host, _, _ := strings.Cut(e.Key, ".")
		var session view.Session
		if !fleet.GoodKey(e.Key) || fleet.Decode(e.Value, &session) != nil || !presentable(session) {
			if !fleet.GoodKey(host) {
				host = "unknown"
			}
			unreadable[host]++
			continue
		}
		lastSeen[host] = resume.Later(e.At, lastSeen[host])
		page.Sessions = append(page.Sessions, control.FleetSession{Host: host, Session: session})
	}
	for _, h := range missing {
		lastSeen[h.Host] = resume.Later(h.SeenAt, lastSeen[h.Host])
	}
	others := unreadable
	if !first { // the first page has counted these
		others = make(map[string]int)
	}
	for _, h := range hosts {
		if h.Unreadable {
			others[h.Host]++
		}
	}
	page.Hosts = hostsOf(hosts, lastSeen, m.fleet.GoneBefore())
	page.Accounts, page.AccountsLeft = m.accountsOf(accounts, usesOf(append(hosts, missing...)), others)
	page.Unreadable = []control.FleetUnreadable{}
	for _, name := range slices.Sorted(maps.Keys(unreadable)) {
		page.Unreadable = append(page.Unreadable, control.FleetUnreadable{Name: name, Entries: unreadable[name]})
	}
	return page
}

func presentable(v view.Session) bool {
	if v.ID == "" || !fleet.GoodName(v.Agent) || !v.Interrupted() {
		return false
	}
	if v.Account != "" && !fleet.GoodAccount(v.Account) || v.Provider != "" && !fleet.GoodName(v.Provider) {
		return false
	}
	text, err := json.Marshal(v)
	return err == nil && json.Unmarshal(text, new(view.Session)) == nil
}

func usesOf(hosts []fleet.Host) map[string]control.FleetAccount {
	all := make(map[string]control.FleetAccount)
	for _, h := range hosts {
		for account, n := range h.Shows {
			u := all[account]
			all[account] = control.FleetAccount{Sessions: u.Sessions + n, Hosts: u.Hosts + 1}
		}
	}
	return all
}

// hostsOf lists the hosts that are alive, and those that are gone but have sessions that are still
// shown. The list may be older than what a host has written last.
func hostsOf(listed []fleet.Host, lastSeen map[string]time.Time, goneBefore time.Time) []control.FleetHost {
	all := []control.FleetHost{}
	for _, h := range listed {
		state := "alive"
		switch {
		case h.Bye && !lastSeen[h.Host].After(resume.Later(h.SeenAt, goneBefore)):
			state = "gone"
		case h.Alone:
			state = "alone"
		}
		delete(lastSeen, h.Host)
		all = append(all, control.FleetHost{Name: h.Host, SeenAt: h.SeenAt.UTC(), State: state, SkewSeconds: h.Skew.Seconds(), Version: h.Version})
	}
	for name, at := range lastSeen {
		all = append(all, control.FleetHost{Name: name, SeenAt: at.UTC(), State: map[bool]string{true: "alive", false: "gone"}[at.After(goneBefore)]})
	}
	slices.SortFunc(all, func(x, y control.FleetHost) int { return cmp.Compare(x.Name, y.Name) })
	return all
}

// accountsOf lists accounts: those that were read, those of this host, and those of which hosts have
// sessions. It counts those beyond mostAccounts.
func (m *membership) accountsOf(entries natskv.Page, uses map[string]control.FleetAccount, unreadable map[string]int) (all []control.FleetAccount, left int) {
	accounts := m.fleet.Known()
	maps.DeleteFunc(accounts, func(_ string, a fleet.Account) bool { return a.State == "" })
	left = entries.Left
	for _, e := range slices.Backward(entries.Entries) {
		_, ours := accounts[e.Key]
		a, err := fleet.ReadAccount(e)
		switch {
		case strings.HasPrefix(e.Key, fleet.OwnerKey("")):
		case err != nil || !fleet.GoodKey(e.Key):
			unreadable["accounts"]++
		case !ours && len(accounts) >= mostAccounts:
			left++
		default:
			accounts[e.Key] = a
		}
	}
	for id := range uses {
		_, known := accounts[id]
		switch {
		case id == "" || known:
		case len(accounts) >= mostAccounts:
			left++
		default:
			accounts[id] = fleet.Account{State: resume.Closed}
		}
	}
	all = []control.FleetAccount{}
	for id, a := range accounts {
		shown := uses[id]
		shown.Name, shown.ID, shown.State, shown.By = m.nameOf(id), id, string(a.State), a.By
		if !a.Reset.IsZero() && a.State != resume.Closed {
			shown.ResetAt = new(a.Reset.UTC())
		}
		if a.Probe != nil && a.State == resume.HalfOpen {
			shown.Probe = &control.FleetProbe{Host: a.Probe.Host}
		}
		all = append(all, shown)
	}
	slices.SortFunc(all, func(x, y control.FleetAccount) int { return cmp.Compare(x.ID, y.ID) })
	return all, left
}

// nameOf returns the name of an account for people: its name on this host, or the beginning of its key.
func (m *membership) nameOf(key string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return cmp.Or(m.names[key], fmt.Sprintf("%.8s", key))
}

// ForgetAccount marks an account as not limited for all hosts.
func (c *Client) ForgetAccount(ctx context.Context, name string) error {
	m := c.current()
	if m == nil {
		return control.ErrNoFleet
	}
	page, err := c.Fleet(ctx, "", 1)
	if err != nil {
		return err
	}
	found := slices.DeleteFunc(page.Accounts, func(a control.FleetAccount) bool { return a.Name != name && !strings.HasPrefix(a.ID, name) })
	if len(found) != 1 {
		return fmt.Errorf("no account of the fleet is called %q, or several are: resumed status --fleet lists them", name)
	}
	if err := m.fleet.Forget(ctx, found[0].ID); err != nil {
		return err
	}
	c.opts.Log.Info("ordered by a person", "order", "forget", "account", found[0].Name)
	return c.opts.Engine.RecheckGate(ctx)
}
