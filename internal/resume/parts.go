package resume

import (
	"encoding/json"
	"fmt"
	"time"

	"resumed/internal/limit"
)

// This file has what a session consists of, and nothing that needs the session as a whole.

// Key names a session: ids are unique within their agent only.
type Key struct {
	Agent string `json:"agent"`
	ID    string `json:"id"`
}

func (k Key) String() string { return k.Agent + "/" + k.ID }

// Position is where in a transcript an event is. A session passes over
// events at or before the last one that was applied, so reading a file
// again changes nothing.
type Position struct {
	Epoch  string `json:"epoch"` // one incarnation of the file; another one starts over
	Offset int64  `json:"offset"`
}

// Outcome is how one resume ended.
type Outcome string

// The outcomes. An attempt without one has not ended.
const (
	Recovered  Outcome = "recovered"   // the transcript moved
	LimitedOut Outcome = "limited"     // it met the limit again
	Failed     Outcome = "failed"      // the command failed
	TimedOut   Outcome = "timed_out"   // the command ran too long, or hung
	NoProgress Outcome = "no_progress" // the command ended well and the transcript did not move
	Denied     Outcome = "denied"      // the agent lacked a permission
	CutOff     Outcome = "cut_off"     // the daemon's own end cut it off; it does not count
	Unknown    Outcome = "unknown"     // nothing tells

	// Delivered is how a command ends that did what it was asked. What comes
	// of it shows in the transcript: it is never the outcome of an attempt.
	Delivered Outcome = "delivered"
)

// MarshalJSON writes null for an attempt that has not ended.
func (o Outcome) MarshalJSON() ([]byte, error) {
	if o == "" {
		return []byte("null"), nil
	}
	return json.Marshal(string(o))
}

// Attempt is one resume.
type Attempt struct {
	N         int           `json:"n"`
	Mark      string        `json:"mark"` // carried by the command in its environment
	StartedAt time.Time     `json:"started_at"`
	EndedAt   time.Time     `json:"ended_at,omitzero"` // when the outcome was known
	Delay     time.Duration `json:"delay"`             // what was waited before it
	Outcome   Outcome       `json:"outcome,omitempty"`
	Err       string        `json:"err,omitempty"`
	Models    Models        `json:"models,omitzero"`
	OwnKey    bool          `json:"own_key,omitempty"` // it continued with its user's own key
}

// during reports whether a record of that time may be the trace of the attempt.
func (a Attempt) during(at time.Time) bool {
	return !a.StartedAt.IsZero() && !at.Before(a.StartedAt.Add(-slack)) && !at.After(a.EndedAt.Add(slack))
}

// Models are those of a resume that may continue with another one than the session has,
// because that one is overloaded. The user has named the other.
type Models struct {
	Own      string `json:"own,omitempty"`      // the session's
	Fallback string `json:"fallback,omitempty"` // as the user named it; empty: it may not
	Spoke    string `json:"spoke,omitempty"`    // the other one, once that has answered
}

// switched returns the models when one has spoken.
func (m Models) switched(spoke string) Models {
	if m.Fallback != "" && spoke != "" && spoke != m.Own {
		m.Spoke = spoke
	}
	return m
}

// May says what a resume with these models may do; empty: it stays with the model that
// the session has.
func (m Models) May() string {
	if m.Fallback == "" {
		return ""
	}
	return fmt.Sprintf("with %s if %s is still overloaded (fallback_model)", m.Fallback, m.Own)
}

// Did says what it has done; empty: it stayed with that, as far as is known.
func (m Models) Did() string {
	if m.Spoke == "" {
		return ""
	}
	return fmt.Sprintf("with %s instead of %s (fallback_model)", m.Spoke, m.Own)
}

// Run is a resume that has begun and not ended. It outlives the state
// Resuming: an agent that works again is Watching while its command runs on.
type Run struct {
	Mark    string  `json:"mark"`
	N       int     `json:"n"`                // which of all claims of the session; names what is stored of it
	Begins  bool    `json:"begins,omitempty"` // it begins the session of a task, and resumes nothing
	Process Process `json:"process,omitzero"` // once the command was started

	// Unverifiable says that the prompt is handed to another's process, by keys or as
	// a message: if the transcript does not tell, nothing tells what became of it.
	Unverifiable bool `json:"no_proof,omitempty"`

	// Behind is the last event that the session had seen when such a prompt was
	// handed over: what is written there or before it tells nothing of the prompt.
	Behind Position `json:"behind,omitzero"`

	// sending is true from the point on at which the command may have acted on
	// the session. One of an earlier daemon always may have.
	sending bool
}

