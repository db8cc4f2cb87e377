package claude

import (
	"os"
	"regexp"
	"slices"
	"strconv"

	"resumed/internal/agent/claude/startup"
	"resumed/internal/agent/claude/transcript"
	"resumed/internal/leash"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

// bypass is the mode without permission checks. A resume gets it only if the session had it.
const bypass = "bypassPermissions"

// usualMode is the mode that asks for every permission. Without a person to answer, it is
// refused.
const usualMode = "default"

// planMode is the mode in which Claude Code changes nothing.
const planMode = "plan"

// judged is the mode in which a program decides about permissions.
const judged = "auto"

var (
	// permissionModes are ordered by what they allow without asking, least first.
	permissionModes = []string{planMode, "dontAsk", usualMode, "acceptEdits", judged, bypass}
	efforts         = []string{"low", "medium", "high", "xhigh", "max"}
	modelName       = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z._:@/\[\]-]*$`)
)

// wider reports whether a mode allows more than another one.
func wider(mode, than string) bool {
	return slices.Index(permissionModes, mode) > slices.Index(permissionModes, than)
}

// flagsOf returns the arguments for these settings, and the flags of the start that they replace.
// An unknown value is omitted: Claude Code then uses its own default.
func flagsOf(s transcript.Settings) (flags, newer []string) {
	if modelName.MatchString(s.Model) {
		flags, newer = append(flags, "--model", s.Model), append(newer, "--model")
	}
	if slices.Contains(efforts, s.Effort) {
		flags, newer = append(flags, "--effort", s.Effort), append(newer, "--effort")
	}
	return flags, newer
}

// modeOf returns the permission mode of a command line; empty: none is given.
func modeOf(args []string) string {
	line := startup.Flags.Parse(args)
	if line.Has("--dangerously-skip-permissions") {
		return bypass
	}
	return line.Value("--permission-mode")
}

// startedIn returns the mode that a session was started in, and the widest mode that it could
// change to.
func (a *Agent) startedIn(s resume.Session, dir string) (start, most string) {
	args := s.StartedWith().Args
	line := startup.Flags.Parse(args)
	start = modeOf(args)
	if start == "" && !line.Has("--setting-sources", "--bare", "--safe-mode", "--restricted") { // else some settings are ignored
		start = a.Settings(s, dir).Permissions.DefaultMode
	}
	inTerminal := start == "" && !line.Has("-p", "--print") // new versions then start in auto
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

// asking are the modes in which a person, or a program that decides for them, is asked before
// anything that may do harm.
var asking = []string{usualMode, "acceptEdits", planMode, judged}

// mode returns the permission mode in which a session continues: the last one in its transcript,
// else the one of its start. A transcript can narrow what the start allowed, never widen it.
// unproven is set for a mode that never asks, if the program that drove the session may have
// restricted it by other means than flags.
func (a *Agent) mode(had string, s resume.Session, dir string) (mode string, left []leash.Omission, unproven string) {
	o := s.StartedWith()
	seen := o != nil && o.ArgsSeen
	if had == "" && seen {
		had = modeOf(o.Args)
	}
	if had != "" && !slices.Contains(permissionModes, had) {
		had = usualMode // the default in the user's settings may allow more than the session had
	}
	switch {
	case !seen:
		return had, nil, ""
	case !slices.Contains(asking, had) && startup.Driven(o.Args):
		return had, nil, "another program drove the session, and may have restricted it"
	}
	if start, most := a.startedIn(s, dir); wider(had, most) {
		return start, []leash.Omission{{What: had, Why: "the session was started with less: continued in " + start}}, ""
	}
	return had, nil, ""
}

// refusesBypass reports whether claude, run with env for a session of this origin, would refuse
// to continue without permission checks.
func refusesBypass(env []string, o *resume.Origin) bool {
	if os.Geteuid() != 0 || slices.Contains(env, inSandbox+"=1") {
		return false
	}
	if o != nil && o.EnvSeen {
		return !slices.Contains(o.Env, resume.Variable{Name: inSandbox, Value: "1"})
	}
	return os.Getenv(inSandbox) != "1"
}

// inSandbox is the variable with which root confirms to be in a sandbox.
const inSandbox = "IS_SANDBOX"

// budgetFlag bounds what a run without a terminal spends. The request that reaches the bound
// still completes.
const budgetFlag = "--max-budget-usd"

// bounded returns the arguments that bound what a run spends. A smaller bound from the session's
// start is kept.
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

// fallbackFlag names the model that Claude Code uses if its own is overloaded. It always tries
// its own model first. A limit stops either model.
const fallbackFlag = "--fallback-model"

// models returns the models for a resume of the session. Another model is allowed only after an
// overload: after a limit it would be a way around it. A session that was started with the flag
// keeps its own value in any case.
func (a *Agent) models(had transcript.Settings, s resume.Session, carried []string) (models resume.Models, left []leash.Omission) {
	switch {
	case a.fallback == "" || a.fallback == had.Model || s.Limit.Class != limit.Overloaded || startup.Flags.Parse(carried).Has(fallbackFlag):
		return models, nil
	case !modelName.MatchString(had.Model):
		return models, []leash.Omission{{What: "fallback_model", Why: "the transcript does not record which model the session uses, so that it could not go back to it"}}
	default:
		return resume.Models{Own: had.Model, Fallback: a.fallback}, nil
	}
}
