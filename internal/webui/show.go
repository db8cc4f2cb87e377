package webui

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"resumed/internal/control"
	"resumed/internal/humanize"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
	"resumed/internal/sanitize"
	"resumed/internal/usage"
	"resumed/internal/wake"
)

// document is what the page gets: words that are shown as they are, and times, which the page
// counts down itself. Times within reasons are stamps: the page shows them in the reader's
// time zone.
type document struct {
	Now      time.Time `json:"now"`
	Whole    bool      `json:"whole"` // rows has all sessions: drop the others
	Rows     []row     `json:"rows"`
	Gone     []string  `json:"gone,omitempty"` // keys
	Accounts []account `json:"accounts"`
	Daemon   daemon    `json:"daemon"`
}

type row struct {
	Key     string     `json:"key"`
	Agent   string     `json:"agent"` // as the daemon knows it, for orders
	ID      string     `json:"id"`    // as above
	Name    string     `json:"name"`
	Project string     `json:"project"`
	By      string     `json:"by"` // the agent, in words
	Account string     `json:"account"`
	Cwd     string     `json:"cwd"`
	State   string     `json:"state"` // in a word
	Tone    string     `json:"tone"`  // bad | wait | busy | good | still
	Need    int        `json:"need"`  // what it needs, the most urgent first
	Rank    int        `json:"rank"`  // order among sessions with the same need
	Cause   string     `json:"cause,omitempty"`
	Group   string     `json:"group,omitempty"` // title of its group
	Why     string     `json:"why"`
	Asked   string     `json:"asked,omitempty"`  // what a person is asked for, in words
	Remedy  string     `json:"remedy,omitempty"` // what a person can do
	Copy    string     `json:"copy,omitempty"`   // the command in it
	Stopped *time.Time `json:"stopped_at,omitempty"`
	Owner   string     `json:"owner,omitempty"`
	NextAt  *time.Time `json:"next_at,omitempty"`
	Late    string     `json:"late,omitempty"` // shown when next_at has passed
	Tries   string     `json:"tries"`
	Paused  bool       `json:"paused,omitempty"`
	Idle    bool       `json:"idle,omitempty"` // nothing to retry or to cancel
	Undo    bool       `json:"undo,omitempty"` // but its cancel to undo, by a retry
	Running bool       `json:"running,omitempty"`
	Retry   string     `json:"retry,omitempty"` // the text of the button, if that is a person's word
}

// account is a limit that sessions share.
type account struct {
	Name     string     `json:"name"`
	State    string     `json:"state"`
	Tone     string     `json:"tone"`
	ResetAt  *time.Time `json:"reset_at,omitempty"`
	Sessions string     `json:"sessions"`
	Gauges   []gauge    `json:"gauges"`
}

// gauge is how much of an allowance is used.
type gauge struct {
	usage.Window
	Name    string        `json:"name"`
	Percent float64       `json:"percent"`
	Words   string        `json:"words"`
	Tone    humanize.Tone `json:"tone"`
}

type daemon struct {
	Line        string    `json:"line"`
	StartedAt   time.Time `json:"started_at"`
	Paused      bool      `json:"paused"`
	DryRun      bool      `json:"dry_run"`
	Config      string    `json:"config"`
	LoadedAt    time.Time `json:"loaded_at"`
	ConfigError string    `json:"config_error,omitempty"`
	Notes       []note    `json:"notes"`           // problems, and notices that could not be delivered
	Fleet       bool      `json:"fleet,omitempty"` // there is more to ask for
	Queue       int       `json:"queue,omitempty"` // tasks that are not started yet

	Agents []control.Watched `json:"agents"` // that have watched sessions
}

type note struct {
	Tone string `json:"tone"`
	Text string `json:"text"`
}

func show(u control.Update) document {
	d := document{
		Now:      u.Now,
		Whole:    u.Whole,
		Rows:     showSessions(u.Sessions),
		Accounts: make([]account, 0, len(u.Accounts)),
		Daemon:   showDaemon(u.Daemon),
	}
	for _, key := range u.Gone {
		d.Gone = append(d.Gone, key.String())
	}
	for _, a := range u.Accounts {
		d.Accounts = append(d.Accounts, showAccount(a))
	}
	return d
}

func showSessions(sessions []view.Session) []row {
	rows := make([]row, 0, len(sessions))
	for _, s := range sessions {
		rows = append(rows, showSession(s))
	}
	return rows
}

