// Package view is a session as people and other programs see it: in status, on the control socket and in notices.
package view

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"resumed/internal/limit"
	"resumed/internal/resume"
)

// Session is a session as other programs see it, in status and in notices. Its JSON is stable: fields
// may be added, but not changed.
type Session struct {
	ID         string            `json:"id"`
	Name       string            `json:"name"` // for people; Find accepts it
	Agent      string            `json:"agent"`
	Account    string            `json:"account"`
	Provider   string            `json:"provider,omitempty"` // if an account may have several
	Cwd        string            `json:"cwd"`
	Transcript string            `json:"transcript"`
	App        string            `json:"app,omitempty"` // the editor or desktop app that its user works with, if it is known
	State      resume.State      `json:"state"`
	Paused     bool              `json:"paused"`
	Cancelled  bool              `json:"cancelled,omitempty"` // a person cancelled its interruption, and a retry undoes that
	Class      limit.Class       `json:"class"`
	Reason     string            `json:"reason"`
	Text       string            `json:"text,omitempty"`       // what stopped it, in the agent's words
	LimitedAt  *time.Time        `json:"limited_at"`           // when it was last stopped; times are UTC; nil is null
	StoppedAt  *time.Time        `json:"stopped_at,omitempty"` // when its interruption began, if it has one
	ResetAt    *time.Time        `json:"reset_at"`
	ResetFrom  limit.Source      `json:"reset_source,omitempty"`
	NextAt     *time.Time        `json:"next_at"`
	Held       bool              `json:"held,omitempty"` // it is due, and the reason says what holds it back
	Attempt    int               `json:"attempt"`        // resumes since the transcript last moved
	Policy     string            `json:"policy"`         // the name of the backoff policy that counts for it
	MaxRetries int               `json:"max_retries"`    // 0: no bound
	GivesUpAt  *time.Time        `json:"gives_up_at"`    // when the tries end; null: no time ends them
	Windows    int               `json:"windows"`
	WaitsFor   *resume.Probe     `json:"waits_for,omitempty"` // it is due, and another session of its account tries first
	Owner      *resume.Owner     `json:"owner"`
	Program    string            `json:"program,omitempty"`   // what its own process ran, if observed
	Context    *int64            `json:"context_tokens"`      // what the provider reads again at a resume; null: not known
	Cold       *bool             `json:"cold"`                // the provider will no longer have it in its cache; null: not known
	BornAt     *time.Time        `json:"born_at,omitempty"`   // when it began, if known
	FoundAt    *time.Time        `json:"found_at,omitempty"`  // when a daemon first observed it
	Unreached  string            `json:"unreached,omitempty"` // why the owner cannot be given a prompt, and what helps
	Subagents  []resume.Subagent `json:"subagents,omitempty"` // that were stopped, and have not continued
	Needs      *string           `json:"needs"`               // what a person is asked for, in a word; null: nothing
	Remedy     string            `json:"remedy,omitempty"`    // what a person can do now, if the session does not continue by itself
	Started    Start             `json:"started_with"`
	Carried    NotRepeated       `json:"carried"`
	Plan       *Plan             `json:"plan,omitempty"` // what the next resume would do, if one session is asked for
	Attempts   []Attempt         `json:"attempts"`       // never null
	Past       []Attempt         `json:"past,omitempty"` // those of the previous interruption

	NoticeID string `json:"-"` // notice of the step at which a person was needed
}

// Start is what a session's own process was started with. It has the names of variables, never their
// values.
type Start struct {
	Argv    []string `json:"argv"`    // never null; without the prompt
	Seen    bool     `json:"seen"`    // false: its process was not observed, or its arguments could not be read
	Env     []string `json:"env"`     // never null
	Sandbox *string  `json:"sandbox"` // how its environment differs from the daemon's; null: it does not, as far as is known
}

// NotRepeated is what the last resume did not repeat of Start.
type NotRepeated struct {
	LeftOut []string `json:"left_out"` // never null
}

