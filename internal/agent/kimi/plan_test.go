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
	"resumed/internal/headless"
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
			[]any{inMode("auto"), said(0, "work"), line(retrying, time.Second, object{"delayMs": 2000, "errorMessage": "529 busy", "statusCode": 529})},
			"continue",
			[]string{"-p", "continue"},
		},
	} {
		t.Run(rule, func(t *testing.T) {
			newScene(t, c.lines...).MustGoOn(t, c.prompt, append([]string{"--session", sessionA}, c.want...)...)
		})
	}
}

func TestASessionThatWentOnIsLeftAlone(t *testing.T) {
	agenttest.WentOn(t, func() *scene { return newScene(t, stopped()...) }, map[string]any{
		"newer prompt": said(time.Minute, "never mind"),
		"moved on":     answered(time.Minute, "done"),
		"interrupted":  line(turnEnded, time.Minute, object{"reason": "cancelled"}),
	})
}

// kimi -p never asks, whatever the session's mode: a person who wants to be asked is not bypassed.
func TestASessionThatAsksIsNeverContinuedByARunThatDoesNot(t *testing.T) {
	for rule, lines := range map[string][]any{
		"asks for everything":             {inMode("manual"), said(0, "work"), overloaded(time.Second)},
		"asks for what is risky":          {inMode("yolo"), said(0, "work"), overloaded(time.Second)},
		"says nothing of its mode":        {said(0, "work"), overloaded(time.Second)},
		"has a mode of a later version":   {inMode("careful"), said(0, "work"), overloaded(time.Second)},
		"was told to ask after it failed": append(stopped(), inMode("manual")),
	} {
		t.Run(rule, func(t *testing.T) { newScene(t, lines...).MustLeave(t, "kimi -p never asks", true) })
	}
}

func TestWhatWaitingDoesNotMendIsParked(t *testing.T) {
	for why, spoil := range agenttest.Spoilt[*agent.Described]("kimi") {
		sc := newScene(t, stopped()...)
		spoil(t, sc)
		sc.MustLeave(t, why, true)
	}
}

func TestAnotherHomeIsNamedToTheRun(t *testing.T) {
	agenttest.AnotherHome(t, newScene(t, stopped()...), described, "KIMI_CODE_HOME")
}

func TestAResumeLacksNoRestrictionAndHasNoGrantOfItsOwn(t *testing.T) {
	sc := newScene(t, stopped()...)
	agenttest.Leash(t, flags, []string{"-m", "--model"}, sc.Arguments)
}

func TestASessionGoesOnAsItWasStarted(t *testing.T) {
	for line, want := range map[string]string{
		"--auto --model old --add-dir lib":                  "--add-dir /src/lib",
		"-p fix --skills-dir skills --output-format text":   "--skills-dir /src/skills",
		"--agent reviewer --plan --session x --not-known":   "--not-known",
		"--agent-file=reviewer.md --yolo --continue -m old": "",
	} {
		sc := newScene(t, stopped()...)
		got := sc.Arguments(t, resume.Origin{Cwd: "/src", Args: flags.Storable(strings.Fields(line), false), ArgsSeen: true})
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
		require.Equal(t, []string{"--session", sessionA, "-p", "go"}, i.Resume(headless.Continuation{Session: sessionA}, "go"))
	}
}

func TestWhatCanBeContinued(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv(homeVariable, "")
	a, err := described.New(agent.Options{})
	require.NoError(t, err)
	const id = "session_" + agenttest.ID
	const told = `{"role":"meta","type":"session.resume_hint","session_id":"` + id + `","command":"kimi -r ` + id + `"}`
	dir := t.TempDir()
	ran := func(line, given, text string, meanwhile func()) headless.Continuation {
		return agenttest.Ran(t, a, line, dir, meanwhile, headless.Ended{Session: given, Printed: headless.Printed{Stdout: text}})
	}
	require.Equal(t, headless.Continuation{Session: id}, ran("-p fix --output-format stream-json", "", told, nil))
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
	require.Equal(t, headless.Continuation{Session: id, Transcript: path}, got)
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
