package resume

import (
	"encoding/json"
	"fmt"
	"time"

	"resumed/internal/limit"
)

// This file has the parts of a session, and nothing that needs the whole session.

// Key names a session: ids are unique within their agent only.
type Key struct {
	Agent string `json:"agent"`
	ID    string `json:"id"`
}

func (k Key) String() string { return k.Agent + "/" + k.ID }

// Position is where in a transcript an event is. A session skips events at or before the last one that
// was applied, so reading a file again changes nothing.
type Position struct {
	Epoch  string `json:"epoch"` // one version of the file; a new one is read from its start
	Offset int64  `json:"offset"`
}

// Outcome is how one resume ended.
type Outcome string

// The outcomes. An attempt without one has not ended.
const (
	Recovered     Outcome = "recovered"   // the transcript moved
	LimitedOut    Outcome = "limited"     // it met the limit again
	Failed        Outcome = "failed"      // the command failed
	TimedOut      Outcome = "timed_out"   // the command ran too long, or hung
	NoProgress    Outcome = "no_progress" // the command succeeded, but the transcript did not move
	Denied        Outcome = "denied"      // the agent lacked a permission
	DaemonStopped Outcome = "cut_off"     // the end of the daemon cut it off; it does not count
	Unknown       Outcome = "unknown"     // the result cannot be known

	// Delivered is how a successful command ends. Its result shows in the transcript: it is never the
	// outcome of an attempt.
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
	Mark      string        `json:"mark"` // set in the environment of the command
	StartedAt time.Time     `json:"started_at"`
	EndedAt   time.Time     `json:"ended_at,omitzero"` // when the outcome was known
	Delay     time.Duration `json:"delay"`             // the wait before it
	Outcome   Outcome       `json:"outcome,omitempty"`
	Err       string        `json:"err,omitempty"`
	Models    Models        `json:"models,omitzero"`
}

// during reports whether a record of that time may come from the attempt.
func (a Attempt) during(at time.Time) bool {
	return !a.StartedAt.IsZero() && !at.Before(a.StartedAt.Add(-slack)) && !at.After(a.EndedAt.Add(slack))
}

// Models are the models of a resume that may continue with a fallback model of the user, because the
// session's own is overloaded.
type Models struct {
	Own      string `json:"own,omitempty"`      // the session's
	Fallback string `json:"fallback,omitempty"` // as the user named it; empty: no other model may be used
	Used     string `json:"used,omitempty"`     // the other model, once it has answered
}

func (m Models) switched(spoke string) Models {
	if m.Fallback != "" && spoke != "" && spoke != m.Own {
		m.Used = spoke
	}
	return m
}

// AllowedText says which model a resume may use, for people; empty: only the session's own.
func (m Models) AllowedText() string {
	if m.Fallback == "" {
		return ""
	}
	return fmt.Sprintf("with %s if %s is still overloaded (fallback_model)", m.Fallback, m.Own)
}

// UsedText says which model a resume has used, for people; empty: the session's own, as far as is known.
func (m Models) UsedText() string {
	if m.Used == "" {
		return ""
	}
	return fmt.Sprintf("with %s instead of %s (fallback_model)", m.Used, m.Own)
}

// Run is a resume that has begun and not ended. It may be longer than the state Resuming: a session
// that works again is Watching while the command still runs.
type Run struct {
	Mark    string  `json:"mark"`
	N       int     `json:"n"`                // number among all claims of the session; part of the names of its files
	Begins  bool    `json:"begins,omitempty"` // it begins the session of a task, and resumes nothing
	Process Process `json:"process,omitzero"` // set when the command has started

	// Unverifiable says that the prompt goes to a process that we did not start, as keys or as a
	// message: only the transcript can show its result.
	Unverifiable bool `json:"unverifiable,omitempty"`

	// Behind is the last event of the session when such a prompt was handed over: records up to there
	// say nothing about the prompt.
	Behind Position `json:"behind,omitzero"`

	// sending is true as soon as the command may have acted on the session. For a run of an earlier
	// daemon it is always true.
	sending bool
}

