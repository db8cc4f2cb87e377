package resume

import (
	"cmp"
	"slices"
	"time"
)

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

// StartedWith returns what the process was started with that took the session's
// last prompt; nil: nobody saw it. One that was seen before that prompt and not
// after it may have been followed by another, with other arguments.
func (s Session) StartedWith() *Origin {
	if s.Origin == nil || s.Origin.SeenAt.Before(s.PromptedAt) {
		return nil
	}
	return s.Origin
}

// Shown returns a command line that continues the session as people may see it:
// without the secrets that are kept of its start.
func (s Session) Shown(argv []string) []string {
	if s.Origin == nil || s.Origin.Shown == nil {
		return argv
	}
	shown, kept := slices.Clone(argv), slices.Concat(s.Origin.Through, s.Origin.Args)
	for i, arg := range argv {
		if at := slices.Index(kept, arg); at >= 0 && at < len(s.Origin.Shown) {
			shown[i] = s.Origin.Shown[at]
		}
	}
	return shown
}

// missedBy reports whether a process began too late to have taken the session's
// last prompt: it was only opened to look at the session, or holds another one of
// the same directory.
func (s Session) missedBy(o Origin) bool {
	prompted := cmp.Or(s.PromptedAt, s.LimitedAt) // there was one before that
	return !prompted.IsZero() && o.BeganAt.After(prompted.Add(slack))
}