// sent reports whether the command may have acted on the session.
func (r *Run) sent() bool { return r != nil && r.sending }

// Process names a process beyond the reuse of its pid.
type Process struct {
	PID   int    `json:"pid,omitempty"`
	Start uint64 `json:"start,omitempty"` // field 22 of /proc/PID/stat
}

// Program is what a session was run with.
type Program struct {
	Path        string `json:"path"`                  // of a program, or of a script
	Interpreter string `json:"interpreter,omitempty"` // the program that ran the script
}

// Whether a person sits before a session. If nothing tells, one does.
const (
	Interactive = "interactive"
	Headless    = "headless" // it was given its prompt when it was started, and ends by itself
)

// Origin is what a session's own process was started with, as it was seen while
// that process lived. It says what a resume must repeat. It holds no secret,
// unless the user wants that.
type Origin struct {
	Process Process   `json:"process"`           // whose it is
	BeganAt time.Time `json:"began_at,omitzero"` // when it was started; zero: not known
	SeenAt  time.Time `json:"seen_at"`           // when it was last seen alive
	Cwd     string    `json:"cwd,omitempty"`

	// Args are the arguments of the program, without its prompt. ArgsSeen is
	// false where the process hides them: that is not the same as none.
	Args     []string `json:"args,omitempty"`
	ArgsSeen bool     `json:"args_seen,omitempty"`

	// Shown is Through and Args without the secrets in them, where these are kept.
	Shown []string `json:"shown,omitempty"`

	// Env are the variables that matter to the agent. EnvSeen is false where they
	// could not be read: that is not the same as none.
	Env     []Variable `json:"env,omitempty"`
	EnvSeen bool       `json:"env_seen,omitempty"`
	Salt    string     `json:"salt,omitempty"` // of the hashes in Env

	Login   string   `json:"login,omitempty"`   // a hash of who was signed in then; empty: not known
	Sandbox string   `json:"sandbox,omitempty"` // how its world differs from the daemon's, in words; empty: it does not
	Through []string `json:"through,omitempty"` // the program that started it, and still stood before it, with its arguments up to the agent's
	TTY     bool     `json:"tty,omitempty"`     // it has a terminal
	Server  bool     `json:"server,omitempty"`  // it works for others, who need not live where it does
}

// Variable is one of the environment. Of a secret only a hash is kept: enough to
// know it again.
type Variable struct {
	Name  string `json:"name"`
	Value string `json:"value,omitempty"`
	Hash  string `json:"hash,omitempty"` // of a value that is not kept
}

// Owner is a live process that holds a session.
type Owner struct {
	PID  int    `json:"pid"`
	Kind string `json:"kind"`           // Interactive or Headless
	Tmux string `json:"tmux,omitempty"` // the pane it lives in

	// Guessed says that another process may hold it as well: what this one was
	// started with may be another session's.
	Guessed bool `json:"-"`
}

// Context is what a provider must read again when a session continues.
type Context struct {
	Tokens int64     `json:"tokens"`
	At     time.Time `json:"at"` // when the provider last read it

	// Warm is how long the provider keeps it at hand, if known: what is
	// read again within that costs a tenth.
	Warm time.Duration `json:"warm,omitempty"`
}

// Usage is what a session's agent knows of its account's allowances.
type Usage struct {
	At           time.Time `json:"at"`                      // when the provider stated it
	WeekUsed     float64   `json:"week_used"`               // percent of what is allowed in a week
	WeekResetsAt time.Time `json:"week_resets_at,omitzero"` // zero: nothing is known of the week

	// Lifts is when the limit ends that stopped the session, if the record of
	// it did not tell.
	Lifts time.Time `json:"lifts,omitzero"`
}

// Cost is what a session has cost until now, as its agent counts it, at the prices of its
// provider's API. With a subscription nobody is asked for that sum.
type Cost struct {
	USD  float64       `json:"usd"`
	Work time.Duration `json:"work"` // how long the agent has worked for that
	Read int64         `json:"read"` // the position in the transcript at which it was read
}

