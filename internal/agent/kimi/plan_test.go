package kimi

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/agenttest"
	"resumed/internal/process"
	"resumed/internal/procfs"
	"resumed/internal/resume"
)

func TestASessionIsContinuedWhereItStopped(t *testing.T) {
	for rule, c := range map[string]struct {
		lines  []any
		prompt string
		want   []string
	}{
		"as it is":                     {stopped(), "continue", []string{"-p", "continue"}},
		"a prompt is never an option":  {stopped(), "-x", []string{"--prompt=-x"}},
		"after a resume that was lost": {append(stopped(), said(time.Minute, "continue")), "continue", []string{"-p", "continue"}},
		"in the mode it was changed to": {
			[]any{inMode("manual"), said(0, "work"), inMode("auto"), overloaded(time.Second)}, "continue", []string{"-p", "continue"},
		},
		"its process was killed while it tried by itself": {
			[]any{inMode("auto"), said(0, "work"), line(retrying, time.Second, object{"delayMs": 2000, "errorMessage": "529 busy", "statusCode": 529})}, "continue",
			[]string{"-p", "continue"},
		},
	} {
		t.Run(rule, func(t *testing.T) {
			sc := newScene(t, c.lines...)
			plan := sc.plan(t, c.prompt)
			require.NotNil(t, plan.Run, "%+v", plan.Leave)
			require.Equal(t, append([]string{sc.program, "--session", sessionA}, c.want...), plan.Run.Argv)
			require.Equal(t, sc.session.Cwd, plan.Run.Dir)
			require.Empty(t, plan.Run.Env)
		})
	}
}

func TestASessionThatWentOnIsLeftAlone(t *testing.T) {
	for why, record := range map[string]any{
		"newer prompt": said(time.Minute, "never mind"),
		"moved on":     answered(time.Minute, "done"),
		"interrupted":  line(turnEnded, time.Minute, object{"reason": "cancelled"}),
	} {
		sc := newScene(t, stopped()...)
		sc.write(t, record)
		leave := sc.plan(t, "continue").Leave
		require.NotNil(t, leave)
		require.Contains(t, leave.Why, why)
		require.False(t, leave.Park)
	}
}

// kimi -p never asks, whatever the session's mode is: who wants to be asked is not
// gone around.
func TestASessionThatAsksIsNeverContinuedByARunThatDoesNot(t *testing.T) {
	for rule, lines := range map[string][]any{
		"asks for everything":             {inMode("manual"), said(0, "work"), overloaded(time.Second)},
		"asks for what is risky":          {inMode("yolo"), said(0, "work"), overloaded(time.Second)},
		"says nothing of its mode":        {said(0, "work"), overloaded(time.Second)},
		"has a mode of a later version":   {inMode("careful"), said(0, "work"), overloaded(time.Second)},
		"was told to ask after it failed": append(stopped(), inMode("manual")),
	} {
		leave := newScene(t, lines...).plan(t, "continue").Leave
		require.NotNil(t, leave, rule)
		require.Contains(t, leave.Why, "kimi -p never asks", rule)
		require.True(t, leave.Park, rule)
	}
}

func TestWhatWaitingDoesNotMendIsParked(t *testing.T) {
	for why, spoil := range map[string]func(*testing.T, *scene){
		"kimi was not found":     func(t *testing.T, sc *scene) { require.NoError(t, os.Remove(sc.program)) },
		"is gone":                func(_ *testing.T, sc *scene) { sc.session.Cwd = "/no/such/directory" },
		"the transcript is gone": func(t *testing.T, sc *scene) { require.NoError(t, os.Remove(sc.session.Transcript)) },
		"is none of kimi":        func(_ *testing.T, sc *scene) { sc.session.Key.ID = "--help" },
		"nobody saw":             func(_ *testing.T, sc *scene) { sc.agent.Unseen = agent.Park },
	} {
		sc := newScene(t, stopped()...)
		spoil(t, &sc)
		leave := sc.plan(t, "continue").Leave
		require.NotNil(t, leave, why)
		require.Contains(t, leave.Why, why)
		require.True(t, leave.Park)
	}
}

