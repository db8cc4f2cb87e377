package pi

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

// scene is a stopped session on disk and a pi to continue it with.
type scene = agenttest.Scene[*agent.Described]

func newScene(t *testing.T, records ...any) *scene {
	t.Setenv(homeVariable, "")
	inHome := func(t testing.TB, roots ...string) *agent.Described {
		return newAgent(t, filepath.Join(roots[0], "agent"))
	}
	sc := agenttest.NewScene(t, "pi", sessionA, ".pi/agent/sessions/--src--/"+fileA, inHome)
	sc.Write(t, object{"type": header, "version": 3, "id": sessionA, "cwd": sc.Session.Cwd})
	sc.Write(t, records...)
	return sc
}

func withModel() object {
	return line(remodelled, 0, object{"provider": "fake", "modelId": "org/fast:1"})
}

func stopped() []any { return []any{withModel(), said(0, "work"), failed(time.Second, "529: busy")} }

func TestASessionIsContinuedWhereItStopped(t *testing.T) {
	model := []string{"--model", "org/fast:1", "--provider", "fake"}
	for rule, c := range map[string]struct {
		records []any
		prompt  string
		want    []string
	}{
		"as it is":                     {stopped(), "continue", []string{"-p", "continue"}},
		"a prompt is never an option":  {stopped(), "-x", []string{"-p", "--", "-x"}},
		"a prompt is never a file":     {stopped(), "@x", []string{"-p", " @x"}},
		"after a resume that was lost": {append(stopped(), said(time.Minute, "continue")), "continue", []string{"-p", "continue"}},
		"its process was killed while it tried by itself": {
			append(stopped(), line("context_edit", time.Second, object{"targetId": "x", "replacement": nil})), "continue", []string{"-p", "continue"},
		},
		"with the tools that it had": {
			append(stopped(), offered(tools("read", "grep", "bash"), nil), offered(tools("ls"), tools("bash"))),
			"continue",
			[]string{"--tools", "grep,ls,read", "-p", "continue"},
		},
		"with none of them": {
			append(stopped(), offered(tools("read"), nil), offered(nil, tools("read"))), "continue", []string{"--no-tools", "-p", "continue"},
		},
	} {
		t.Run(rule, func(t *testing.T) {
			newScene(t, c.records...).MustGoOn(t, c.prompt, append(append([]string{"--session", sessionA}, model...), c.want...)...)
		})
	}
}

func TestASessionThatWentOnIsLeftAlone(t *testing.T) {
	agenttest.WentOn(t, func() *scene { return newScene(t, stopped()...) }, map[string]any{
		"newer prompt": said(time.Minute, "never mind"),
		"moved on":     answered(time.Minute, "done"),
		"interrupted":  says("assistant", time.Minute, object{"content": []object{}, "stopReason": "aborted"}),
	})
}

// pi continues with any model that it has a key for, if it does not find that of the session.
func TestASessionIsNotContinuedWithAnotherModel(t *testing.T) {
	for rule, change := range map[string]object{
		"none is named":           {},
		"a model like an option":  {"provider": "fake", "modelId": "--help"},
		"a provider like a flag":  {"provider": "-p", "modelId": "fast"},
		"a provider with a blank": {"provider": "a b", "modelId": "fast"},
	} {
		t.Run(rule, func(t *testing.T) {
			newScene(t, line(remodelled, 0, change), said(0, "work"), failed(time.Second, "529: busy")).MustLeave(t, "its model is not known", true)
		})
	}
}

func TestWhatWaitingDoesNotMendIsParked(t *testing.T) {
	for why, spoil := range agenttest.Spoilt[*agent.Described]("pi") {
		sc := newScene(t, stopped()...)
		spoil(t, sc)
		sc.MustLeave(t, why, true)
	}
}

func TestAnotherHomeIsNamedToTheRun(t *testing.T) {
	sc := newScene(t, stopped()...)
	from, work := sc.MoveHome(t)
	work = filepath.Join(work, "agent")
	sc.Agent = newAgent(t, filepath.Join(from, "agent"), work)
	require.Equal(t, []string{"PI_CODING_AGENT_DIR=" + work}, sc.Plan(t, "continue").Run.Env)
}

func TestAResumeLacksNoRestrictionAndHasNoGrantOfItsOwn(t *testing.T) {
	sc := newScene(t, stopped()...)
	agenttest.Leash(t, flags, []string{"--provider", "--model", "--models", "--thinking"}, sc.Arguments)
}

func TestASessionGoesOnAsItWasStarted(t *testing.T) {
	for started, want := range map[string]string{
		"--model old --thinking high --tools read,grep": "--tools read,grep",
		"-nt -ne -n name -p fix":                        "-nt -ne",
		"-xt bash --no-mcp --session x --not-known":     "-xt bash --no-mcp --not-known",
		"--skill lib -e builtin:mcp --mode json -p x":   "--skill /src/lib -e builtin:mcp",
		"-a --continue --verbose --plan":                "-a --plan",
	} {
		sc := newScene(t, append(stopped(), offered(tools("read", "bash"), nil))...)
		got := sc.Arguments(t, resume.Origin{Cwd: "/src", Args: flags.Storable(strings.Fields(started), false), ArgsSeen: true})
		require.Equal(t, strings.Fields("--session "+sessionA+" --model org/fast:1 --provider fake "+want+" -p continue"), got, started)
	}
}

