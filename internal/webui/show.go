package webui

import (
	"cmp"
	"fmt"
	"time"

	"resumed/internal/control"
	"resumed/internal/humanize"
	"resumed/internal/resume"
	"resumed/internal/sanitize"
)

// document is what the page is told: words to be shown as they are, and times,
// which it counts down itself.
type document struct {
	Now      time.Time `json:"now"`
	Whole    bool      `json:"whole"` // rows are all there are: forget the others
	Rows     []row     `json:"rows"`
	Gone     []string  `json:"gone,omitempty"` // keys
	Accounts []account `json:"accounts"`
	Daemon   daemon    `json:"daemon"`
}

// row is a session.
type row struct {
	Key      string     `json:"key"`
	Agent    string     `json:"agent"` // as the daemon knows it, for orders
	ID       string     `json:"id"`    // likewise
	Name     string     `json:"name"`
	Project  string     `json:"project"`
	By       string     `json:"by"` // the agent, in words
	Cwd      string     `json:"cwd"`
	State    string     `json:"state"` // in a word
	Tone     string     `json:"tone"`  // bad | wait | busy | good | still
	Rank     int        `json:"rank"`  // what needs a person first
	Why      string     `json:"why"`
	Text     string     `json:"text,omitempty"` // what stopped it, in the agent's words
	Owner    string     `json:"owner,omitempty"`
	NextAt   *time.Time `json:"next_at,omitempty"`
	Tries    string     `json:"tries"`
	Attempts []try      `json:"attempts"`
	Paused   bool       `json:"paused"`
	Idle     bool       `json:"idle"` // nothing to retry or to cancel
	Running  bool       `json:"running"`
}

// try is one resume.
type try struct {
	N       int        `json:"n"`
	At      *time.Time `json:"at,omitempty"`
	Outcome string     `json:"outcome"`
	Error   string     `json:"error,omitempty"`
}

// account is a limit that sessions share.
type account struct {
	Name     string     `json:"name"`
	State    string     `json:"state"`
	Tone     string     `json:"tone"`
	ResetAt  *time.Time `json:"reset_at,omitempty"`
	Sessions string     `json:"sessions"`
}

// daemon is the daemon itself.
type daemon struct {
	Line        string    `json:"line"`
	StartedAt   time.Time `json:"started_at"`
	Paused      bool      `json:"paused"`
	DryRun      bool      `json:"dry_run"`
	Config      string    `json:"config"`
	LoadedAt    time.Time `json:"loaded_at"`
	ConfigError string    `json:"config_error,omitempty"`
	Problems    []string  `json:"problems"`
}

func show(u control.Update) document {
	d := document{
		Now:      u.Now,
		Whole:    u.Whole,
		Rows:     make([]row, 0, len(u.Sessions)),
		Accounts: make([]account, 0, len(u.Accounts)),
		Daemon:   showDaemon(u.Daemon),
	}
	for _, s := range u.Sessions {
		d.Rows = append(d.Rows, showSession(s))
	}
	for _, key := range u.Gone {
		d.Gone = append(d.Gone, key.String())
	}
	for _, a := range u.Accounts {
		d.Accounts = append(d.Accounts, showAccount(a))
	}
	return d
}

func showSession(s resume.View) row {
	state, tone := humanize.State(s)
	r := row{
		Key: s.Key().String(), Agent: s.Agent, ID: s.ID,
		Name:    sanitize.Line(cmp.Or(s.Name, s.ID)),
		Project: humanize.Project(s),
		By:      sanitize.Line(s.Agent),
		Cwd:     sanitize.Line(s.Cwd),
		State:   state, Tone: string(tone), Rank: humanize.Urgency(s.State),
		Why:      sanitize.Line(s.Reason),
		Text:     sanitize.Line(s.Text),
		Tries:    humanize.Tries(s),
		Attempts: make([]try, 0, len(s.Attempts)),
		Paused:   s.Paused,
		Idle:     s.State == resume.Watching,
		Running:  s.State == resume.Resuming || s.State == resume.Settling,
	}
	if s.State == resume.Waiting {
		r.NextAt = s.NextAt
	}
	if s.Owner != nil {
		r.Owner = "held by " + humanize.Owner(s)
	}
	for _, a := range s.Attempts {
		r.Attempts = append(r.Attempts, try{N: a.N, At: a.StartedAt, Outcome: humanize.Outcome(a.Outcome), Error: sanitize.Line(a.Error)})
	}
	return r
}

// standing says how a session stands after an order.
func standing(s resume.View) string {
	state, _ := humanize.State(s)
	if s.Reason == "" {
		return state
	}
	return state + ": " + sanitize.Line(s.Reason)
}

func showAccount(a control.Account) account {
	state, tone := humanize.Account(a.State)
	shown := account{Name: sanitize.Line(a.String()), State: state, Tone: string(tone), Sessions: humanize.Count(a.Sessions, "session")}
	if tone == humanize.Wait {
		shown.ResetAt = a.ResetAt
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
		Problems:  make([]string, 0, len(d.Problems)),
	}
	if d.Config.Error != nil {
		shown.ConfigError = sanitize.Text(*d.Config.Error)
	}
	for _, problem := range d.Problems {
		shown.Problems = append(shown.Problems, sanitize.Line(problem))
	}
	for _, ch := range d.Notices.Channels {
		if ch.Failed > 0 {
			shown.Problems = append(shown.Problems,
				sanitize.Line(fmt.Sprintf("notices by %s: %d failed: %s", ch.Name, ch.Failed, ch.LastError)))
		}
	}
	return shown
}