// sent reports whether the command may have acted on the session.
func (r *Run) sent() bool { return r != nil && r.sending }

// Process identifies a process even if its pid is used again.
type Process struct {
	PID   int    `json:"pid,omitempty"`
	Start uint64 `json:"start,omitempty"` // field 22 of /proc/PID/stat
}

// Program is what a session's process runs.
type Program struct {
	Path        string `json:"path"`                  // of a program or a script
	Interpreter string `json:"interpreter,omitempty"` // the program that runs the script
}

// Whether a person uses the session directly. If not known, Interactive is assumed.
const (
	Interactive = "interactive"
	Headless    = "headless" // it got its prompt when it was started, and ends by itself
)

// Origin is what a session's own process was started with, as observed while it lived. A resume repeats
// it. It has no secrets, unless the user wants that.
type Origin struct {
	Process Process   `json:"process"`
	Program Program   `json:"program,omitzero"`  // what it runs; zero: not known, or not to be run outside of its sandbox
	BeganAt time.Time `json:"began_at,omitzero"` // when the process started; zero: not known
	SeenAt  time.Time `json:"seen_at"`           // when the process was last seen alive
	GoneAt  time.Time `json:"gone_at,omitzero"`  // when it was found to have ended in the middle of a turn
	Boot    string    `json:"boot,omitempty"`    // an id of the time in which the machine ran; empty: not known
	Cwd     string    `json:"cwd,omitempty"`

	// Args are the arguments of the program, without its prompt. ArgsSeen is false if they could not be
	// read, which is not the same as none.
	Args     []string `json:"args,omitempty"`
	ArgsSeen bool     `json:"args_seen,omitempty"`

	// Shown is Through and Args without their secrets, if secrets are stored.
	Shown []string `json:"shown,omitempty"`

	// Env are the variables that matter to the agent. EnvSeen is false if they could not be read, which
	// is not the same as none.
	Env     []Variable `json:"env,omitempty"`
	EnvSeen bool       `json:"env_seen,omitempty"`
	Salt    string     `json:"salt,omitempty"` // of the hashes in Env

	// Others are its other variables. Their values are never stored. nil: they are not known.
	Others []Variable `json:"others,omitempty"`

	// Environ is its whole environment, with values. It is only in memory, and on a file system in
	// memory.
	Environ []string `json:"-"`

	// Settings are what the agent's settings files said then. nil: the agent has none that matter.
	Settings *Settings `json:"settings,omitempty"`

	Limits ProcessLimits     `json:"limits,omitzero"` // zero: not known
	Files  map[string]string `json:"files,omitempty"` // the files that its flags name, with a hash of each

	Login   string   `json:"login,omitempty"`   // a hash of the login at that time; empty: not known
	Sandbox string   `json:"sandbox,omitempty"` // how its environment differs from the daemon's (such as namespaces), for people; empty: it does not
	Freer   string   `json:"freer,omitempty"`   // how a resume is more restricted than it was, for people; empty: it is not
	Through []string `json:"through,omitempty"` // the wrapper that started it and still runs, with its arguments up to the agent's
	TTY     bool     `json:"tty,omitempty"`     // it has a terminal
	Server  bool     `json:"server,omitempty"`  // it is a server; its clients may be elsewhere
}

// Seen reports whether a resume can repeat the start: the arguments and the environment are known.
func (o *Origin) Seen() bool { return o != nil && o.ArgsSeen && o.EnvSeen }

// ProcessLimits are what else a process passes on to the commands that it runs.
type ProcessLimits struct {
	Umask     string     `json:"umask,omitempty"` // octal; empty: not known
	Nice      int        `json:"nice,omitempty"`
	Resources []Resource `json:"resources,omitempty"` // of setrlimit(2), in the order of their numbers
}

// Resource is a limit of setrlimit(2).
type Resource struct {
	Soft uint64 `json:"soft"`
	Hard uint64 `json:"hard"`
}