func TestAnotherHomeIsNamedToTheRun(t *testing.T) {
	sc := newScene(t, stopped()...)
	home, work := sc.agent.Homes.Roots[0], filepath.Join(t.TempDir(), "work")
	require.NoError(t, os.Rename(home, work))
	sc.agent = newAgent(t, home, work)
	sc.session.Transcript = strings.Replace(sc.session.Transcript, home, work, 1)
	require.Equal(t, []string{"KIMI_CODE_HOME=" + work}, sc.plan(t, "continue").Run.Env)
	require.Equal(t, "kimi:default", sc.agent.Sources()[0].Account)
	require.Equal(t, "kimi:"+work, sc.agent.Sources()[1].Account)
}

func (sc *scene) arguments(t *testing.T, o resume.Origin) []string {
	o.SeenAt = time.Now()
	sc.session.Origin = &o
	plan := sc.plan(t, "continue")
	require.NotNil(t, plan.Run, "%+v", plan.Leave)
	if len(plan.Run.Carried.Missing) > 0 {
		return nil // nothing is sent
	}
	return plan.Run.Argv[1:]
}

func TestAResumeLacksNoRestrictionAndHasNoGrantOfItsOwn(t *testing.T) {
	sc := newScene(t, stopped()...)
	agenttest.Leash(t, flags, []string{"-m", "--model"}, sc.arguments)
}

func TestASessionGoesOnAsItWasStarted(t *testing.T) {
	for line, want := range map[string]string{
		"--auto --model old --add-dir lib":                  "--add-dir /src/lib",
		"-p fix --skills-dir skills --output-format text":   "--skills-dir /src/skills",
		"--agent reviewer --plan --session x --not-known":   "--not-known",
		"--agent-file=reviewer.md --yolo --continue -m old": "",
	} {
		sc := newScene(t, stopped()...)
		got := sc.arguments(t, resume.Origin{Cwd: "/src", Args: flags.Keep(strings.Fields(line), false), ArgsSeen: true})
		require.Equal(t, strings.Fields("--session "+sessionA+" "+want+" -p continue"), got, line)
	}
}

func TestInvocations(t *testing.T) {
	agenttest.Invocations(t, newAgent(t), []agenttest.Called{
		{Rule: "flags", Line: "--prompt fix_it --model m --add-dir lib", Next: "--model m --add-dir lib --session ID -p continue"},
		{Rule: "continued", Line: "--continue -p fix_it", Next: "--session ID -p continue"},
		{Rule: "as another agent", Line: "-p x --agent reviewer", Next: "--session ID -p continue"},
		{Rule: "a terminal", Line: "--auto"},
		{Rule: "a subcommand", Line: "provider list"},
	})
	for _, flag := range []string{"-S", "--session", "-r", "--resume"} {
		i, ok := newAgent(t).Invocation([]string{"-p", "x", flag, sessionA})
		require.True(t, ok)
		require.Equal(t, sessionA, i.Session(), flag)
		require.Equal(t, []string{"--session", sessionA, "-p", "go"}, i.Resume(agent.Trail{Session: sessionA}, "go"))
	}
}