// Plan is what the next resume of a session would do at this moment. It has the names of variables,
// never their values.
type Plan struct {
	Command  []string `json:"command"`          // never null; empty: no command
	Dir      string   `json:"dir"`              // its working directory
	Does     string   `json:"does"`             // for people, if it is not a command
	Repeated []string `json:"repeated"`         // never null: the parts of Command that come from the session's own start
	LeftOut  []string `json:"left_out"`         // never null: the parts of that start that are not repeated, and why
	Env      []string `json:"env"`              // never null: variables with the values that the session had
	EnvUnset []string `json:"env_unset"`        // never null: variables of the daemon that the session did not have
	Instead  string   `json:"instead"`          // why no resume would be sent; empty: it would
	Models   string   `json:"models,omitempty"` // which other model it may use, for people
	Prompt   string   `json:"prompt"`           // what the agent is told
}

// Attempt is one resume as other programs see it.
type Attempt struct {
	N            int            `json:"n"`
	StartedAt    *time.Time     `json:"started_at"`
	EndedAt      *time.Time     `json:"ended_at"`
	DelaySeconds float64        `json:"delay_seconds"` // the wait before it
	Outcome      resume.Outcome `json:"outcome"`       // null while it runs
	Error        string         `json:"error"`
	Fallback     string         `json:"fallback_model,omitempty"` // what it could use if its own model was overloaded
	Model        string         `json:"model,omitempty"`          // what it used instead of its own
}

// Key returns the key of the session.
func (v Session) Key() resume.Key { return resume.Key{Agent: v.Agent, ID: v.ID} }

// Interrupted reports whether the session is stopped and its interruption has not ended.
func (v Session) Interrupted() bool { return v.State != resume.Watching && v.State != 0 }

// AccountKey names the limit that the session shares with others.
func (v Session) AccountKey() resume.AccountKey {
	return resume.AccountKey{Name: v.Account, Provider: v.Provider}
}

// ByRules is Of by the current rules.
func ByRules(s resume.Session, r resume.Rules) Session {
	policy := r.PolicyOf(s)
	v := Of(s, policy.MaxRetries)
	v.Policy = policy.Name
	return v
}