// Variable is an environment variable. Of a secret only a hash is stored, to recognise it.
type Variable struct {
	Name  string `json:"name"`
	Value string `json:"value,omitempty"`
	Hash  string `json:"hash,omitempty"` // of a value that is not stored
}

// Need is what a parked session needs from a person, in a word for programs.
type Need string

// What is needed is the person's word that a session may continue.
const (
	StartUnseen Need = "start_unseen" // although its start was not seen
	TrustNeeded Need = "program"      // with a program that the agent itself can change
	RetryCutOff Need = "retry"        // after it was cut off
)

// Subagent is a part of a session's work that the agent gave to another conversation, and that an error
// of the provider has stopped.
type Subagent struct {
	ID    string      `json:"id"`
	Kind  string      `json:"kind,omitempty"`  // such as Explore; empty: not known
	About string      `json:"about,omitempty"` // its task in a few words, for people
	Class limit.Class `json:"class"`
	At    time.Time   `json:"at"`                // when it was stopped
	Reset time.Time   `json:"reset_at,omitzero"` // when the limit is over; zero: not stated
}

// Owner is a live process that holds a session.
type Owner struct {
	PID  int    `json:"pid"`
	Kind string `json:"kind"`           // Interactive or Headless
	Tmux string `json:"tmux,omitempty"` // the pane it runs in
	App  string `json:"app,omitempty"`  // the editor or desktop app that runs it, for people

	// Guessed says that another process may hold the session instead: this one may have been started
	// for another session.
	Guessed bool `json:"-"`
}

// Context is what a provider must read again when a session continues.
type Context struct {
	Tokens int64     `json:"tokens"`
	At     time.Time `json:"at"` // when the provider last read it

	// Warm is how long the provider caches it, if known: reading it again within that time costs a
	// tenth.
	Warm time.Duration `json:"warm,omitempty"`
}

// Usage is what a session's agent knows about the allowances of its account.
type Usage struct {
	At           time.Time `json:"at"`                      // when the provider stated it
	WeekUsed     float64   `json:"week_used"`               // percent of what is allowed in a week
	WeekResetsAt time.Time `json:"week_resets_at,omitzero"` // zero: the week is not known

	// Lifts is when the limit ends that stopped the session, if its record did not say.
	Lifts time.Time `json:"lifts,omitzero"`
}

// Newcomer is a session that began in the directory of a stopped one.
type Newcomer struct {
	Key    Key       `json:"key"`
	BornAt time.Time `json:"born_at"`
	Kind   string    `json:"kind,omitempty"` // Interactive or Headless; empty: not known
}

// Task is work that has no session yet. It waits under the same rules and gates as a stopped session,
// and is claimed and started like a resume. Its session is then watched like any other.
type Task struct {
	N      int    `json:"n"`     // its number, for people
	Place  int    `json:"place"` // lower ones go first
	Prompt string `json:"prompt"`
	Model  string `json:"model,omitempty"` // empty: the agent's own choice
	Mode   string `json:"mode,omitempty"`  // the permission mode; empty: the agent's default

	After     string    `json:"after,omitempty"`      // what a person wants it to wait for, in their words
	NotBefore time.Time `json:"not_before,omitzero"`  // the same, if it is a time
	Behind    Key       `json:"behind,omitzero"`      // the same, if it is a session or another task
	AddedAt   time.Time `json:"added_at"`             // when a person asked for it
	BegunAt   time.Time `json:"begun_at,omitzero"`    // when its session was first observed; zero: not yet
	Session   string    `json:"session_id,omitempty"` // id of its session; empty: not known
}

// Blocked holds back a session that is due.
type Blocked struct {
	Until time.Time `json:"until,omitzero"` // zero: not known
}

