package claude

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"resumed/internal/agent"
	"resumed/internal/resume"
)

// Plan says how the session is continued now: by a headless run of the same
// session, in the directory it began in, with the settings it had.
func (a *Agent) Plan(ctx context.Context, s resume.Session, w agent.Words) (agent.Plan, error) {
	if err := ctx.Err(); err != nil {
		return agent.Plan{}, err
	}
	if !plainName.MatchString(s.Key.ID) {
		return park(fmt.Sprintf("the session id %q has characters that no id of %s has", s.Key.ID, Name)), nil
	}
	last, found, err := agent.LastOf(a, s)
	if errors.Is(err, fs.ErrNotExist) {
		return park("the transcript is gone"), nil
	}
	if err != nil {
		return agent.Plan{}, err
	}
	if why := standsBack(s, last, found); why != "" {
		return agent.Plan{Leave: &agent.Leave{Why: why}}, nil
	}
	cwd, ok := firstCwd(s.Transcript)
	if !ok {
		cwd = s.Cwd
	}
	if err := agent.CheckDir(cwd); err != nil {
		return park(err.Error()), nil
	}
	return a.run(s, w, cwd)
}

func park(why string) agent.Plan { return agent.Plan{Leave: &agent.Leave{Why: why, Park: true}} }

// standsBack returns why the session is not continued by what its transcript
// says last, or nothing where it stands where it stopped.
func standsBack(s resume.Session, last agent.Evidence, found bool) string {
	if !found {
		return "the transcript does not say any more that the session stopped"
	}
	if last.Key != s.Key {
		return fmt.Sprintf("the transcript goes on as session %s", last.Key.ID)
	}
	return agent.StandsBack(s, last.Event, time.Now())
}

// run returns the command that continues the session.
func (a *Agent) run(s resume.Session, w agent.Words, cwd string) (agent.Plan, error) {
	program, err := a.program(s)
	if err != nil {
		return park("claude was not found: set command in [[agent]]"), nil
	}
	if version := versionOf(program.Path); forksSessions(version) {
		return park("Claude Code " + version + " continues a session under a new id: update it to 2.0 or later"), nil
	}
	had, err := lastSettings(s.Transcript)
	if err != nil {
		return agent.Plan{}, err
	}
	env := a.environment(program, s.Transcript)
	if had.permission == bypass && refusesBypass(env) {
		return park("the session ran with " + bypass + ", which claude refuses to root outside a sandbox"), nil
	}

	argv := append(program.Argv(), "-p", "--resume", s.Key.ID)
	argv = append(argv, had.flags()...)
	if strings.HasPrefix(w.Prompt, "-") {
		argv = append(argv, "--")
	}
	return agent.Plan{Run: &agent.Command{Argv: append(argv, w.Prompt), Dir: cwd, Env: env}}, nil
}

// environment returns what a run of that transcript's session is given.
func (a *Agent) environment(program agent.Program, transcript string) []string {
	env := program.Environment(a.env)
	root := a.homeOf(transcript).root
	usual := os.Getenv("CLAUDE_CONFIG_DIR")
	// Naming the usual home would move .claude.json, and with it the login.
	if root != filepath.Join(a.userDir, ".claude") && root != usual {
		env = append(env, "CLAUDE_CONFIG_DIR="+root)
	}
	return env
}

// program finds claude: as configured, as the session was run with, in PATH, or
// where it is usually put. A version that forks sessions is not taken because a
// session was run with it.
func (a *Agent) program(s resume.Session) (agent.Program, error) {
	recorded := s.Program
	if recorded.Path != "" && forksSessions(versionOf(recorded.Path)) {
		recorded = resume.Program{}
	}
	return agent.Search{Name: "claude", Command: a.command, Places: a.places()}.Find(recorded)
}

// places returns where claude is usually installed.
func (a *Agent) places() []string {
	return append([]string{filepath.Join(a.userDir, ".claude", "local")}, agent.UsualPlaces(a.userDir)...)
}
