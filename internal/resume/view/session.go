// Package view is a session as people and other programs see it: in status, on the control socket and in notices.
package view

import (
	"cmp"
	"slices"
	"time"

	"resumed/internal/limit"
	"resumed/internal/resume"
)

// Session is a session as other programs see it, in status and in notices. Its
// JSON is a promise: fields may be added, none may change.
type Session struct {
	ID         string        `json:"id"`
	Name       string        `json:"name"` // what people call it, and Find knows it by
	Agent      string        `json:"agent"`
	Account    string        `json:"account"`
	Provider   string        `json:"provider,omitempty"` // where an account may have several
	Cwd        string        `json:"cwd"`
	Transcript string        `json:"transcript"`
	State      resume.State  `json:"state"`
	Paused     bool          `json:"paused"`
	Class      limit.Class   `json:"class"`
	Reason     string        `json:"reason"`
	Text       string        `json:"text,omitempty"` // what stopped it, in the agent's words
	LimitedAt  *time.Time    `json:"limited_at"`     // times are UTC; nil is null
	ResetAt    *time.Time    `json:"reset_at"`
	ResetFrom  limit.Source  `json:"reset_source,omitempty"`
	NextAt     *time.Time    `json:"next_at"`
	Held       bool          `json:"held,omitempty"`        // the wait is over, and the reason says why it waits on
	Attempt    int           `json:"attempt"`               // resumes since the transcript last moved
	MaxRetries int           `json:"max_retries"`           // 0: no bound
	GivesUpAt  *time.Time    `json:"gives_up_at,omitempty"` // when no more is tried, where a time ends it
	Windows    int           `json:"windows"`
	Owner      *resume.Owner `json:"owner"`
	Program    string        `json:"program,omitempty"`   // what its own process ran, where that was seen
	Context    *int64        `json:"context_tokens"`      // what a resume has to read again; null: not known
	Cold       *bool         `json:"cold"`                // the provider does not have it at hand then; null: not known
	BornAt     *time.Time    `json:"born_at,omitempty"`   // when it began, where that is known
	FoundAt    *time.Time    `json:"found_at,omitempty"`  // when a daemon first saw it
	Unreached  string        `json:"unreached,omitempty"` // why the owner can be given nothing, and what helps
	Remedy     string        `json:"remedy,omitempty"`    // what a person can do now, where the session does not go on by itself
	OwnKey     *OwnKey       `json:"own_key,omitempty"`   // how it can go on, or goes on, at its user's own cost
	Started    Start         `json:"started_with"`
	Carried    Carried       `json:"carried"`
	Plan       *Plan         `json:"plan,omitempty"` // what the next resume would do, where one session is asked for
	Attempts   []Attempt     `json:"attempts"`       // never null
	Past       []Attempt     `json:"past,omitempty"` // those of the interruption before

	NoticeID string `json:"-"` // of the step at which a person was needed
}

// OwnKey is how a session that a limit has stopped goes on with its user's own key,
// where they have allowed that. Sums are in US dollars.
type OwnKey struct {
	Active  bool       `json:"active"`            // it goes on with it
	Until   *time.Time `json:"until"`             // when its account's limit is over
	Command string     `json:"command,omitempty"` // by which a person has it do so; empty: it does, or cannot
	Budget  string     `json:"budget"`            // as the user has written it
	Left    float64    `json:"left_usd"`          // what the session may still cost
	Cost    *float64   `json:"cost_usd"`          // what it has cost until now, with the subscription too; null: not known
	AnHour  *float64   `json:"estimate_usd_per_hour"`
	Instead string     `json:"instead,omitempty"` // why it cannot
}

// Start is what a session's own process was started with. It names variables
// and never tells what is in them.
type Start struct {
	Argv    []string `json:"argv"`    // never null; without the prompt
	Seen    bool     `json:"seen"`    // false: its process was not seen, or hides its arguments
	Env     []string `json:"env"`     // never null
	Sandbox *string  `json:"sandbox"` // how its world differs from the daemon's; null: it does not, as far as is known
}

// Carried is what became of that in the last resume.
type Carried struct {
	LeftOut []string `json:"left_out"` // never null
}

// Plan is what the next resume of a session would do, as things stand. It
// names variables and never tells what is in them.
type Plan struct {
	Command  []string `json:"command"`           // never null; empty: none would be run
	Dir      string   `json:"dir"`               // where
	Does     string   `json:"does"`              // in words, where something else than a command is done
	Repeated []string `json:"repeated"`          // never null: of Command, what was taken over from the session's own start
	LeftOut  []string `json:"left_out"`          // never null: what of that start was not, and why
	Env      []string `json:"env"`               // never null: variables that are as the session had them
	EnvUnset []string `json:"env_unset"`         // never null: those of the daemon that the session did not have
	Instead  string   `json:"instead"`           // why nothing would be sent; empty: it would
	Models   string   `json:"models,omitempty"`  // which other model it may go on with, in words
	OwnKey   string   `json:"own_key,omitempty"` // that it has its user's own key, and what it may cost, in words
}

