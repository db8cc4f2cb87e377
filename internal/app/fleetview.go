package app

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"resumed/internal/config"
	"resumed/internal/control"
	"resumed/internal/fleet"
	"resumed/internal/fleet/natskv"
	"resumed/internal/resume"
)

// seen is what other hosts see of a session.
type seen struct {
	Account string      `json:"account"` // its key in the fleet
	Session resume.View `json:"session"`
}

// viewer shows the interrupted sessions of this host to the others.
type viewer struct {
	member   *member
	engine   *resume.Engine
	settings *inForce
	noted    chan struct{}
	counts   atomic.Pointer[map[string]int] // of what is shown, by account

	shown map[string]showing // owned by run
}

// showing is what was shown last of a session.
type showing struct {
	text string
	rev  uint64
	at   time.Time
}

const (
	// viewPause lies between two looks at what changed.
	viewPause = 2 * time.Second

	// viewAgain is when what did not change is shown again, long before it is forgotten.
	viewAgain = fleet.ViewTTL / 4
)

func newViewer(m *member, engine *resume.Engine, settings *inForce) *viewer {
	v := &viewer{member: m, engine: engine, settings: settings, noted: make(chan struct{}, 1), shown: make(map[string]showing)}
	v.counts.Store(&map[string]int{})
	return v
}

// note says that something changed.
func (v *viewer) note() {
	select {
	case v.noted <- struct{}{}:
	default:
	}
}

func (v *viewer) run(ctx context.Context) {
	v.note()
	v.adopt(ctx)
	for {
		select {
		case <-ctx.Done():
			return
		case <-v.noted:
		case <-time.After(time.Minute):
		}
		if v.show(ctx) != nil {
			v.note() // again, soon
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(viewPause):
		}
	}
}

// adopt learns what an earlier daemon of this host has shown, so that it is taken down.
func (v *viewer) adopt(ctx context.Context) {
	old, err := v.member.store.List(ctx, fleet.View, v.member.host+".")
	if err != nil {
		return // it is forgotten by itself
	}
	for _, e := range old {
		v.shown[e.Key] = showing{rev: e.Rev}
	}
}

// show tells what is new.
func (v *viewer) show(ctx context.Context) error {
	sessions, err := v.engine.Kept(ctx)
	if err != nil {
		return err
	}
	now, here, counts := v.settings.Load(), make(map[string]bool), make(map[string]int)
	for _, s := range sessions {
		if !s.Interrupted() {
			continue
		}
		key := v.member.host + "." + unfit.ReplaceAllString(s.Key.Agent, "_") + "." + shortHash(s.Key.ID)
		here[key] = true
		account := v.member.account(now, *s)
		counts[account]++
		text, err := json.Marshal(seen{account, shared(now.view(*s), now.config.Fleet.Share)})
		if err != nil {
			return err
		}
		if was := v.shown[key]; was.text == string(text) && time.Since(was.at) < viewAgain {
			continue
		}
		if err := v.put(ctx, key, text); err != nil {
			return err
		}
	}
	v.counts.Store(&counts)
	for key, was := range v.shown {
		if here[key] {
			continue
		}
		if err := v.member.store.Delete(ctx, fleet.View, key, was.rev); err != nil && !errors.Is(err, fleet.ErrConflict) {
			return err
		}
		delete(v.shown, key)
	}
	return nil
}

// put writes a key that is this host's alone: whatever stands there is older.
func (v *viewer) put(ctx context.Context, key string, text []byte) error {
	store, was := v.member.store, v.shown[key]
	rev, err := store.Update(ctx, fleet.View, key, text, was.rev, 0)
	if errors.Is(err, fleet.ErrConflict) || was.rev == 0 {
		if rev, err = store.Create(ctx, fleet.View, key, text, 0); errors.Is(err, fleet.ErrConflict) {
			var e fleet.Entry
			if e, err = store.Get(ctx, fleet.View, key); err == nil {
				rev, err = store.Update(ctx, fleet.View, key, text, e.Rev, 0)
			}
		}
	}
	if err == nil {
		v.shown[key] = showing{string(text), rev, time.Now()}
	}
	return err
}

func shortHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:12])
}