// Interruption is what is known about the error that stopped a session, and about the wait after it. It
// is zero for a session that works.
type Interruption struct {
	Limit     limit.Verdict `json:"limit,omitzero"`       // what stopped it
	LimitText string        `json:"limit_text,omitempty"` // in the agent's words
	AtWord    string        `json:"at_word,omitempty"`    // why only a person's word continues it; empty: it continues by itself
	StoppedAt time.Time     `json:"stopped_at,omitzero"`  // when it was first stopped, since it last moved or a person asked for a retry

	InterruptedAt time.Time `json:"interrupted_at,omitzero"` // when it was first stopped, since it last moved

	Owner     *Owner    `json:"owner,omitempty"`     // the process that holds the session
	Unreached string    `json:"unreached,omitempty"` // why the owner cannot be given a prompt, for people
	Asks      string    `json:"asks,omitempty"`      // what it asks a person for, and is parked for
	SilentAt  time.Time `json:"silent_at,omitzero"`  // when it was found to be silent in the middle of a turn, and is parked for
	ClosedAt  time.Time `json:"closed_at,omitzero"`  // when its user was observed to close the agent
	Newcomer  *Newcomer `json:"newcomer,omitempty"`  // the session with which a person continued in its directory
	Needs     Need      `json:"needs,omitempty"`     // what a person is asked for, if the reason is one that programs know too
	Shows     string    `json:"shows,omitempty"`     // the programs that TrustNeeded is about, as in Trusted
	Reported  bool      `json:"reported,omitempty"`  // a person was told why it still waits

	Offered Permission `json:"offered,omitzero"` // in what it would continue, as the person who is asked is shown

	LiftedAt time.Time `json:"lifted_at,omitzero"` // when the limit was seen to be over before its reset

	NextAt       time.Time `json:"next_at,omitzero"`        // Waiting: when it is resumed; Settling: until when the transcript must move
	WaitFrom     time.Time `json:"wait_from,omitzero"`      // when the wait began
	Jitter       float64   `json:"jitter,omitempty"`        // the random part of the wait
	RetryAskedAt time.Time `json:"retry_asked_at,omitzero"` // when a person asked for a try, which ends the wait
	NotBefore    time.Time `json:"not_before,omitzero"`     // the wait does not end before this, also if NextAt is computed again
	Blocked      *Blocked  `json:"blocked,omitempty"`       // it is due, but Reason holds it back; nil: it is not
	GivesUpAt    time.Time `json:"gives_up_at,omitzero"`    // when the tries end; zero: their number ends them
	MissedAt     time.Time `json:"missed_at,omitzero"`      // when it would have been resumed if a daemon had run: a person is asked first

	Attempts []Attempt `json:"attempts,omitempty"` // the resumes since the transcript last moved, the last maxAttempts of them
	Cut      []Attempt `json:"cut,omitempty"`      // resumes that ended with their daemon: they do not count, but may have left a prompt
}

// Undo is an interruption that a person cancelled, as a retry brings it back.
type Undo struct {
	State State `json:"state"`
	Interruption
}

// slack is how far a record's time may be before our clock: file systems use a coarse clock and some
// agents write whole seconds.
const slack = time.Second

// SameWindow is how far apart two statements of the same reset may be: agents print it to the minute,
// and compute it from an age.
const SameWindow = 2 * time.Minute

// Later returns the later one of two times.
func Later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// Earlier returns the earlier one of two times.
func Earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// A transcript may contain any date. One in the year -1 or 10000 can be compared and added to, but not
// written as JSON, so it could neither be stored nor shown. So all times are bounded where they enter:
// an event at an impossible time has no time, and no future time is later than latest.

var latest = time.Date(2199, time.December, 31, 23, 59, 59, 0, time.UTC)

// ValidRecordTime reports whether a record can have been written at that time.
func ValidRecordTime(t time.Time) bool { return t.UTC().Year() >= 1970 && !t.After(latest) }

func past(t time.Time) time.Time {
	if t.IsZero() || ValidRecordTime(t) {
		return t
	}
	return time.Time{}
}

func ahead(t time.Time) time.Time {
	if t.After(latest) {
		return latest
	}
	return past(t)
}

// FitsJSON reports whether a time can be written as JSON, in UTC.
func FitsJSON(t time.Time) bool { return t.UTC().Year() >= 0 && t.UTC().Year() <= 9999 }