// AnHour returns what an hour of work has cost so far; 0: it is not known.
func (c Cost) AnHour() float64 {
	if c.Work < time.Second {
		return 0
	}
	return c.USD / c.Work.Hours()
}

// Paid is a session that continues like that.
type Paid struct {
	AskedAt time.Time `json:"asked_at"`
	Until   time.Time `json:"until"` // when the limit of its account is over

	// What stopped it: that is waited for again if the key does not help.
	Limit     limit.Verdict `json:"limit"`
	LimitText string        `json:"limit_text,omitempty"`
}

// Newcomer is a session that was begun where another one had been stopped.
type Newcomer struct {
	Key    Key       `json:"key"`
	BornAt time.Time `json:"born_at"`
	Kind   string    `json:"kind,omitempty"` // Interactive or Headless; empty: not told
}

// Task is work that has no session yet. It waits as a session does that was stopped,
// by the same rules and gates, and is claimed and begun as one is resumed. Once its
// session shows, that is watched like any other.
type Task struct {
	N      int    `json:"n"`     // what people call it
	Place  int    `json:"place"` // who goes first: those of lower ones
	Prompt string `json:"prompt"`
	Model  string `json:"model,omitempty"` // empty: the agent's own choice
	Mode   string `json:"mode,omitempty"`  // the permission mode; empty: the agent's default

	After     string    `json:"after,omitempty"`      // what it was told to wait for, as a person said it
	NotBefore time.Time `json:"not_before,omitzero"`  // that, where it is a time
	Behind    Key       `json:"behind,omitzero"`      // that, where it is a session, or another task
	AddedAt   time.Time `json:"added_at"`             // by whoever asked for it
	BegunAt   time.Time `json:"begun_at,omitzero"`    // when its session was seen; zero: it was not
	Session   string    `json:"session_id,omitempty"` // of the session that it became; empty: not known
}

// Blocked is what makes a session wait whose own wait is over.
type Blocked struct {
	Until time.Time `json:"until,omitzero"` // zero: no time ends it
}

// Interruption is what is known of the error that stopped a session, and of the wait that follows. It ends as a
// whole: that of a session that works is zero.
type Interruption struct {
	Limit     limit.Verdict `json:"limit,omitzero"`       // what stopped it
	LimitText string        `json:"limit_text,omitempty"` // in the agent's words
	StoppedAt time.Time     `json:"stopped_at,omitzero"`  // when it was stopped first, since it last moved or a person asked for it

	Owner     *Owner    `json:"owner,omitempty"`     // the process that holds the session
	Unreached string    `json:"unreached,omitempty"` // why that can be given nothing, in words
	ClosedAt  time.Time `json:"closed_at,omitzero"`  // when its user was seen to close the agent
	Newcomer  *Newcomer `json:"newcomer,omitempty"`  // by which a person went on in its directory
	Reported  bool      `json:"told,omitempty"`      // a person knows why it waits on

	NextAt       time.Time `json:"next_at,omitzero"`     // Waiting: when it is resumed; Settling: when patience ends
	WaitFrom     time.Time `json:"wait_from,omitzero"`   // when the wait began,
	Jitter       float64   `json:"dice,omitempty"`       // the chance in it,
	RetryAskedAt time.Time `json:"asked,omitzero"`       // a person who cut it short,
	NotBefore    time.Time `json:"hold,omitzero"`        // and what it may not end before: NextAt can be computed anew
	Blocked      *Blocked  `json:"held,omitempty"`       // that its wait is over and it waits on, for the reason that it has; nil: it does not
	GivesUpAt    time.Time `json:"gives_up_at,omitzero"` // when no more is tried; zero: the number of tries ends it
	MissedAt     time.Time `json:"missed_at,omitzero"`   // when it would have been resumed, had a daemon run: it is asked about

	Attempts []Attempt `json:"attempts,omitempty"` // the resumes since the transcript last moved, the last ones of very many
	Cut      []Attempt `json:"cut,omitempty"`      // those of them that ended with a daemon: they cost nothing, but may have left a prompt
}

// slack is how much a record's own time may run before our clock: file systems
// stamp with a coarse clock and some agents write whole seconds.
const slack = time.Second

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
