package copilot

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

func TestAResumeLacksNoRestrictionAndHasNoGrantOfItsOwn(t *testing.T) {
	sc := newScene(t, stopped()...)
	agenttest.Leash(t, flags, []string{"--model"}, sc.Arguments)
	sc.Write(t, line(moded, time.Minute, object{"newMode": "plan"}))
	agenttest.Leash(t, flags, []string{"--model", "--mode", "--plan"}, sc.Arguments)
}

func TestASessionGoesOnAsItWasStarted(t *testing.T) {
	for line, want := range map[string]string{
		"--allow-all-tools --model old -p fix":                               "--allow-all-tools",
		"--allow-tool shell(git:*) write --deny-tool=shell(git_push) -i x":   "--allow-tool shell(git:*) write --deny-tool=shell(git_push)",
		"--add-dir lib --agent reviewer --resume=x --remote --log-level all": "--add-dir /src/lib --agent reviewer",
		"--plan --max-ai-credits 5 --no-remote -s --name n":                  "--plan --max-ai-credits 5 --no-remote",
	} {
		sc := newScene(t, stopped()...)
		got := sc.Arguments(t, resume.Origin{Cwd: "/src", Args: flags.Storable(strings.Fields(line), false), ArgsSeen: true})
		require.Equal(t, "--resume "+sessionA+" "+want+" -p continue", strings.Join(got, " "), line)
	}
}

// A later withdrawal of permissions, or change of the mode, has precedence over the start.
func TestWhatWasChangedInTheSessionCounts(t *testing.T) {
	start := resume.Origin{ArgsSeen: true, Args: []string{"--yolo", "--allow-tool", "write", "--autopilot"}}
	sc := newScene(t, stopped()...)
	require.Equal(t, "--yolo --allow-tool write --autopilot", strings.Join(sc.Arguments(t, start)[2:6], " "))
	sc.Write(t, line(permitted, time.Minute, object{"mode": "manual", "previousMode": "allow-all"}), line(moded, time.Minute, object{"newMode": "interactive"}))
	require.Equal(t, "--resume "+sessionA+" --allow-tool write -p continue", strings.Join(sc.Arguments(t, start), " "))
	sc.Write(t, line(permitted, 2*time.Minute, object{"mode": "allow-all", "previousMode": "manual"}))
	require.NotContains(t, sc.Arguments(t, resume.Origin{ArgsSeen: true}), "--allow-all", "what was allowed there is not allowed here")
}

func TestInvocations(t *testing.T) {
	agenttest.Invocations(t, newAgent(t), []agenttest.Called{
		{Rule: "flags", Line: "--prompt fix_it --allow-all-tools --model m", Next: "--allow-all-tools --model m --resume ID -p continue"},
		{Rule: "continued", Line: "--continue -p fix_it", Next: "--resume ID -p continue"},
		{Rule: "resumed", Line: "-p x --resume " + agenttest.ID, Next: "--resume ID -p continue", Session: agenttest.ID},
		{Rule: "resumed by a name", Line: "-p x --resume shop", Next: "--resume ID -p continue"},
		{Rule: "named", Line: "-p x --session-id " + agenttest.ID + " -n shop", Next: "--resume ID -p continue", Session: agenttest.ID},
		{Rule: "a terminal", Line: "--allow-all-tools"},
		{Rule: "a terminal with a prompt", Line: "-i x"},
		{Rule: "a subcommand", Line: "mcp list"},
	})
}

func TestWhatCanBeContinued(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("COPILOT_HOME", "")
	a, err := described.New(agent.Options{})
	require.NoError(t, err)
	const told = `{"type":"result","timestamp":"2026-11-16T02:12:04.385Z","sessionId":"` + agenttest.ID + `","exitCode":1}`
	path := filepath.Join(a.Homes.Usual, "session-state", agenttest.ID, eventsFile)
	ran := func(line string, given, text string) headless.Continuation {
		return agenttest.Ran(t, a, line, t.TempDir(), nil, headless.Ended{Session: given, Printed: headless.Printed{Stdout: text}})
	}
	require.Empty(t, ran("-p fix", agenttest.ID, ""), "it began none")
	agenttest.Write(t, path, "{}\n")
	require.Equal(t, headless.Continuation{Session: agenttest.ID, Transcript: path}, ran("-p fix", agenttest.ID, ""))
	require.Equal(t, headless.Continuation{Session: agenttest.ID, Transcript: path}, ran("-p fix --output-format json", "", told))
	require.Empty(t, ran("-p fix", "", told), "the words of an answer are no word of its own")
	i, _ := a.Invocation([]string{"-p", "x"})
	require.Equal(t, []string{"--session-id", agenttest.ID}, i.SessionIDArgs(agenttest.ID))
	i, _ = a.Invocation([]string{"-p", "x", "--continue"})
	require.Empty(t, i.SessionIDArgs(agenttest.ID))
}

