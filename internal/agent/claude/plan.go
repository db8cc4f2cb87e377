package claude

import (
	"cmp"
	"context"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"resumed/internal/agent"
	"resumed/internal/agent/claude/startup"
	"resumed/internal/agent/claude/transcript"
	"resumed/internal/leash"
	"resumed/internal/lines"
	"resumed/internal/resume"
)

// Plan returns how the session is continued now: by a headless run of the same session, in its
// directory, with its settings.
func (a *Agent) Plan(ctx context.Context, s resume.Session, w agent.Words) (agent.Plan, error) {
	if !transcript.IsID(s.Key.ID) {
		return agent.Parked("the session id %q has characters that no id of %s has", s.Key.ID, Name), nil
	}
	if _, plan, still, err := agent.StillStopped(ctx, a, s); !still {
		return plan, err
	}
	if forkingVersion(s.Program.Path) != "" {
		s.Program = resume.Program{} // another one may be installed
	}
	found, _ := a.Find(s) // if there is none, Run says so
	if version := forkingVersion(found.Path); version != "" {
		return agent.Parked("Claude Code %s continues a session under a new id: update it to 2.0 or later", version), nil
	}
	had, err := transcript.LastSettings(ctx, s.Transcript)
	if err != nil {
		return agent.Plan{}, err
	}
	return a.run(s, w, had, directory(s, had)), nil
}

// directory returns the directory in which the session continues: that of its process, because the
// settings of the project are read there, else that of its newest record.
func directory(s resume.Session, had transcript.Settings) string {
	if o := s.StartedWith(); o != nil && o.Sandbox == "" && o.Cwd != "" {
		return o.Cwd
	}
	first, _ := transcript.FirstCwd(lines.Line{Path: s.Transcript})
	return cmp.Or(had.Cwd, first, s.Cwd)
}

// run returns the plan to continue a session that had these settings, in that directory.
func (a *Agent) run(s resume.Session, w agent.Words, had transcript.Settings, cwd string) agent.Plan {
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
	args = append(args, bounded(carried.Args, w.Most)...)
	plan := a.Run(s, cwd, carried, leash.WithPrompt(args, w.Prompt)...)
	run := plan.Run
	if run == nil {
		return plan
	}
	if mode == bypass && refusesBypass(run.Env, s.StartedWith()) {
		return agent.Parked("the session ran with %s, which claude refuses to root outside a sandbox", bypass)
	}
	run.Models, run.Unproven = models, unproven
	run.PlanOnly, run.Asks = mode == planMode, slices.Contains(asking, mode)
	run.Unset, run.Spare = a.unset(s.Transcript), a.Spare(s, cwd)
	return plan
}

// unset are the daemon's variables that a run must not inherit: those of a Claude Code in whose
// terminal the daemon was started, and another home.
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

var versionName = regexp.MustCompile(`^\d+\.\d+\.\d+$`)

// versionOf returns the version of an installed claude, or "" if its path does not tell. It does
// not run the program.
func versionOf(program string) string {
	target, err := filepath.EvalSymlinks(program)
	if err != nil || program == "" {
		return ""
	}
	// The native installer names the program after its version; npm puts a package.json beside
	// the program, or below its wrapper.
	if name := filepath.Base(target); versionName.MatchString(name) {
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
		if known && strings.HasPrefix(p.Name, "@anthropic-ai/claude-code") && versionName.MatchString(p.Version) {
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
