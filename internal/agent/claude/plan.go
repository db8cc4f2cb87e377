package claude

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"resumed/internal/agent"
	"resumed/internal/agent/claude/startup"
	"resumed/internal/agent/claude/transcript"
	"resumed/internal/leash"
	"resumed/internal/program"
	"resumed/internal/resume"
)

// Plan returns how the session is continued now: by a headless run of the same session, in the
// directory it began in, with its settings.
func (a *Agent) Plan(ctx context.Context, s resume.Session, w agent.Words) (agent.Plan, error) {
	if err := ctx.Err(); err != nil {
		return agent.Plan{}, err
	}
	if !transcript.IsID(s.Key.ID) {
		return agent.Parked("the session id %q has characters that no id of %s has", s.Key.ID, Name), nil
	}
	if _, plan, stands, err := agent.StillStopped(ctx, a, s); !stands {
		return plan, err
	}
	cwd, _ := transcript.FirstCwd(agent.Line{Path: s.Transcript})
	cwd = cmp.Or(cwd, s.Cwd)
	if leave := agent.CheckDir(s, cwd); leave != nil {
		return agent.Plan{Leave: leave}, nil
	}
	return a.run(ctx, s, w, cwd)
}

// run returns the command that continues the session.
func (a *Agent) run(ctx context.Context, s resume.Session, w agent.Words, cwd string) (agent.Plan, error) {
	found, err := a.program(s)
	if err != nil {
		return a.Missing(), nil
	}
	if version := versionOf(found.Path); forksSessions(version) {
		return agent.Parked("Claude Code %s continues a session under a new id: update it to 2.0 or later", version), nil
	}
	had, err := transcript.LastSettings(ctx, s.Transcript)
	if err != nil {
		return agent.Plan{}, err
	}
	flags, newer := flagsOf(had)
	carried, _ := a.Carry(s, newer...)
	mode, left, parked := a.mode(had.Permission, s, cwd)
	if parked != "" {
		return agent.Parked("%s (unseen = %q): go on with: %s", parked, a.Unseen, a.GoOn(s)), nil
	}
	if mode != "" {
		flags = append([]string{"--permission-mode", mode}, flags...)
	}
	carried.LeftOut = append(carried.LeftOut, left...)
	env := a.Environment(found, s.Transcript)
	if mode == bypass && refusesBypass(env, s.StartedWith()) {
		return agent.Parked("the session ran with %s, which claude refuses to root outside a sandbox", bypass), nil
	}

	models, left := a.models(had, s, carried.Args)
	carried.LeftOut = append(carried.LeftOut, left...)
	args := slices.Concat([]string{"-p"}, carried.Args, []string{"--resume", s.Key.ID}, flags)
	if models.Fallback != "" {
		args = append(args, fallbackFlag, models.Fallback)
	}
	args = append(args, bounded(carried.Args, w.Most)...)
	run := a.Begin(found, cwd, carried, env, leash.WithPrompt(args, w.Prompt)...)
	run.Models = models
	run.Unset, run.Spare = a.unset(s.Transcript), a.Spare(s, cwd)
	return agent.Plan{Run: run}, nil
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

// program finds claude. If the session's own program is a version that forks sessions, it is not
// used.
func (a *Agent) program(s resume.Session) (program.Found, error) {
	if s.Program.Path != "" && forksSessions(versionOf(s.Program.Path)) {
		s.Program = resume.Program{}
	}
	return a.Find(s)
}

var _ agent.Starter = (*Agent)(nil)

// Start returns the command that begins the session of a task, with the task's id.
func (a *Agent) Start(task resume.Session) (agent.Plan, error) {
	plan := a.Open(task, agent.Opening{
		Args: []string{"-p", "--session-id", task.Key.ID}, Mode: "--permission-mode",
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
