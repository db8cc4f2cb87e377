package claude

import (
	"cmp"
	"os"
	"regexp"
	"slices"

	"resumed/internal/agent"
	"resumed/internal/agent/claude/startup"
	"resumed/internal/agent/claude/transcript"
	"resumed/internal/leash"
	"resumed/internal/resume"
)

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

// told returns the flags of which the transcript tells something newer.
func told(s transcript.Settings) []string {
	var told []string
	if modelName.MatchString(s.Model) {
		told = append(told, "--model")
	}
	if slices.Contains(efforts, s.Effort) {
		told = append(told, "--effort")
	}
	return told
}

// flagsOf returns the arguments that give a run these settings. A value that is
// not known is left out: Claude Code then falls back to its own default.
func flagsOf(s transcript.Settings) []string {
	var flags []string
	if s.Permission != "" {
		flags = append(flags, "--permission-mode", s.Permission)
	}
	if modelName.MatchString(s.Model) {
		flags = append(flags, "--model", s.Model)
	}
	if slices.Contains(efforts, s.Effort) {
		flags = append(flags, "--effort", s.Effort)
	}
	return flags
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
	case slices.Contains(asking, had) || seen && !startup.Driven(o.Args):
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
