package codex

import (
	"cmp"
	"context"
	"regexp"
	"slices"

	"resumed/internal/agent/codex/rollout"
	"resumed/internal/headless"
	"resumed/internal/leash"
)

var _ headless.CommandLine = (*Agent)(nil)

// invocation is a run with exec.
type invocation struct {
	before, options leash.Arguments // on either side of exec
	resumes         bool            // resume follows
	plain           []string        // the plain arguments after that
	room            *Agent
}

// Invocation parses a command line that runs Codex with exec.
func (a *Agent) Invocation(args []string) (headless.Invocation, bool) {
	before, command, after := flags.Parse(args).Cut()
	i := invocation{before: before, options: after, plain: after.Plain(), room: a}
	if command != execCommand && command != "e" || len(i.plain) > 0 && i.plain[0] == "review" {
		return nil, false
	}
	if len(i.plain) > 0 && i.plain[0] == "resume" {
		i.resumes, i.plain = true, i.plain[1:]
	}
	return i, true
}

// names reports whether the first plain argument is a session.
func (i invocation) names() bool {
	return i.resumes && !slices.Concat(i.before, i.options).Has("--last") && len(i.plain) > 0
}

func (i invocation) Prompted() bool {
	plain := i.plain
	if i.names() {
		plain = plain[1:]
	}
	return len(plain) > 0 && plain[0] != "-"
}

func (i invocation) Session() string {
	if !i.names() {
		return ""
	}
	return headless.PlainID(i.plain[0])
}

func (i invocation) Give(string) []string { return nil }

var bannerID = regexp.MustCompile(`(?m)^session id: ([0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})\s*$`)

// Begin reads the id that Codex prints first: in JSON on standard output, else for people on
// standard error. Without one no session began. Later output is the model's, and may mention any
// session.
func (i invocation) Begin(string) func(context.Context, headless.Ended) headless.Trail {
	return func(_ context.Context, run headless.Ended) headless.Trail {
		if i.options.Has("--ephemeral") {
			return headless.Trail{}
		}
		t := headless.Trail{Session: run.Session}
		if i.options.Has("--json", "--experimental-json") {
			t.Session = cmp.Or(headless.ToldID(run.Recording, "thread_id"), t.Session)
		} else {
			t.Session = cmp.Or(i.room.Begun(cmp.Or(run.Beside, run.Text)), t.Session)
		}
		if t.Session != "" {
			t.Transcript = i.room.Homes.File("sessions/*/*/*/rollout-*-" + t.Session + ".jsonl")
		}
		return t
	}
}

// Resume repeats every option: a continued session keeps neither its model nor its sandbox. Options
// stay before or after exec, where their meaning may differ. A work tree that was created for the
// session is not created again.
func (i invocation) Resume(t headless.Trail, prompt string) []string {
	const made = "--worktree"
	args := slices.Concat(i.before.Options(made), []string{execCommand}, i.options.Options("--last", "--all", "-i", "--image", made))
	if slices.Concat(i.before, i.options).Has(made) {
		if had, found, _ := rollout.LastTurn(context.Background(), t.Transcript); found { // else it continues here
			args = append(args, "-C", had.Cwd)
		}
	}
	return leash.WithPrompt(append(args, "resume", t.Session), prompt)
}
