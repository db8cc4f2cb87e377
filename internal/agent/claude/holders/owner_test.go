package holders

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/agent/claude/claudetest"
	"resumed/internal/process"
	"resumed/internal/resume"
)

const sessionA = claudetest.Session

type procDir = claudetest.Process

var fakeProc, register, registered = claudetest.Processes, claudetest.Register, claudetest.Registered

// home is an agent with a home and its Holders.
type home struct {
	agent.Transcripts
	Holders
}

func newHome(t *testing.T) *home {
	h := &home{Transcripts: agent.Transcripts{
		Base: agent.NewBase(agent.About{Name: "claude-code"}, agent.Options{}), Homes: agent.Homes{Roots: []string{t.TempDir()}},
	}}
	h.Holders = New(&h.Transcripts)
	return h
}

func TestWhoHoldsASession(t *testing.T) {
	const other = "0b6b1a62-1f8e-4a3b-9d5b-0a6de1f3c002"
	mark := []string{"HOME=/root", agent.MarkVariable + "=m1"}
	claude := func(pid int, more ...string) procDir {
		return procDir{PID: pid, Argv: append([]string{"claude"}, more...), Cwd: "/src/app", Start: "100"}
	}
	with := func(p procDir, env ...string) procDir { p.Env = env; return p }
	for rule, c := range map[string]struct {
		processes []procDir
		registry  map[string]string
		want      *resume.Owner
	}{
		"nobody": {nil, nil, nil},
		"the process that registered it": {
			[]procDir{claude(7)},
			map[string]string{"7.json": registered(7, sessionA, "100", `,"entrypoint":"cli","tmux":"i1:@0.%0"`)},
			&resume.Owner{PID: 7, Kind: "interactive", Tmux: "i1:@0.%0"},
		},
		"one of two that registered it": {
			[]procDir{claude(7), claude(8)},
			map[string]string{"7.json": registered(7, sessionA, "100", `,"entrypoint":"cli"`), "8.json": registered(8, sessionA, "100", `,"entrypoint":"cli"`)},
			&resume.Owner{PID: 7, Kind: "interactive", Guessed: true},
		},
		"a headless run says interactive of itself": {
			[]procDir{claude(7)},
			map[string]string{"7.json": registered(7, sessionA, "100", `,"entrypoint":"sdk-cli"`)},
			&resume.Owner{PID: 7, Kind: "headless"},
		},
		"the extension of an editor": { // as 2.1.325 registers it
			[]procDir{claude(7, "--input-format", "stream-json", "--output-format", "stream-json", "--permission-prompt-tool", "stdio")},
			map[string]string{"7.json": registered(7, sessionA, "100", `,"kind":"interactive","entrypoint":"claude-vscode","status":"idle"`)},
			&resume.Owner{PID: 7, Kind: "interactive", App: "VS Code"},
		},
		"the pane of a version that does not tell it": {
			[]procDir{with(claude(7), "TMUX_PANE=%4")},
			map[string]string{"7.json": registered(7, sessionA, "100", `,"entrypoint":"cli"`)},
			&resume.Owner{PID: 7, Kind: "interactive", Tmux: "%4"},
		},
		"a file left behind by a killed process": {
			nil, map[string]string{"7.json": registered(7, sessionA, "100", "")}, nil,
		},
		"a pid that is another's by now": {
			[]procDir{{PID: 7, Argv: []string{"vim"}, Cwd: "/src/app", Start: "999"}},
			map[string]string{"7.json": registered(7, sessionA, "100", "")},
			nil,
		},
		"a zombie": {
			[]procDir{{PID: 7, Start: "100", State: "Z"}},
			map[string]string{"7.json": registered(7, sessionA, "100", "")},
			nil,
		},
		"our own resumed run": {
			[]procDir{with(claude(7, "-p"), mark...)},
			map[string]string{"7.json": registered(7, sessionA, "100", "")},
			nil,
		},
		"a run that another daemon left behind": {
			[]procDir{with(claude(7, "-p"), agent.MarkVariable+"=m2")},
			map[string]string{"7.json": registered(7, sessionA, "100", `,"entrypoint":"sdk-cli"`)},
			&resume.Owner{PID: 7, Kind: "headless"},
		},
		"a person in a terminal that a resumed run once opened": {
			[]procDir{with(claude(7), agent.MarkVariable+"=m2", "TMUX_PANE=%4")},
			map[string]string{"7.json": registered(7, sessionA, "100", `,"entrypoint":"cli"`)},
			&resume.Owner{PID: 7, Kind: "interactive", Tmux: "%4"},
		},
		"our own run of a version without a registry": {[]procDir{with(claude(7), mark...)}, nil, nil},
		"a neighbour in the same directory that holds another session": {
			[]procDir{claude(7)}, map[string]string{"7.json": registered(7, other, "100", "")}, nil,
		},
		"an unregistered process in the session's directory": {
			[]procDir{claude(7)}, nil, &resume.Owner{PID: 7, Kind: "interactive"},
		},
		"an unregistered headless one": {
			[]procDir{claude(7, "-p", "hi")}, nil, &resume.Owner{PID: 7, Kind: "headless"},
		},
		"one of two unregistered ones": {
			[]procDir{claude(7), claude(8)}, nil, &resume.Owner{PID: 7, Kind: "interactive", Guessed: true},
		},
		"the one of two that was started with the session's id": {
			[]procDir{claude(7), claude(8, "--resume", sessionA)}, nil, &resume.Owner{PID: 8, Kind: "interactive"},
		},
		"node that runs the command line": {
			[]procDir{{PID: 7, Argv: []string{"node", "/usr/lib/node_modules/@anthropic-ai/claude-code/cli.js"}, Cwd: "/src/app", Start: "1"}},
			nil, &resume.Owner{PID: 7, Kind: "interactive"},
		},
		"a process elsewhere":          {[]procDir{{PID: 7, Argv: []string{"claude"}, Cwd: "/src", Start: "1"}}, nil, nil},
		"another program":              {[]procDir{{PID: 7, Argv: []string{"vim", "claude"}, Cwd: "/src/app", Start: "1"}}, nil, nil},
		"a supervisor":                 {[]procDir{claude(7, "daemon", "run")}, nil, nil},
		"a kernel thread":              {[]procDir{{PID: 7, Start: "1"}}, nil, nil},
		"a half written registry file": {[]procDir{claude(7)}, map[string]string{"7.json": `{"pid":7,"sess`}, &resume.Owner{PID: 7, Kind: "interactive"}},
		"keys and notes beside it":     {nil, map[string]string{"7.ab.key": "x", "notes.json": "{}", "-3.json": "{}"}, nil},
	} {
		t.Run(rule, func(t *testing.T) {
			a := newHome(t)
			a.Processes = fakeProc(t, c.processes...)
			for file, content := range c.registry {
				register(t, a.Homes.Roots[0], file, content)
			}
			s := resume.Session{Key: resume.Key{Agent: "claude-code", ID: sessionA}, Cwd: "/src/app", Run: &resume.Run{Mark: "m1"}}
			got, err := a.Owner(t.Context(), s)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
			if c.want != nil || len(c.processes) == 0 {
				require.Equal(t, c.want == nil, a.NoProcess(t.Context()))
			}
		})
	}
}

