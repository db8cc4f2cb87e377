package webui

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"resumed/internal/control"
	"resumed/internal/humanize"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
	"resumed/internal/sanitize"
	"resumed/internal/usage"
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
	Name     string    `json:"name"`
	Percent  float64   `json:"percent"`
	Words    string    `json:"words"`
	Tone     string    `json:"tone"`
	ResetsAt time.Time `json:"resets_at"`
	At       time.Time `json:"at"` // when it was read

	// When it will be full, if that is before it resets; nil: not known.
	FullAt   *time.Time `json:"full_at,omitempty"`
	Earliest *time.Time `json:"full_at_earliest,omitempty"`
	Latest   *time.Time `json:"full_at_latest,omitempty"`
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
		Stopped: s.LimitedAt,
		NextAt:  nextAt(s),
		Tries:   humanize.Tries(s),
		Paused:  s.Paused,
		Idle:    s.State == resume.Watching,
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

func stateAndReason(s view.Session) string {
	state, _ := humanize.State(s)
	if s.Reason == "" {
		return state
	}
	return state + ": " + sanitize.Line(s.Reason)
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
	shown := gauge{
		Name: humanize.Window(w.Kind), Percent: min(max(w.Used, 0), 100), Words: humanize.Percent(w.Used),
		Tone: string(humanize.Good), ResetsAt: w.ResetsAt, At: w.At, FullAt: w.FullAt, Earliest: w.Earliest, Latest: w.Latest,
	}
	switch {
	case shown.Percent >= 100:
		shown.Tone = string(humanize.Bad)
	case shown.Percent >= 80:
		shown.Tone = string(humanize.Wait)
	}
	return shown
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
