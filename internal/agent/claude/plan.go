package claude

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"resumed/internal/agent"
	"resumed/internal/agent/claude/startup"
	"resumed/internal/agent/claude/transcript"
	"resumed/internal/lazy"
	"resumed/internal/leash"
	"resumed/internal/limit"
	"resumed/internal/lines"
	"resumed/internal/resume"
)

// Plan continues the session by a headless run, in its directory, with its settings.
func (a *Agent) Plan(ctx context.Context, s resume.Session, prompt string) (agent.Plan, error) {
	if !transcript.IsID(s.Key.ID) {
		return agent.Parked("the session id %q has characters that no id of %s has", s.Key.ID, Name), nil
	}
	if _, plan, still, err := agent.StillStopped(ctx, a, s); !still {
		return plan, err
	}
	if forkingVersion(s.Program().Path) != "" {
		other := *s.Origin
		other.Program, s.Origin = resume.Program{}, &other // another one may be installed
	}
	found, _ := a.Find(s) // if there is none, Run says so
	if version := forkingVersion(found.Path); version != "" {
		return agent.Parked("Claude Code %s continues a session under a new id: update it to 2.0 or later", version), nil
	}
	had, err := transcript.LastSettings(ctx, s.Transcript)
	if err != nil {
		return agent.Plan{}, err
	}
	return a.run(s, prompt, had, directory(s, had)), nil
}

// directory prefers that of the process, because the settings of the project are read there.
func directory(s resume.Session, had transcript.Settings) string {
	if o := s.StartedWith(); o != nil && o.Sandbox == "" && o.Cwd != "" {
		return o.Cwd
	}
	first, _ := transcript.FirstCwd(lines.Line{Path: s.Transcript})
	return cmp.Or(had.Cwd, first, s.Cwd)
}

func (a *Agent) run(s resume.Session, prompt string, had transcript.Settings, cwd string) agent.Plan {
	flags, newer := flagsOf(had)
	carried, _ := a.Carry(s, newer...)
	mode, left, unproven := a.mode(had.Permission, s, cwd)
	if mode != "" {
		flags = append([]string{"--permission-mode", mode}, flags...)
	}
	carried.LeftOut = append(carried.LeftOut, left...)
	models, left := a.models(had, s, carried.Args)
	carried.LeftOut = append(carried.LeftOut, left...)
	args := slices.Concat([]string{"-p"}, carried.Args, []string{"--resume", s.Key.ID}, flags)
	if models.Fallback != "" {
		args = append(args, fallbackFlag, models.Fallback)
	}
	plan := a.Run(s, cwd, carried, leash.WithPrompt(args, prompt)...)
	run := plan.Run
	if run == nil {
		return plan
	}
	if file, variable := a.Acting(s, cwd); variable != "" {
		return agent.Parked("%s sets %s, with which Claude Code continues by itself when it starts: a resume would be two turns; take it out and retry, or go on with: %s",
			file, variable, a.ContinueCommand(s))
	}
	if mode == bypass && refusesBypass(run.Env, s.StartedWith()) {
		return agent.Parked("the session ran with %s, which claude refuses to root outside a sandbox", bypass)
	}
	run.Models, run.Unproven = models, unproven
	effective := cmp.Or(mode, a.Settings(s, cwd).Permissions.DefaultMode, usualMode)
	run.Permission = resume.Permission{Mode: effective, Rank: a.Rank(effective)}
	run.PlanOnly, run.AskMode = mode == planMode, slices.Contains(asking, mode)
	run.Unset, run.Optional = a.unset(s.Transcript), a.Optional(s, cwd)
	return plan
}

// unset are variables of a Claude Code in whose terminal the daemon was started, and another home.
func (a *Agent) unset(transcript string) []string {
	names := []string{
		"CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_CHILD_SESSION",
		"CLAUDE_CODE_SESSION_ATTENDED", "CLAUDE_PID", "CLAUDE_EFFORT",
	}
	if root := a.Homes.Of(transcript); root != a.Homes.Usual && a.Elsewhere(root) == "" {
		names = append(names, startup.HomeVariable)
	}
	return names
}

var _ agent.Starter = (*Agent)(nil)

// Start returns the command that begins the session of a task, with the task's id.
func (a *Agent) Start(task resume.Session) (agent.Plan, error) {
	plan := a.Open(task, agent.Opening{
		Args: []string{"-p", "--session-id", task.Key.ID}, Mode: "--permission-mode", Modes: permissionModes,
		Say: func(args []string, prompt string) []string {
			if len(strings.Fields(prompt)) == 1 {
				prompt += " " // a single word may be the name of a command, such as update
			}
			return leash.WithPrompt(args, prompt)
		},
	})
	if plan.Run != nil {
		plan.Run.Unset = a.unset("")
	}
	return plan, nil
}

var versionName = lazy.Regexp(`^\d+\.\d+\.\d+$`)