// Since 2.1 each process registers itself: another one in the directory may be anything of that name.
func TestAProcessThatShouldHaveRegisteredItselfIsAGuess(t *testing.T) {
	for version, guessed := range map[string]bool{"2.1.325": true, "2.0.76": false, "": false} {
		a := newHome(t)
		a.Processes = fakeProc(t, procDir{PID: 7, Argv: []string{"claude"}, Cwd: "/src/app", Start: "100"})
		s := resume.Session{Key: resume.Key{Agent: "claude-code", ID: sessionA}, Cwd: "/src/app", Transcript: filepath.Join(t.TempDir(), "s.jsonl")}
		require.NoError(t, os.WriteFile(s.Transcript, fmt.Appendf(nil, `{"type":"user","version":%q}`+"\n", version), 0o600))
		owner, err := a.Owner(t.Context(), s)
		require.NoError(t, err)
		require.Equal(t, &resume.Owner{PID: 7, Kind: "interactive", Guessed: guessed}, owner, version)
	}
}

func TestCapturedRegistryFilesAreRead(t *testing.T) {
	for pid, c := range map[int]struct{ session, start, tmux string }{
		32503: {"c91c5a85-4abe-46be-9e4f-bc83bce5b4aa", "67605", "i1:@0.%0"}, // 2.1.325
		642:   {"aa9f1439-ab94-4817-93fa-6a2d52e009ab", "185348", ""},        // 2.1.197
	} {
		a := newHome(t)
		content, err := os.ReadFile(fmt.Sprintf("../testdata/registry/%d.json", pid))
		require.NoError(t, err)
		register(t, a.Homes.Roots[0], fmt.Sprintf("%d.json", pid), string(content))
		s := resume.Session{Key: resume.Key{Agent: "claude-code", ID: c.session}}

		a.Processes = fakeProc(t, procDir{PID: pid, Argv: []string{"claude"}, Start: c.start})
		owner, err := a.Owner(t.Context(), s)
		require.NoError(t, err)
		require.Equal(t, &resume.Owner{PID: pid, Kind: "interactive", Tmux: c.tmux}, owner)

		a.Processes = fakeProc(t, procDir{PID: pid, Argv: []string{"claude"}, Start: c.start + "1"})
		owner, err = a.Owner(t.Context(), s)
		require.NoError(t, err)
		require.Nil(t, owner, "the pid was given to another process")
	}
}

