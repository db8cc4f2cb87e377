package claude

import (
	"bytes"
	"cmp"
	"context"
	"os"
	"regexp"
	"slices"

	"resumed/internal/agent"
	"resumed/internal/leash"
	"resumed/internal/resume"
)

// settings is what a session ran with and what a resumed run does not take
// over by itself.
type settings struct {
	permission string
	model      string
	effort     string
}

// bypass is the mode without any permission checks. It is passed on where the
// session had it, and never added.
const bypass = "bypassPermissions"

// usualMode is the mode in which whatever needs a permission is asked for, and
// refused where nobody is there to give it.
const usualMode = "default"

var (
	permissionModes = []string{usualMode, "acceptEdits", "plan", "auto", "dontAsk", bypass}
	efforts         = []string{"low", "medium", "high", "xhigh", "max"}
	modelName       = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z._:@/\[\]-]*$`)
)

// maxSettingsLines bounds how far back settings are looked for: in one long
// turn there may be many records since the last prompt.
const maxSettingsLines = 20_000

// lastSettings reads what the session ran with last: the permission mode is
// with its last prompt, or in a record of its own since it was changed; model and effort are with its last answer. Versions
// before 2.1 record none of them.
func lastSettings(ctx context.Context, transcript string) (settings, error) {
	var (
		had             settings
		prompt, answer  bool
		whole           bool // the turn of that answer was looked through: another model may have taken it over
		visited         int
		quotedMode      = []byte(`"permissionMode"`)
		quotedRequested = []byte(`"requestedModel"`)
	)
	err := agent.LinesBack(ctx, transcript, func(line agent.Line) bool {
		visited++
		if before, ok := fellBack(line.Data, had.model); ok && answer && !whole {
			had.model = before // and on: one may have followed another
		}
		mayPrompt := !(prompt && whole) && bytes.Contains(line.Data, quotedMode)
		mayAnswer := !answer && bytes.Contains(line.Data, quotedRequested)
		if mayPrompt || mayAnswer {
			r, ok := parse(line.Data)
			switch {
			case !ok || r.IsSidechain:
			case mayPrompt && (r.Type == "user" || r.Type == "permission-mode") && r.Permission != "":
				if !prompt {
					had.permission, prompt = r.Permission, true
				}
				whole = whole || answer && r.Type == "user"
			case mayAnswer && r.moved():
				had.model, had.effort, answer = r.Model, r.Effort, true
			}
		}
		return visited < maxSettingsLines && !(prompt && answer && whole)
	})
	return had, err
}

// told returns the flags of which the transcript tells something newer.
func (s settings) told() []string {
	var told []string
	if modelName.MatchString(s.model) {
		told = append(told, "--model")
	}
	if slices.Contains(efforts, s.effort) {
		told = append(told, "--effort")
	}
	return told
}

// flags returns the arguments that give a run these settings. A value that is
// not known is left out: Claude Code then falls back to its own default.
func (s settings) flags() []string {
	var flags []string
	if s.permission != "" {
		flags = append(flags, "--permission-mode", s.permission)
	}
	if modelName.MatchString(s.model) {
		flags = append(flags, "--model", s.model)
	}
	if slices.Contains(efforts, s.effort) {
		flags = append(flags, "--effort", s.effort)
	}
	return flags
}

// modeOf returns the permission mode that a command line asks for; empty: it says
// nothing of it.
func modeOf(args []string) string {
	line := flags.Parse(args)
	if line.Has("--dangerously-skip-permissions") {
		return bypass
	}
	return line.Value("--permission-mode")
}

// asking are the modes in which Claude Code asks, or a program that judges for it,
// before it does what might do harm.
var asking = []string{usualMode, "acceptEdits", "plan", "auto"}

// mode returns the permission mode that a session goes on in: the last that its
// transcript tells, else the one that it was started with. Where not all is known
// of how it was started, a mode that never asks may have been bounded by flags that
// nobody saw: then it is the user's choice what becomes of it.
func (a *Agent) mode(had string, s resume.Session) (mode string, left []leash.Omission, parked string) {
	o := s.StartedWith()
	seen := o != nil && o.ArgsSeen
	if had == "" && seen {
		had = modeOf(o.Args)
	}
	if had != "" && !slices.Contains(permissionModes, had) {
		had = usualMode // what the user's settings say may allow more than the session did
	}
	var why string
	switch {
	case slices.Contains(asking, had) || seen && !driven(o.Args):
		return had, nil, ""
	case seen:
		why = "another program drove the session, and may have bounded it"
	default:
		why = "its command line was never seen, and may have bounded it"
	}
	what := cmp.Or(had, "its permission mode, which is not known")
	switch a.Unseen {
	case agent.SameMode:
		return had, nil, ""
	case agent.Park:
		return "", nil, what + ": " + why
	default:
		return usualMode, []leash.Omission{{What: what, Why: why + ": continued in " + usualMode + ", which asks"}}, ""
	}
}

// refusesBypass reports whether claude, run with env for a session that was started
// like that, would refuse to go on without permission checks.
func refusesBypass(env []string, o *resume.Origin) bool {
	if os.Geteuid() != 0 || slices.Contains(env, inSandbox+"=1") {
		return false
	}
	if o != nil && o.EnvSeen {
		return !slices.Contains(o.Env, resume.Variable{Name: inSandbox, Value: "1"})
	}
	return os.Getenv(inSandbox) != "1"
}

// inSandbox is the variable by which root says that there is nothing to lose.
const inSandbox = "IS_SANDBOX"