// Attempt is one resume as other programs see it.
type Attempt struct {
	N            int            `json:"n"`
	StartedAt    *time.Time     `json:"started_at"`
	EndedAt      *time.Time     `json:"ended_at"`
	DelaySeconds float64        `json:"delay_seconds"` // what was waited before it
	Outcome      resume.Outcome `json:"outcome"`       // null while it runs
	Error        string         `json:"error"`
	Fallback     string         `json:"fallback_model,omitempty"` // what it might go on with, had its model been overloaded
	Model        string         `json:"model,omitempty"`          // what it went on with instead of its own
	OwnKey       bool           `json:"own_key,omitempty"`        // it went on with its user's own key
}

// Key names the session that is seen.
func (v Session) Key() resume.Key { return resume.Key{Agent: v.Agent, ID: v.ID} }

// Interrupted reports whether the session is stopped and not yet given back to
// its user.
func (v Session) Interrupted() bool { return v.State != resume.Watching && v.State != 0 }

// AccountKey names the limit that the session shares with others.
func (v Session) AccountKey() resume.AccountKey {
	return resume.AccountKey{Name: v.Account, Provider: v.Provider}
}

// Of returns the session as other programs see it. maxRetries is what the
// policy in force allows it. The view shares nothing with the session.
func Of(s resume.Session, maxRetries int) Session {
	v := Session{
		ID:         s.Key.ID,
		Name:       cmp.Or(s.Name, s.Key.ID),
		Agent:      s.Key.Agent,
		Account:    s.Account,
		Provider:   s.AccountKey().Provider,
		Cwd:        s.Cwd,
		Transcript: s.Transcript,
		State:      s.State,
		Paused:     s.Paused,
		Class:      s.Limit.Class,
		Reason:     s.Reason,
		Text:       s.LimitText,
		LimitedAt:  viewTime(s.LimitedAt),
		ResetAt:    viewTime(s.Limit.Reset.At),
		ResetFrom:  s.Limit.Reset.Source,
		NextAt:     viewTime(s.ResumesAt()),
		Held:       s.Blocked != nil && s.State == resume.Waiting,
		Attempt:    s.Tries(),
		MaxRetries: maxRetries,
		GivesUpAt:  viewTime(s.GivesUpAt),
		Windows:    s.Windows,
		Program:    s.Program.Path,
		Started:    start(s),
		Carried:    Carried{LeftOut: append([]string{}, s.LeftOut...)},
		BornAt:     viewTime(s.BornAt),
		FoundAt:    viewTime(s.FoundAt),
		Unreached:  s.Unreached,
		Attempts:   viewAttempts(s.Attempts),
		NoticeID:   s.NoticeID,
	}
	if s.Context.Tokens > 0 {
		v.Context = new(s.Context.Tokens)
	}
	if cold, known := s.Cold(s.ResumesAt()); known && !s.NextAt.IsZero() {
		v.Cold = new(cold)
	}
	if len(s.Past) > 0 {
		v.Past = viewAttempts(s.Past)
	}
	if s.Owner != nil {
		v.Owner = new(*s.Owner)
	}
	return v
}

func start(s resume.Session) Start {
	v := Start{Argv: []string{}, Env: []string{}}
	o := s.StartedWith()
	if o == nil {
		return v
	}
	if v.Seen = o.ArgsSeen; v.Seen {
		began := o.Through
		if len(began) == 0 {
			began = []string{s.Program.Path}
		}
		v.Argv = s.Shown(slices.Concat(began, o.Args))
	}
	for _, variable := range o.Env {
		v.Env = append(v.Env, variable.Name)
	}
	if o.Sandbox != "" {
		v.Sandbox = new(o.Sandbox)
	}
	return v
}

func viewAttempts(attempts []resume.Attempt) []Attempt {
	views := make([]Attempt, 0, len(attempts))
	for _, a := range attempts {
		views = append(views, Attempt{
			N:            a.N,
			StartedAt:    viewTime(a.StartedAt),
			EndedAt:      viewTime(a.EndedAt),
			DelaySeconds: a.Delay.Seconds(),
			Outcome:      a.Outcome,
			Error:        a.Err,
			Fallback:     a.Models.Fallback,
			Model:        a.Models.Spoke,
			OwnKey:       a.OwnKey,
		})
	}
	return views
}

// viewTime returns a time as others see it. One that cannot be written must not
// keep all that is told along with it from being told.
func viewTime(t time.Time) *time.Time {
	if t.IsZero() || !resume.Tellable(t) {
		return nil
	}
	return new(t.UTC())
}