// childVariable makes the test program a process that waits until its input ends.
const childVariable = "RESUMED_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		fmt.Println("ready") // /proc shows an exec a moment before its arguments
		_, _ = io.Copy(io.Discard, os.Stdin)
		return
	}
	os.Exit(m.Run())
}

// living starts a process named claude and returns a function that ends it.
func living(t *testing.T, dir string, env ...string) (pid int, end func()) {
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Args = []string{"claude"}
	cmd.Dir, cmd.Env = dir, append(os.Environ(), append(env, childVariable+"=1")...)
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	ready, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "ready\n", ready)
	return cmd.Process.Pid, func() {
		require.NoError(t, stdin.Close())
		require.NoError(t, cmd.Wait())
	}
}

// In the real /proc a process is found by its directory until it ends, unless it has the mark.
func TestALivingProcessIsFoundAndADeadOneIsNot(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("SKIPPED: this system has no /proc, so that processes cannot be found")
	}
	dir := t.TempDir()
	a := newHome(t)
	s := resume.Session{Key: resume.Key{Agent: "claude-code", ID: sessionA}, Cwd: dir}
	find := func() *resume.Owner {
		owner, err := a.Owner(t.Context(), s)
		require.NoError(t, err)
		return owner
	}

	pid, end := living(t, dir)
	require.Equal(t, &resume.Owner{PID: pid, Kind: "interactive", Tmux: os.Getenv("TMUX_PANE")}, find())
	end()
	require.Nil(t, find())

	_, end = living(t, dir, agent.MarkVariable+"=m1")
	require.Nil(t, find(), "it is ours")
	end()
}

// The owners of many sessions are found in one snapshot: each costs almost nothing, however many
// processes run and are registered. The budget is the current cost and a bit more.
func TestAnOwnerThatIsAskedForTogetherWithOthersCostsLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the clock does not advance: the snapshot stays valid
		for _, many := range []int{1, 30} {
			a := newHome(t)
			processes := []procDir{{PID: 1, Argv: []string{"claude"}, Cwd: "/elsewhere", Start: "1"}}
			for i := range many {
				processes = append(processes, procDir{PID: 100 + i, Argv: []string{"node", "/srv/server.js"}, Cwd: "/srv", Start: "1"})
			}
			a.Processes = fakeProc(t, processes...)
			ctx := process.WithSnapshot(t.Context())
			s := resume.Session{Key: resume.Key{Agent: "claude-code", ID: sessionA}, Cwd: "/src/app"}
			require.LessOrEqual(t, testing.AllocsPerRun(200, func() {
				owner, err := a.Owner(ctx, s)
				require.NoError(t, err)
				require.Nil(t, owner)
			}), 10.0, "with %d processes", many)
		}
	})
}
