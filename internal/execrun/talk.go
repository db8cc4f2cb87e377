package execrun

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"resumed/internal/lastwords"
	"resumed/internal/limit"
	"resumed/internal/sanitize"
)

// Agents returns the names of the agents whose sessions are continued.
func Agents() []string { return []string{"claude-code", "codex", "opencode", "gemini", "qwen-code"} }

// dialect knows how one agent is spoken to in print mode.
type dialect interface {
	program() string // its usual name
	grammar() grammar

	// prints reports whether the line runs the agent in print mode.
	prints(line) bool

	// prompted reports whether the line itself says what to do: otherwise
	// that comes by the standard input.
	prompted(line) bool

	// named returns the session that the line names, if any.
	named(line) string

	// fix returns what is to be added so that a new session gets that id, or
	// nothing where that cannot be.
	fix(l line, id string) []string

	// heard returns the session of a run that is over, as far as it can be
	// continued.
	heard(run) session

	// resume returns the arguments that continue a session.
	resume(l line, s session, prompt string) []string

	// status returns the HTTP status that an exit code stands for, or 0.
	status(code int) int
}

var dialects = map[string]dialect{
	"claude-code": claude{},
	"codex":       codex{},
	"opencode":    opencode{},
	"gemini":      gemini{},
	"qwen-code":   qwen{},
}

// session is what can be continued. The zero session is none.
type session struct {
	id    string
	again bool // it has forgotten the prompt: that has to be given again

	transcript string // where the agent leaves something beside it, else empty
}

// run is one run of an agent that is over.
type run struct {
	line  line
	dir   string
	id    string // of the session, where it was fixed, named or heard before
	began time.Time
	said  Heard
}

// talk is one command and, where it is an agent's in print mode, its session.
type talk struct {
	argv   []string
	prompt string
	dir    string

	name   string  // of the agent; empty where none is known
	speaks dialect // nil where the command is no agent's in print mode
	at     int     // where in argv the program's own arguments begin
	line   line
	fixed  []string // added to the first run
	id     string   // as fixed, named or heard
	known  session
	hear   func(agent, stdout, stderr string, at time.Time) Heard
	said   Heard // in the latest run
}

func newTalk(o Options) *talk {
	t := &talk{argv: o.Argv, prompt: o.Prompt, dir: o.Dir, hear: o.Hear}
	t.name, t.at = whose(o.Agent, o.Argv)
	speaks, ok := dialects[t.name]
	if !ok {
		return t
	}
	t.line = speaks.grammar().parse(o.Argv[t.at:])
	if !speaks.prints(t.line) {
		return t
	}
	t.speaks = speaks
	if t.id = speaks.named(t.line); t.id == "" {
		id := uuid.NewString()
		if t.fixed = speaks.fix(t.line, id); t.fixed != nil {
			t.id = id
		}
	}
	return t
}

// whose returns the agent that a command runs, and where the agent's own
// arguments begin. A wrapper before the agent (env, npx) is seen through only
// where the agent is named.
func whose(agent string, argv []string) (string, int) {
	program := func(arg string) string { return strings.TrimSuffix(filepath.Base(arg), ".exe") }
	if agent != "" {
		if speaks, ok := dialects[agent]; ok {
			at := slices.IndexFunc(argv, func(arg string) bool { return program(arg) == speaks.program() })
			return agent, max(at, 0) + 1
		}
		return agent, 1
	}
	for name, speaks := range dialects {
		if program(argv[0]) == speaks.program() {
			return name, 1
		}
	}
	return "", 1
}

// first returns the command line of the first run.
func (t *talk) first() []string {
	if len(t.fixed) == 0 {
		return t.argv
	}
	end := slices.Index(t.argv, "--")
	if end < 0 {
		end = len(t.argv)
	}
	return slices.Concat(t.argv[:end], t.fixed, t.argv[end:])
}

// next returns the command line of a later run, and whether that continues the
// session.
func (t *talk) next() (argv []string, continued bool) {
	if t.known.id == "" {
		return t.first(), false
	}
	return slices.Concat(t.argv[:t.at], t.speaks.resume(t.line, t.known, t.prompt)), true
}

// heard takes note of a run that is over.
func (t *talk) heard(end *ending, began time.Time) {
	if t.speaks == nil {
		return
	}
	t.said = t.hear(t.name, end.stdout.all(), end.stderr.all(), end.at)
	if !plainID.MatchString(t.said.Session) {
		t.said.Session = ""
	}
	latest := run{line: t.line, dir: t.dir, id: t.id, began: began, said: t.said}
	if heard := t.speaks.heard(latest); heard.id != "" {
		t.known, t.id = heard, heard.id
	}
}

// needsInput reports whether another run needs what the first one read.
func (t *talk) needsInput() bool {
	return t.speaks != nil && !t.speaks.prompted(t.line) && (t.known.id == "" || t.known.again)
}

// failed reports whether a run failed though its exit code says otherwise.
func (t *talk) failed() bool { return t.said.Class != limit.None && !t.said.InProgress }

// judge says why a run failed, and in which words.
func (t *talk) judge(end *ending, reader limit.Reader) (limit.Verdict, string) {
	if t.said.Class != limit.None {
		return t.said.Verdict, sanitize.Short(t.said.Text, longestText)
	}
	verdict, words := lastwords.Judge(reader, lastwords.Last(end.stderr.all()), lastwords.Last(end.stdout.all()))
	if t.speaks != nil && verdict.Class == limit.None {
		if status := t.speaks.status(end.code); status != 0 {
			verdict = reader.Refusal(limit.Refusal{Status: status})
		}
	}
	return verdict, words
}

// longestText is how much of a failure's words is shown.
const longestText = 160