// Of returns the session as other programs see it. maxRetries is what the current policy allows. The
// view shares no memory with the session.
func Of(s resume.Session, maxRetries int) Session {
	v := Session{
		ID:         s.Key.ID,
		Name:       cmp.Or(s.Name, s.Key.ID),
		Agent:      s.Key.Agent,
		Account:    s.Account,
		Provider:   s.AccountKey().Provider,
		App:        s.App,
		Cwd:        s.Cwd,
		Transcript: s.Transcript,
		State:      s.State,
		Paused:     s.Paused,
		Cancelled:  s.Undo != nil,
		Class:      s.Limit.Class,
		Reason:     s.Reason,
		Text:       s.LimitText,
		LimitedAt:  viewTime(s.LimitedAt),
		StoppedAt:  viewTime(s.InterruptedAt),
		ResetAt:    viewTime(s.Limit.Reset.At),
		ResetFrom:  s.Limit.Reset.Source,
		NextAt:     viewTime(s.ResumesAt()),
		Held:       s.Blocked != nil && s.State == resume.Waiting,
		Attempt:    s.Tries(),
		MaxRetries: maxRetries,
		GivesUpAt:  viewTime(s.GivesUpAt),
		Windows:    s.Windows,
		Program:    s.Program().Path,
		Started:    start(s),
		Carried:    NotRepeated{LeftOut: append([]string{}, s.LeftOut...)},
		BornAt:     viewTime(s.BornAt),
		FoundAt:    viewTime(s.FoundAt),
		Unreached:  s.Unreached,
		Attempts:   viewAttempts(s.Attempts),
		NoticeID:   s.NoticeID,
		Subagents:  slices.Clone(s.Subagents),
	}
	if need := needs(s); need != "" {
		v.Needs = &need
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

// WithoutStart returns the sessions that need a person's word because their start was not seen.
func WithoutStart(sessions []Session) []Session {
	return slices.DeleteFunc(slices.Clone(sessions), func(s Session) bool {
		return s.Needs == nil || *s.Needs != string(resume.StartUnseen)
	})
}

func needs(s resume.Session) string {
	switch {
	case s.Needs != "":
		return string(s.Needs)
	case strings.HasPrefix(s.Asks, "permission"):
		return "permission"
	case s.Asks != "":
		return "answer"
	case !s.SilentAt.IsZero():
		return "look"
	case !s.NeedsPerson():
		return ""
	case s.Limit.Class == limit.Auth:
		return "sign_in"
	case s.Limit.Class == limit.Billing:
		return "billing"
	default:
		return "retry"
	}
}

func start(s resume.Session) Start {
	v := Start{Argv: []string{}, Env: []string{}}
	o := s.StartedWith()
	if o == nil {
		return v
	}
	if v.Seen = o.Seen(); o.ArgsSeen {
		began := o.Through
		if len(began) == 0 {
			began = []string{s.Program().Path}
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
			Model:        a.Models.Used,
		})
	}
	return views
}

// viewTime returns a time for JSON. It drops a time that JSON cannot represent, which would make the
// whole document fail.
func viewTime(t time.Time) *time.Time {
	if t.IsZero() || !resume.FitsJSON(t) {
		return nil
	}
	return new(t.UTC())
}

const mostWaits = 60

// Backoff is the waits before the resumes of a session, as other programs see them.
type Backoff struct {
	Policy string     `json:"policy"`           // for people
	Waits  []Wait     `json:"waits"`            // never null; the first ones, at most mostWaits
	Next   int        `json:"next"`             // the current or next one of them
	Stated *time.Time `json:"stated,omitempty"` // the provider has named a time: the session waits for that instead
}

// Wait is the wait before one resume.
type Wait struct {
	Attempt     int     `json:"attempt"`
	BaseSeconds float64 `json:"base_seconds"`
	MinSeconds  float64 `json:"min_seconds"`
	MaxSeconds  float64 `json:"max_seconds"`
}

// BackoffOf returns the waits of a session by its current policy.
func BackoffOf(r resume.Rules, s resume.Session) Backoff {
	policy := r.PolicyOf(s)
	view := Backoff{Policy: policy.Name + ": " + policy.String(), Waits: []Wait{}, Next: s.Tries() + 1}
	if at, stated := s.Stated(r); stated && s.State == resume.Waiting {
		view.Stated = viewTime(at)
	}
	for n := 1; n <= min(cmp.Or(policy.MaxRetries, mostWaits), mostWaits); n++ {
		base, least, most := policy.Range(n)
		view.Waits = append(view.Waits, Wait{n, base.Seconds(), least.Seconds(), most.Seconds()})
	}
	return view
}

// Task is a task as other programs see it. Its JSON is stable: fields may be added, but not changed.
type Task struct {
	N       int              `json:"n"`
	ID      string           `json:"id"`
	Agent   string           `json:"agent"`
	Account string           `json:"account"`
	Dir     string           `json:"dir"`
	Prompt  string           `json:"prompt"`
	Model   string           `json:"model,omitempty"`
	Mode    string           `json:"mode,omitempty"`
	After   string           `json:"after"` // empty: it only waits for room
	State   resume.TaskState `json:"state"`
	Paused  bool             `json:"paused"`
	Session *string          `json:"session"` // id of its session; null: none yet
	Reason  string           `json:"reason"`
	AddedAt *time.Time       `json:"added_at"`
	NextAt  *time.Time       `json:"next_at"`  // when it is due; null: it does not wait, or it waits for a person
	BegunAt *time.Time       `json:"begun_at"` // null: not yet
}

// OfTask returns the task of a session as other programs see it.
func OfTask(s resume.Session) Task {
	v := Task{
		N: s.Task.N, ID: s.Key.ID, Agent: s.Key.Agent, Account: s.Account, Dir: s.Cwd,
		Prompt: s.Task.Prompt, Model: s.Task.Model, Mode: s.Task.Mode, After: s.Task.After,
		State: s.TaskState(), Paused: s.Paused, Reason: s.Reason,
		AddedAt: viewTime(s.Task.AddedAt), BegunAt: viewTime(s.Task.BegunAt),
	}
	if s.Pending() {
		v.NextAt = viewTime(s.ResumesAt())
	}
	if s.Task.Session != "" {
		v.Session = new(s.Task.Session)
	}
	return v
}

// TaskOrder is a person's request for a task.
type TaskOrder struct {
	Agent  string `json:"agent,omitempty"` // empty: the first that is installed
	Dir    string `json:"dir"`             // absolute
	Prompt string `json:"prompt"`
	Model  string `json:"model,omitempty"`
	Mode   string `json:"mode,omitempty"`
	After  string `json:"after,omitempty"`
}

// Order returns a request for the same task.
func (v Task) Order() TaskOrder {
	return TaskOrder{Agent: v.Agent, Dir: v.Dir, Prompt: v.Prompt, Model: v.Model, Mode: v.Mode, After: v.After}
}