func TestWhatCanBeContinued(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv(homeVariable, "")
	a, err := New(Options{})
	require.NoError(t, err)
	const id = "session_" + agenttest.ID
	const told = `{"role":"meta","type":"session.resume_hint","session_id":"` + id + `","command":"kimi -r ` + id + `"}`
	dir := t.TempDir()
	ran := func(line, given, text string, meanwhile func()) agent.Trail {
		return agenttest.Ran(t, a, line, dir, meanwhile, agent.Ended{Session: given, Recording: agent.Recording{Text: text}})
	}
	require.Equal(t, agent.Trail{Session: id}, ran("-p fix --output-format stream-json", "", told, nil))
	require.Empty(t, ran("-p fix", "", told, nil), "the words of an answer are no word of its own")
	begins := func(id, cwd, prompt string) string {
		at := filepath.Join(a.Homes.Usual, "sessions", "wd_1", id)
		agenttest.Write(t, filepath.Join(at, "state.json"), fmt.Sprintf(`{"cwd":%q}`, cwd))
		agenttest.Write(t, filepath.Join(at, wireFile), fmt.Sprintf(`{"type":"turn.prompt","input":[{"type":"text","text":%q}],"time":1794816163350}`+"\n", prompt))
		return filepath.Join(at, wireFile)
	}
	var path string
	got := ran("-p fix", "", "", func() {
		begins("session_00000000-0000-4000-8000-000000000001", t.TempDir(), "fix")
		begins("session_00000000-0000-4000-8000-000000000002", dir, "another")
		path = begins(id, dir, "fix")
	})
	require.Equal(t, agent.Trail{Session: id, Transcript: path}, got)
}

func TestWhoHoldsASession(t *testing.T) {
	for rule, c := range map[string]struct {
		argv, exe, env, cwd string
		tty                 int
		want                *resume.Owner
	}{
		"a person in the directory":          {"kimi-code", "node", "TMUX_PANE=%3", "/src", 34816, &resume.Owner{PID: 42, Kind: "interactive", Tmux: "%3"}},
		"a run without a terminal":           {"kimi-code", "node", "", "/src", 0, &resume.Owner{PID: 42, Kind: "headless"}},
		"one that is only just starting":     {"node /n/.bin/kimi -p hi", "node", "", "/src", 34816, &resume.Owner{PID: 42, Kind: "headless"}},
		"one that is packed by npm":          {"node /n/@moonshot-ai/kimi-code/dist/main.mjs", "node", "", "/src", 34816, &resume.Owner{PID: 42, Kind: "interactive"}},
		"one that names it":                  {"node /n/.bin/kimi --session=" + sessionA, "node", "", "/elsewhere", 0, &resume.Owner{PID: 42, Kind: "interactive"}},
		"a run of ours that may be for it":   {"kimi-code", "node", agent.MarkVariable + "=other", "/src", 0, &resume.Owner{PID: 42, Kind: "headless"}},
		"nobody who lives elsewhere":         {"kimi-code", "node", "", "/elsewhere", 0, nil},
		"our own run":                        {"kimi-code", "node", agent.MarkVariable + "=m", "/src", 0, nil},
		"our own run that just starts":       {"node /n/.bin/kimi --session " + sessionA + " -p hi", "node", agent.MarkVariable + "=m", "/src", 0, nil},
		"our run of another that just began": {"node /n/.bin/kimi --session session_x -p hi", "node", agent.MarkVariable + "=other", "/src", 0, nil},
		"another program":                    {"vim", "vim", "", "/src", 34816, nil},
		"a script of another package":        {"node /n/other/dist/main.mjs", "node", "", "/src", 34816, nil},
	} {
		t.Run(rule, func(t *testing.T) {
			root := t.TempDir()
			dir := filepath.Join(root, "42")
			agenttest.Write(t, filepath.Join(dir, "cmdline"), strings.ReplaceAll(c.argv, " ", "\x00")+"\x00\x00\x00")
			agenttest.Write(t, filepath.Join(dir, "environ"), c.env)
			agenttest.Write(t, filepath.Join(dir, "stat"), fmt.Sprintf("42 (kimi-code) S 1 1 1 %d -1 0 0 0 0 0 0 0 0 0 20 0 1 0 100 0 0", c.tty))
			require.NoError(t, os.Symlink(c.cwd, filepath.Join(dir, "cwd")))
			require.NoError(t, os.Symlink("/usr/bin/"+c.exe, filepath.Join(dir, "exe")))
			a := newAgent(t)
			a.Processes = process.At(procfs.FS(root))
			owner, err := a.Owner(t.Context(), resume.Session{Key: resume.Key{ID: sessionA}, Cwd: "/src", Run: &resume.Run{Mark: "m"}})
			require.NoError(t, err)
			require.Equal(t, c.want, owner)
		})
	}
}