func TestADenialThatEndedTheTurnIsFound(t *testing.T) {
	began := time.Date(2026, 11, 16, 0, 0, 0, 0, time.UTC)
	const (
		worked = `{"type":"assistant.message","timestamp":"2026-11-16T05:10:00Z","data":{"content":"","toolRequests":[{"toolCallId":"y","name":"view","arguments":{}}]}}`
		limit  = `{"type":"session.error","timestamp":"2026-11-16T05:10:01Z","data":{"errorType":"rate_limit","message":"429","statusCode":429}}`
	)
	for name, c := range map[string]struct {
		since time.Time
		more  []string
		want  bool
	}{
		"the last thing":           {began, nil, true},
		"of an earlier run":        {began.Add(12 * time.Hour), nil, false},
		"gone around":              {began, []string{worked}, false},
		"a limit was met after it": {began, []string{limit}, false},
	} {
		t.Run(name, func(t *testing.T) {
			got, found := agenttest.Denied(t, newAgent(t), "denied.jsonl", c.since, "", c.more...)
			require.Equal(t, c.want, found)
			if found {
				require.Equal(t, agent.Denial{Tool: "bash", Use: "echo tool-ran >> tool.log; pwd"}.String(), got.String())
			}
		})
	}
}

func TestTheSizeOfTheContextIsReadFromTheLastAnswer(t *testing.T) {
	got, known, err := newAgent(t).ContextSize(t.Context(), resume.Session{Transcript: "testdata/denied.jsonl"})
	require.NoError(t, err)
	require.True(t, known)
	require.EqualValues(t, 15, got.Tokens)
	require.Zero(t, got.Warm, "how long it is kept is not known")
}

func TestWhoHoldsASession(t *testing.T) {
	const other = "7b3d2e8f-0000-4000-8000-000000000002"
	for rule, c := range map[string]struct {
		argv, env, cwd string
		holds          string // the session of its lock file
		want           *resume.Owner
	}{
		"who noted it":                   {"copilot", "TMUX_PANE=%3", "/elsewhere", sessionA, &resume.Owner{PID: 42, Kind: "interactive", Tmux: "%3"}},
		"a headless run":                 {"copilot --allow-all-tools -p hi", "", "/src", sessionA, &resume.Owner{PID: 42, Kind: "headless"}},
		"one that is only just starting": {"node /n/@github/copilot/npm-loader.js", "", "/src", "", &resume.Owner{PID: 42, Kind: "interactive"}},
		"one that names it":              {"copilot --resume=" + sessionA, "", "/elsewhere", "", &resume.Owner{PID: 42, Kind: "interactive"}},
		"nobody with another session":    {"copilot", "", "/src", other, nil},
		"nobody who lives elsewhere":     {"copilot", "", "/elsewhere", "", nil},
		"our own run":                    {"copilot --resume " + sessionA + " -p hi", agent.MarkVariable + "=m", "/src", sessionA, nil},
		"another program by that number": {"vim", "", "/src", sessionA, nil},
	} {
		t.Run(rule, func(t *testing.T) {
			root, home := t.TempDir(), t.TempDir()
			dir := filepath.Join(root, "42")
			require.NoError(t, os.Mkdir(dir, 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(dir, "cmdline"), []byte(strings.ReplaceAll(c.argv, " ", "\x00")+"\x00"), 0o600))
			require.NoError(t, os.WriteFile(filepath.Join(dir, "environ"), []byte(c.env), 0o600))
			require.NoError(t, os.Symlink(c.cwd, filepath.Join(dir, "cwd")))
			if c.holds != "" {
				agenttest.Write(t, filepath.Join(home, "session-state", c.holds, fmt.Sprintf("inuse.%d.lock", 42)), "42\n")
			}
			a := newAgent(t, home)
			a.Processes = process.At(procfs.FS(root))
			owner, err := a.Owner(t.Context(), resume.Session{
				Key: resume.Key{ID: sessionA}, Cwd: "/src", Run: &resume.Run{Mark: "m"}, Transcript: filepath.Join(home, "session-state", sessionA, eventsFile),
			})
			require.NoError(t, err)
			require.Equal(t, c.want, owner)
		})
	}
}

// The script that npm installs holds no session if the program that it started does.
func TestTheLauncherOfAnotherSessionHoldsNone(t *testing.T) {
	root, home := t.TempDir(), t.TempDir()
	for pid, argv := range map[int]string{41: "node\x00/n/.bin/copilot\x00-i\x00hi\x00", 42: "/n/copilot-linux-x64/copilot\x00-i\x00hi\x00"} {
		dir := filepath.Join(root, fmt.Sprint(pid))
		require.NoError(t, os.Mkdir(dir, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "cmdline"), []byte(argv), 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "environ"), nil, 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "stat"), fmt.Appendf(nil, "%d (copilot) S %d 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 100 0 0", pid, pid-1), 0o600))
		require.NoError(t, os.Symlink("/src", filepath.Join(dir, "cwd")))
	}
	agenttest.Write(t, filepath.Join(home, "session-state/7b3d2e8f-0000-4000-8000-000000000002/inuse.42.lock"), "42\n")
	a := newAgent(t, home)
	a.Processes = process.At(procfs.FS(root))
	owner, err := a.Owner(t.Context(), resume.Session{Key: resume.Key{ID: sessionA}, Cwd: "/src", Transcript: filepath.Join(home, "session-state", sessionA, eventsFile)})
	require.NoError(t, err)
	require.Nil(t, owner)
}
