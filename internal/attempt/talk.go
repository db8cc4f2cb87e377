package attempt

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"resumed/internal/limit"
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

	// betrayed returns the words of a failure that hides behind exit code 0.
	betrayed(run) string

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
	line   line
	dir    string
	id     string // of the session, where it was fixed, named or heard before
	began  time.Time
	stdout string // its beginning
	stderr string
	last   string // the end of stdout
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
	latest run
}

func newTalk(o Options) *talk {
	t := &talk{argv: o.Argv, prompt: o.Prompt, dir: o.Dir}
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
	t.latest = run{
		line: t.line, dir: t.dir, id: t.id, began: began,
		stdout: end.stdout.beginning(), stderr: end.stderr.beginning(), last: end.stdout.last(),
	}
	if heard := t.speaks.heard(t.latest); heard.id != "" {
		t.known, t.id = heard, heard.id
	}
}

// needsInput reports whether another run needs what the first one read.
func (t *talk) needsInput() bool {
	return t.speaks != nil && !t.speaks.prompted(t.line) && (t.known.id == "" || t.known.again)
}

// failed reports whether a run failed though its exit code says otherwise.
func (t *talk) failed() bool { return t.speaks != nil && t.speaks.betrayed(t.latest) != "" }

// judge says why a run failed, and in which words.
func (t *talk) judge(end *ending, reader limit.Reader) (limit.Verdict, string) {
	said := []string{end.stderr.last(), end.stdout.last()}
	if t.speaks != nil {
		if words := t.speaks.betrayed(t.latest); words != "" {
			said = []string{words}
		}
	}
	var unsure limit.Verdict
	var doubt string
	for _, text := range said {
		v := reader.Text(text)
		words := gist(text, func(line string) bool { return v.Class != limit.None && reader.Text(line).Class == v.Class })
		if v.Class != limit.None && !v.InProgress {
			return v, words
		}
		switch {
		case unsure.Class != limit.None:
		case v.Class != limit.None: // a command that has ended retries nothing any more
			unsure, doubt = v, words
		default:
			doubt = cmp.Or(doubt, words)
		}
	}
	if t.speaks != nil && unsure.Class == limit.None {
		if status := t.speaks.status(end.code); status != 0 {
			unsure = reader.Refusal(limit.Refusal{Status: status})
		}
	}
	return unsure, doubt
}