func TestVariablesOfTheConfigurationChooseTheAccount(t *testing.T) {
	sc := newScene(t)
	require.False(t, sc.Agent.Variables().Has("SHOP_KEY"))
	agenttest.Write(t, filepath.Join(sc.Agent.Homes.Roots[0], "models.json"), `{"providers":{"shop":{"apiKey":"$SHOP_KEY","headers":{"x":"${SHOP_TOKEN}"}}}}`)
	require.True(t, sc.Agent.Variables().Has("SHOP_KEY"))
	require.True(t, sc.Agent.Variables().Has("SHOP_TOKEN"))
}

func TestInvocations(t *testing.T) {
	agenttest.Invocations(t, newAgent(t), []agenttest.Called{
		{Rule: "flags", Line: "-p fix_it --model m --tools read", Next: "--model m --tools read --session ID -p continue"},
		{Rule: "a prompt after all", Line: "--print --no-tools fix_it", Next: "--no-tools --session ID -p continue", Silent: true},
		{Rule: "continued", Line: "--continue -p fix_it", Next: "--session ID -p continue"},
		{Rule: "a session", Line: "--session " + sessionA + " -p fix_it", Next: "--session ID -p continue", Session: sessionA},
		{Rule: "a terminal", Line: "fix_it"},
		{Rule: "a subcommand", Line: "list"},
	})
	line, _ := newAgent(t).Invocation([]string{"-p", "x"})
	require.Equal(t, []string{"--session-id", agenttest.ID}, line.SessionIDArgs(agenttest.ID))
	for _, flag := range []string{"--session", "--session-id", "--fork"} {
		line, _ = newAgent(t).Invocation([]string{"-p", "x", flag, sessionA})
		require.Empty(t, line.SessionIDArgs(agenttest.ID), flag)
	}
	told := headless.Ended{Printed: headless.Printed{Stdout: `{"type":"session","id":"` + sessionA + `"}` + "\n" + `{"type":"agent_start"}`}}
	require.Equal(t, headless.Continuation{Session: sessionA}, agenttest.Ran(t, newAgent(t), "--mode json -p x", "/src", nil, told))
	sc := newScene(t, stopped()...)
	require.Equal(t, headless.Continuation{Session: sessionA, Transcript: sc.Session.Transcript},
		agenttest.Ran(t, sc.Agent, "-p x", "/src", nil, headless.Ended{Session: sessionA}), "what stopped it is in its file")
}

func TestATaskIsBegunUnderItsOwnID(t *testing.T) {
	sc := newScene(t)
	plan, err := sc.Agent.Start(resume.Session{Key: resume.Key{Agent: Name, ID: sessionA}, Cwd: sc.Session.Cwd, Task: &resume.Task{Prompt: "-x", Model: "fast"}})
	require.NoError(t, err)
	require.Equal(t, []string{sc.Program, "--session-id", sessionA, "--model", "fast", "-p", "--", "-x"}, plan.Run.Argv)
}

func TestWhoHoldsASession(t *testing.T) {
	for rule, c := range map[string]struct {
		argv, exe, cwd string
		tty            int
		want           *resume.Owner
	}{
		"a person in the directory":      {"pi", "node", "/src", 34816, &resume.Owner{PID: 42, Kind: "interactive"}},
		"a run without a terminal":       {"pi", "node", "/src", 0, &resume.Owner{PID: 42, Kind: "headless"}},
		"one that is only just starting": {"node /n/.bin/pi --print hi", "node", "/src", 34816, &resume.Owner{PID: 42, Kind: "headless"}},
		"one that is packed by npm":      {"node /n/@earendil-works/pi-coding-agent/dist/bundle/cli.js", "node", "/src", 34816, &resume.Owner{PID: 42, Kind: "interactive"}},
		"nobody who lives elsewhere":     {"pi", "node", "/elsewhere", 0, nil},
		"a script of another package":    {"node /n/other/dist/cli.js", "node", "/src", 34816, nil},
	} {
		t.Run(rule, func(t *testing.T) {
			root := t.TempDir()
			dir := filepath.Join(root, "42")
			agenttest.Write(t, filepath.Join(dir, "cmdline"), strings.ReplaceAll(c.argv, " ", "\x00")+"\x00\x00\x00")
			agenttest.Write(t, filepath.Join(dir, "environ"), "")
			agenttest.Write(t, filepath.Join(dir, "stat"), fmt.Sprintf("42 (pi) S 1 1 1 %d -1 0 0 0 0 0 0 0 0 0 20 0 1 0 100 0 0", c.tty))
			require.NoError(t, os.Symlink(c.cwd, filepath.Join(dir, "cwd")))
			require.NoError(t, os.Symlink("/usr/bin/"+c.exe, filepath.Join(dir, "exe")))
			a := newAgent(t)
			a.Processes = process.At(procfs.FS(root))
			owner, err := a.Owner(t.Context(), resume.Session{Key: resume.Key{ID: sessionA}, Cwd: "/src"})
			require.NoError(t, err)
			require.Equal(t, c.want, owner)
		})
	}
}