// versionOf does not run the program; "": its path does not tell.
func versionOf(program string) string {
	target, err := filepath.EvalSymlinks(program)
	if err != nil || program == "" {
		return ""
	}
	// The native installer names the program after its version; npm puts a package.json near it.
	if name := filepath.Base(target); versionName().MatchString(name) {
		return name
	}
	for _, dir := range []string{
		filepath.Dir(target),
		filepath.Join(filepath.Dir(target), ".."),
		filepath.Join(filepath.Dir(target), "node_modules", "@anthropic-ai", "claude-code"),
	} {
		var p struct {
			Name    string `json:"name"`
			Version string `json:"version"`
		}
		known := agent.ReadJSON(filepath.Join(dir, "package.json"), &p)
		if known && strings.HasPrefix(p.Name, "@anthropic-ai/claude-code") && versionName().MatchString(p.Version) {
			return p.Version
		}
	}
	return ""
}

// forkingVersion returns the version of an installed claude if it continues a session under a new
// id, in a new file, else "". The result could not be observed, and the prompt would be sent again.
func forkingVersion(program string) string {
	version := versionOf(program)
	if strings.HasPrefix(version, "0.") || strings.HasPrefix(version, "1.") {
		return version
	}
	return ""
}

// bypass is the mode without permission checks. A resume gets it only if the session had it.
const bypass = "bypassPermissions"

// usualMode asks for every permission. Without a person to answer, it is refused.
const usualMode = "default"

// planMode is the mode in which Claude Code changes nothing.
const planMode = "plan"

// judged is the mode in which a program decides about permissions.
const judged = "auto"

var (
	// permissionModes are ordered by what they allow without asking, least first.
	permissionModes = []string{planMode, "dontAsk", usualMode, "acceptEdits", judged, bypass}
	efforts         = []string{"low", "medium", "high", "xhigh", "max"}
	modelName       = lazy.Regexp(`^[0-9A-Za-z][0-9A-Za-z._:@/\[\]-]*$`)
)

func wider(mode, than string) bool {
	return slices.Index(permissionModes, mode) > slices.Index(permissionModes, than)
}

// flagsOf returns the arguments for these settings, and the flags of the start that they replace.
// An unknown value is omitted: Claude Code then uses its own default.
func flagsOf(s transcript.Settings) (flags, newer []string) {
	if modelName().MatchString(s.Model) {
		flags, newer = append(flags, "--model", s.Model), append(newer, "--model")
	}
	if slices.Contains(efforts, s.Effort) {
		flags, newer = append(flags, "--effort", s.Effort), append(newer, "--effort")
	}
	return flags, newer
}

func modeOf(args []string) string {
	line := startup.Flags.Parse(args)
	if line.Has("--dangerously-skip-permissions") {
		return bypass
	}
	return line.Value("--permission-mode")
}

// startedIn returns the mode of the session's start, and the widest mode that it could change to.
func (a *Agent) startedIn(s resume.Session, dir string) (start, most string) {
	args := s.StartedWith().Args
	line := startup.Flags.Parse(args)
	start = modeOf(args)
	if start == "" {
		start = a.StartMode(s, dir)
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

// asking are the modes in which a person or a program is asked before anything that may do harm.
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
	start, most := a.startedIn(s, dir)
	now := cmp.Or(had, a.ModeNow(s, dir)) // what a run without a flag would get
	if wider(now, most) || now != "" && !slices.Contains(permissionModes, now) {
		return start, []leash.Omission{{What: now, Why: "the session was started with less: continued in " + start}}, ""
	}
	return had, nil, ""
}

// refusesBypass reports whether claude would refuse to run without permission checks.
func refusesBypass(env []string, o *resume.Origin) bool {
	if os.Geteuid() != 0 || slices.Contains(env, inSandbox+"=1") {
		return false
	}
	if o != nil && o.EnvSeen {
		return !slices.Contains(o.Env, resume.Variable{Name: inSandbox, Value: "1"})
	}
	return os.Getenv(inSandbox) != "1"
}

const inSandbox = "IS_SANDBOX"

// fallbackFlag names the model to use if its own, which is tried first, is overloaded.
const fallbackFlag = "--fallback-model"

// models returns the models for a resume of the session. Another model is allowed only after an
// overload: after a limit it would be a way around it. A session that was started with the flag
// keeps its own value in any case.
func (a *Agent) models(had transcript.Settings, s resume.Session, carried []string) (models resume.Models, left []leash.Omission) {
	switch {
	case a.fallback == "" || a.fallback == had.Model || s.Limit.Class != limit.Overloaded || startup.Flags.Parse(carried).Has(fallbackFlag):
		return models, nil
	case !modelName().MatchString(had.Model):
		return models, []leash.Omission{{What: "fallback_model", Why: "the transcript does not record which model the session uses, so that it could not go back to it"}}
	default:
		return resume.Models{Own: had.Model, Fallback: a.fallback}, nil
	}
}