func showSession(s view.Session) row {
	state, tone := humanize.State(s)
	r := row{
		Key: s.Key().String(), Agent: s.Agent, ID: s.ID,
		Name:    sanitize.Line(cmp.Or(s.Name, s.ID)),
		Project: humanize.Project(s),
		By:      sanitize.Line(s.Agent),
		Account: sanitize.Line(s.AccountKey().String()),
		Cwd:     sanitize.Line(s.Cwd),
		State:   state, Tone: string(tone),
		Need: int(humanize.Needs(s)), Rank: humanize.Urgency(s.State), Cause: humanize.Cause(s), Group: groupOf(s).Cause,
		Why:     sanitize.Line(s.Reason),
		Stopped: cmp.Or(s.StoppedAt, s.LimitedAt),
		NextAt:  nextAt(s),
		Tries:   humanize.Tries(s),
		Paused:  s.Paused,
		Idle:    s.State == resume.Watching,
		Undo:    s.Cancelled,
		Running: s.State == resume.Resuming || s.State == resume.Settling,
	}
	switch humanize.Need(r.Need) {
	case humanize.You:
		r.Asked, r.Remedy = humanize.Asked(s), sanitize.Line(s.Remedy)
		r.Copy = humanize.CommandIn(r.Remedy, r.Why)
	case humanize.Nothing:
		r.State, tone = humanize.Ended(s)
		r.Tone = string(tone)
	default:
	}
	if s.Owner != nil {
		r.Owner = "held by " + humanize.Owner(s)
	}
	if len(view.WithoutStart([]view.Session{s})) > 0 {
		r.Retry = humanize.ContinueUnseen
	}
	if s.Held { // else the page has the usual words
		r.Late = humanize.Late(s)
	}
	return r
}

func nextAt(s view.Session) *time.Time {
	if s.State != resume.Waiting {
		return nil
	}
	return s.NextAt
}

func showAccount(a control.Account) account {
	state, tone := humanize.Account(a.State)
	if words := usedUp(a.Windows, time.Now()); words != "" && tone == humanize.Good {
		state, tone = words, humanize.Wait // the next request is refused, although none was yet
	}
	shown := account{Name: sanitize.Line(a.String()), State: state, Tone: string(tone), Sessions: humanize.Count(a.Sessions, "session"), Gauges: []gauge{}}
	if tone == humanize.Wait {
		shown.ResetAt = a.ResetAt
	}
	for _, w := range a.Windows {
		shown.Gauges = append(shown.Gauges, showGauge(w))
	}
	return shown
}