// shared leaves of a session what its host gives away: without share = "texts" nothing that
// somebody wrote, or was started with.
func shared(v resume.View, share string) resume.View {
	v.Plan, v.Past = nil, nil
	if share == config.ShareTexts {
		return v
	}
	v.Text, v.Reason, v.Unreached, v.Transcript, v.Program = "", "", "", "", ""
	v.Started, v.Carried, v.Attempts = resume.StartView{Argv: []string{}, Env: []string{}}, resume.CarriedView{LeftOut: []string{}}, []resume.AttemptView{}
	if v.Owner != nil {
		v.Owner = &resume.Owner{PID: v.Owner.PID, Kind: v.Owner.Kind}
	}
	return v
}

// fleetPage returns how the fleet stands, and a page of its sessions. Of them no more is read:
// how many there are the hosts say themselves.
func (c *crew) fleetPage(ctx context.Context, after string, most int) (control.Fleet, error) {
	m := c.member.Load()
	if m == nil {
		return control.Fleet{}, control.ErrNoFleet
	}
	if m.fleet.Standing().Alone {
		return control.Fleet{}, errAlone
	}
	accounts, err := m.store.List(ctx, fleet.Accounts, "")
	if err != nil {
		return control.Fleet{}, err
	}
	from, _ := strconv.ParseUint(after, 10, 64) // what is no page's end is the beginning
	entries, more, err := m.store.Page(ctx, fleet.View, from, most)
	if err != nil {
		return control.Fleet{}, err
	}
	page := control.Fleet{Version: 1, Sessions: []control.FleetSession{}}
	if more {
		page.Next = strconv.FormatUint(entries[len(entries)-1].Rev, 10)
	}
	slices.SortFunc(entries, func(x, y fleet.Entry) int { return cmp.Compare(x.Key, y.Key) })
	there := make(map[string]time.Time) // hosts that show sessions, and when they last did
	for _, e := range entries {
		var s seen
		host, _, _ := strings.Cut(e.Key, ".")
		if json.Unmarshal(e.Value, &s) != nil {
			continue
		}
		there[host] = later(there[host], e.At)
		page.Sessions = append(page.Sessions, control.FleetSession{Host: host, View: s.Session})
	}
	hosts, missing := m.fleet.Hosts(), m.fleet.Missing()
	for _, h := range missing {
		there[h.Host] = later(there[h.Host], h.SeenAt)
	}
	page.Hosts = hostsOf(hosts, there)
	page.Accounts = m.accountsOf(accounts, usesOf(append(hosts, missing...)))
	return page, nil
}

// use is how many interrupted sessions of an account there are, and on how many hosts.
type use struct{ sessions, hosts int }

