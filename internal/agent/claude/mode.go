package claude

import (
	"cmp"
	"os"
	"regexp"
	"slices"
	"strconv"

	"resumed/internal/agent"
	"resumed/internal/agent/claude/startup"
	"resumed/internal/agent/claude/transcript"
	"resumed/internal/leash"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

// bypass is the mode without any permission checks. It is passed on where the
// session had it, and never added.
const bypass = "bypassPermissions"

// usualMode is the mode in which whatever needs a permission is asked for, and
// refused if no person is there to give it.
const usualMode = "default"

// judged is the mode in which a program judges what needs a permission.
const judged = "auto"

var (
	// permissionModes are ordered by what they allow without a question, least first.
	permissionModes = []string{"plan", "dontAsk", usualMode, "acceptEdits", judged, bypass}
	efforts         = []string{"low", "medium", "high", "xhigh", "max"}
	modelName       = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z._:@/\[\]-]*$`)
)

// wider reports whether a mode allows more than another one.
func wider(mode, than string) bool {
	return slices.Index(permissionModes, mode) > slices.Index(permissionModes, than)
}

// flagsOf returns the arguments that give a run these settings, and the flags of which the
// transcript so tells something newer than the start. A value that is not known is left out:
// Claude Code then falls back to its own default.
func flagsOf(s transcript.Settings) (flags, newer []string) {
	if modelName.MatchString(s.Model) {
		flags, newer = append(flags, "--model", s.Model), append(newer, "--model")
	}
	if slices.Contains(efforts, s.Effort) {
		flags, newer = append(flags, "--effort", s.Effort), append(newer, "--effort")
	}
	return flags, newer
}

// modeOf returns the permission mode that a command line asks for; empty: it says
// nothing of it.
func modeOf(args []string) string {
	line := startup.Flags.Parse(args)
	if line.Has("--dangerously-skip-permissions") {
		return bypass
	}
	return line.Value("--permission-mode")
}

// startedIn returns the mode that a session was started in, and the one that allows most of
// those that it could change to.
func (a *Agent) startedIn(s resume.Session, dir string) (start, most string) {
	args := s.StartedWith().Args
	line := startup.Flags.Parse(args)
	start = modeOf(args)
	if start == "" && !line.Has("--setting-sources", "--bare", "--safe-mode", "--restricted") { // else some settings do not count
		start = a.DefaultMode(s, dir)
	}
	inTerminal := start == "" && !line.Has("-p", "--print") // there new versions start in auto
	if !slices.Contains(permissionModes, start) {
		start = usualMode
	}
	switch {
	case line.Has("--allow-dangerously-skip-permissions"):
		return start, bypass
	case (inTerminal || line.Has("--enable-auto-mode")) && wider(judged, start):
		return start, judged
	default:
		return start, start
	}
}

// asking are the modes in which Claude Code asks, or a program that judges for it,
// before it does what might do harm.
var asking = []string{usualMode, "acceptEdits", "plan", judged}

// mode returns the permission mode that a session goes on in: the last that its
// transcript tells, else the one that it was started with. A transcript can narrow what the
// start allowed, never widen it. Where not all is known of how it was started, a mode that
// never asks may have been bounded by flags that were not seen: then it is the user's choice
// what becomes of it.
func (a *Agent) mode(had string, s resume.Session, dir string) (mode string, left []leash.Omission, parked string) {
	o := s.StartedWith()
	seen := o != nil && o.ArgsSeen
	if had == "" && seen {
		had = modeOf(o.Args)
	}
	if had != "" && !slices.Contains(permissionModes, had) {
		had = usualMode // what the user's settings say may allow more than the session did
	}
	asks := slices.Contains(asking, had)
	var why string
	switch {
	case seen && (asks || !startup.Driven(o.Args)):
		if start, most := a.startedIn(s, dir); wider(had, most) {
			return start, []leash.Omission{{What: had, Why: "the session was started with less: continued in " + start}}, ""
		}
		return had, nil, ""
	case asks:
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

// budgetFlag bounds what a run without a terminal spends. The request during which the sum
// is reached still ends.
const budgetFlag = "--max-budget-usd"

// bounded returns the arguments that bound what a run spends. A session that was started
// with a smaller bound of its own has that.
func bounded(carried []string, most float64) []string {
	if most <= 0 {
		return nil
	}
	own, err := strconv.ParseFloat(startup.Flags.Parse(carried).Value(budgetFlag), 64)
	if err == nil && own <= most {
		return nil
	}
	return []string{budgetFlag, strconv.FormatFloat(most, 'f', 2, 64)}
}

// fallbackFlag names what Claude Code goes on with where its model is overloaded. It
// tries its own model first, as often as ever; a limit is met by either of them.
const fallbackFlag = "--fallback-model"

// models says what a resume of the session may go on with. Only an overload lets it have
// another model: after a limit that would go round it. A session that was started with
// the flag has its own, whatever stopped it.
func (a *Agent) models(had transcript.Settings, s resume.Session, carried []string) (models resume.Models, left []leash.Omission) {
	switch {
	case a.fallback == "" || s.Limit.Class != limit.Overloaded || startup.Flags.Parse(carried).Has(fallbackFlag):
	case !modelName.MatchString(had.Model):
		left = []leash.Omission{{What: "fallback_model", Why: "the transcript does not record which model the session uses, so that it could not go back to it"}}
	case a.fallback == had.Model:
	default:
		models = resume.Models{Own: had.Model, Fallback: a.fallback}
	}
	return models, left
}