// usedUp returns which allowances of an account are used up and have not reset yet.
func usedUp(windows []usage.Window, now time.Time) string {
	var names []string
	for _, w := range windows {
		if w.Used >= 100 && w.ResetsAt.After(now) {
			names = append(names, humanize.Window(w.Kind))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return strings.Join(names, ", ") + " used up"
}

func showGauge(w usage.Window) gauge {
	percent, tone := min(max(w.Used, 0), 100), humanize.Good
	switch {
	case percent >= 100:
		tone = humanize.Bad
	case percent >= 80:
		tone = humanize.Wait
	}
	return gauge{w, humanize.Window(w.Kind), percent, humanize.Percent(w.Used), tone}
}

func showDaemon(d control.Daemon) daemon {
	shown := daemon{
		Line:      fmt.Sprintf("resumed %s, pid %d", sanitize.Line(d.Version), d.PID),
		StartedAt: d.StartedAt,
		Paused:    d.Paused,
		DryRun:    d.DryRun,
		Config:    sanitize.Line(d.Config.Path),
		LoadedAt:  d.Config.LoadedAt,
		Fleet:     d.Fleet != nil,
		Queue:     d.Queue.Queued + d.Queue.Starting + d.Queue.Failed,
		Notes:     []note{},
		Agents:    []control.Watched{},
	}
	if d.Config.Error != nil {
		shown.ConfigError = sanitize.Text(*d.Config.Error)
	}
	for _, a := range d.Agents {
		a.Name = sanitize.Line(a.Name)
		shown.Agents = append(shown.Agents, a)
	}
	if d.Queue.Failed > 0 {
		text := humanize.Count(d.Queue.Failed, "task") + " of the queue failed"
		shown.Notes = append(shown.Notes, note{string(humanize.Bad), text})
	}
	for _, ch := range d.Notices.Channels {
		if text := humanize.Undelivered(ch.Name, ch.Pending, ch.Failed, ch.LastError); text != "" {
			shown.Notes = append(shown.Notes, note{string(humanize.Wait), text})
		}
	}
	for _, problem := range d.Problems {
		shown.Notes = append(shown.Notes, note{string(humanize.Bad), sanitize.Line(problem)})
	}
	return shown
}

const (
	// outlineFrom is how many sessions are sent at once. If there are more, the page gets their
	// groups first: to send and read ten thousand rows takes long.
	outlineFrom = 500

	// smallGroup is the most sessions of a group that the page shows open. Their rows are sent
	// with the outline.
	smallGroup = 5

	// drawTime is the pause between the outline and the rows. It leaves the processors to the
	// browser, which draws the outline meanwhile.
	drawTime = 150 * time.Millisecond
)

// outline comes before the rows if there are many. It is all that the page draws until a person
// opens a group or searches.
type outline struct {
	document         // its rows are those of the small groups
	Groups   []group `json:"groups"`
}

// group is what the sessions of one group have in common.
type group struct {
	Need    int    `json:"need"`
	Cause   string `json:"cause"`
	Account string `json:"account"`

	Many   int        `json:"many"`
	NextAt *time.Time `json:"next_at,omitempty"` // the earliest of its sessions
}

type part struct {
	Rows []row `json:"rows"`
	More bool  `json:"more"` // others follow
}

// groupOf returns the group of a session. Sessions that are being resumed or paused are not divided by
// cause, and those that are not stopped not by account.
func groupOf(s view.Session) group {
	g := group{Need: int(humanize.Needs(s))}
	switch humanize.Need(g.Need) {
	case humanize.You:
		g.Cause = causeForYou(s)
	case humanize.Time:
		g.Cause = humanize.Cause(s)
	case humanize.Nothing:
		g.Cause, _ = humanize.Ended(s)
		return g
	default:
		return g
	}
	g.Account = sanitize.Line(s.AccountKey().String())
	return g
}

// causeForYou returns the title of a group that needs a person: what they are asked for, or why the
// session is stopped if that says more.
func causeForYou(s view.Session) string {
	if s.Needs != nil && !slices.Contains([]string{"sign_in", "billing", "retry"}, *s.Needs) {
		return humanize.Asked(s)
	}
	state, _ := humanize.State(s)
	if cause := humanize.Cause(s); cause != "" {
		return state + ": " + cause
	}
	return state
}

func makeOutline(sessions []view.Session) (groups []group, few []row) {
	places := map[group]int{} // index into groups
	where := make([]int, len(sessions))
	for i, s := range sessions {
		name := groupOf(s)
		at, known := places[name]
		if !known {
			at = len(groups)
			places[name] = at
			groups = append(groups, name)
		}
		where[i] = at
		g := &groups[at]
		g.Many++
		if next := nextAt(s); next != nil && (g.NextAt == nil || next.Before(*g.NextAt)) {
			g.NextAt = next
		}
	}
	few = []row{}
	for i, s := range sessions {
		if groups[where[i]].Many <= smallGroup && len(few) < outlineFrom {
			few = append(few, showSession(s))
		}
	}
	return groups, few
}

// events returns the events for an update: one, or for many sessions an outline and then the rows.
// Each is made when it is sent, so that the first does not wait for the last.
func events(ctx context.Context, u control.Update) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		sessions := u.Sessions
		if !u.Whole || len(sessions) <= outlineFrom {
			yield(event(show(u)))
			return
		}
		u.Sessions = nil
		first := outline{document: show(u)}
		first.Groups, first.Rows = makeOutline(sessions)
		if !yield(event(first)) || !wake.Sleep(ctx, drawTime) {
			return
		}
		for some := range slices.Chunk(sessions, outlineFrom) {
			last := &some[len(some)-1] == &sessions[len(sessions)-1]
			if !yield(event(part{Rows: showSessions(some), More: !last})) {
				return
			}
		}
	}
}

func event(document any) []byte {
	data, err := json.Marshal(document)
	if err != nil {
		panic(err) // cannot happen: text, numbers and times
	}
	return append(append([]byte("data: "), data...), "\n\n"...)
}