func usesOf(hosts []fleet.Host) map[string]use {
	all := make(map[string]use)
	for _, h := range hosts {
		for account, n := range h.Shows {
			u := all[account]
			all[account] = use{u.sessions + n, u.hosts + 1}
		}
	}
	return all
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// hostsOf lists who is there, and who is not any longer and shows sessions still.
func hostsOf(alive []fleet.Host, there map[string]time.Time) []control.FleetHost {
	all := []control.FleetHost{}
	for _, h := range alive {
		delete(there, h.Host)
		state := "alive"
		switch {
		case h.Bye:
			state = "gone"
		case h.Alone:
			state = "alone"
		}
		all = append(all, control.FleetHost{Name: h.Host, SeenAt: h.SeenAt.UTC(), State: state, SkewSeconds: h.Skew.Seconds(), Version: h.Version})
	}
	for name, at := range there {
		all = append(all, control.FleetHost{Name: name, SeenAt: at.UTC(), State: "gone"})
	}
	slices.SortFunc(all, func(x, y control.FleetHost) int { return cmp.Compare(x.Name, y.Name) })
	return all
}

func (m *member) accountsOf(entries []fleet.Entry, uses map[string]use) []control.FleetAccount {
	all := []control.FleetAccount{}
	known := make(map[string]bool)
	for _, e := range entries {
		var a fleet.Account
		if strings.HasPrefix(e.Key, fleet.OwnerKey("")) || json.Unmarshal(e.Value, &a) != nil {
			continue
		}
		known[e.Key] = true
		shown := control.FleetAccount{Name: m.nameOf(e.Key), ID: e.Key, State: string(a.State), By: a.By}
		if !a.Reset.IsZero() && a.State != resume.Closed {
			shown.ResetAt = new(a.Reset.UTC())
		}
		if a.Probe != nil && a.State == resume.HalfOpen {
			shown.Probe = &control.FleetProbe{Host: a.Probe.Host}
		}
		shown.Hosts, shown.Sessions = uses[e.Key].hosts, uses[e.Key].sessions
		all = append(all, shown)
	}
	for key, u := range uses {
		if key != "" && !known[key] {
			all = append(all, control.FleetAccount{Name: m.nameOf(key), ID: key, State: string(resume.Closed), Hosts: u.hosts, Sessions: u.sessions})
		}
	}
	slices.SortFunc(all, func(x, y control.FleetAccount) int { return cmp.Compare(x.ID, y.ID) })
	return all
}

// nameOf returns what people call an account: by its name on this host, else by the beginning
// of its key.
func (m *member) nameOf(key string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return cmp.Or(m.names[key], fmt.Sprintf("%.8s", key))
}

// forget has an account count as free for all hosts.
func (c *crew) forget(ctx context.Context, name string) error {
	m := c.member.Load()
	if m == nil {
		return control.ErrNoFleet
	}
	page, err := c.fleetPage(ctx, "", 1)
	if err != nil {
		return err
	}
	var found []control.FleetAccount
	for _, a := range page.Accounts {
		if a.Name == name || strings.HasPrefix(a.ID, name) {
			found = append(found, a)
		}
	}
	if len(found) != 1 {
		return errNoAccount(name)
	}
	if err := m.fleet.Forget(ctx, found[0].ID); err != nil {
		return err
	}
	c.opts.Log.Info("ordered by a person", "order", "forget", "account", found[0].Name)
	return c.engine.Stir(ctx)
}

// away is an order for a session of another host, on its way.
type away struct {
	Session string        `json:"session"`
	Order   control.Order `json:"order"`
}

// answer is what became of it.
type answer struct {
	Error   string       `json:"error,omitempty"`
	Unknown bool         `json:"unknown,omitempty"` // there is no such session
	Session *resume.View `json:"session,omitempty"`
}

// do has another host carry out an order.
func (c *crew) do(ctx context.Context, host, session string, order control.Order) (resume.View, error) {
	m := c.member.Load()
	if m == nil {
		return resume.View{}, control.ErrNoFleet
	}
	text, err := json.Marshal(away{session, order})
	if err != nil {
		return resume.View{}, err
	}
	reply, err := m.store.Order(ctx, host, text)
	if errors.Is(err, natskv.ErrNobody) {
		return resume.View{}, fmt.Errorf("host %s: %w", host, err)
	}
	if err != nil {
		return resume.View{}, err
	}
	var a answer
	if err := json.Unmarshal(reply, &a); err != nil {
		return resume.View{}, fmt.Errorf("read what %s answers: %w", host, err)
	}
	switch {
	case a.Unknown:
		return resume.View{}, fmt.Errorf("on %s: %w", host, resume.ErrNoSession)
	case a.Error != "" || a.Session == nil:
		return resume.View{}, fmt.Errorf("on %s: %s", host, cmp.Or(a.Error, "no answer"))
	}
	return *a.Session, nil
}

// obey carries out what another host asks for. It may ask for what any person of this host
// may, and what protects a session still does.
func (c *crew) obey(ctx context.Context, _ string, text []byte) []byte {
	var (
		asked away
		says  answer
	)
	err := json.Unmarshal(text, &asked)
	if err == nil {
		var after resume.View
		if after, err = c.order(ctx, asked.Session, asked.Order); err == nil {
			says.Session = new(shared(after, c.settings.Load().config.Fleet.Share))
		}
	}
	if err != nil {
		says.Error, says.Unknown = err.Error(), errors.Is(err, resume.ErrNoSession)
	}
	reply, err := json.Marshal(says)
	if err != nil {
		return []byte("{}")
	}
	return reply
}
