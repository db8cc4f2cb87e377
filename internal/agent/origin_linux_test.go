package agent_test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/leash"
	"resumed/internal/procfs"
	"resumed/internal/resume"
)

// holdEnv makes the test binary act as an agent, whatever its arguments: it lives until its
// standard input ends.
const holdEnv = "AGENT_TEST_HOLD"

func TestMain(m *testing.M) {
	if os.Getenv(holdEnv) != "" {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// scene is a directory with an agent's program in it.
type scene struct {
	*testing.T
	dir  string
	base agent.Base
	as   uint32 // the user of the processes; 0: this one
}

func newScene(t *testing.T) *scene {
	base := agent.NewBase(agent.About{
		Name: "bot", Program: "bot", Is: func(path string) bool { return filepath.Base(path) == "bot" },
		Flags: leash.Flags{
			{Effect: leash.Restricts, Takes: leash.Many, Names: "--deny"},
			{Effect: leash.Account, Takes: leash.One | leash.Secret, Names: "--key"},
			{Effect: leash.Once, Takes: leash.One, Names: "-p"},
		},
		Variables: leash.Variables{{Effect: leash.Restricts, Names: "BOT_*"}},
	}, agent.Options{})
	s := &scene{T: t, dir: t.TempDir(), base: base}
	self, err := os.Executable()
	require.NoError(t, err)
	s.copy(self, "bot")
	return s
}

func (s *scene) path(parts ...string) string {
	return filepath.Join(append([]string{s.dir}, parts...)...)
}

// copy copies a program under another name. Another process writes the file: a child that is
// started meanwhile would keep it open for writing ("text file busy").
func (s *scene) copy(program, name string) {
	s.Helper()
	require.NoError(s, os.MkdirAll(filepath.Dir(s.path(name)), 0o755))
	require.NoError(s, exec.Command("cp", program, s.path(name)).Run())
}

// begin starts a command and returns the process in it that runs the program.
func (s *scene) begin(program string, argv ...string) int {
	s.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	if filepath.Base(argv[0]) == "node" && argv[1] == "as" { // with its own process title
		cmd.Args = argv[2:]
	}
	cmd.Dir = s.dir
	cmd.Env = []string{holdEnv + "=" + s.dir, "PATH=" + s.dir + ":" + os.Getenv("PATH"), "BOT_DENY=all", "BOT_API_KEY=sk-0123456789abcdef", "EDITOR=vi"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if s.as != 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: s.as, Gid: s.as}
	}
	stdin, err := cmd.StdinPipe()
	require.NoError(s, err)
	require.NoError(s, cmd.Start())
	s.Cleanup(func() { stdin.Close(); _ = cmd.Wait() })
	var pid int
	require.Eventually(s, func() bool {
		all, err := procfs.Proc.Having(s.Context(), holdEnv)
		require.NoError(s, err)
		for p, dir := range all {
			exe, _ := os.Readlink(procfs.Proc.Path(p, "exe"))
			if dir == s.dir && exe == program {
				pid = p
			}
		}
		return pid != 0
	}, time.Minute, 5*time.Millisecond)
	return pid
}

func TestWhatALiveProcessWasStartedWith(t *testing.T) {
	s := newScene(t)
	pid := s.begin(s.path("bot"), s.path("bot"), "--deny", "a", "b", "--key", "hunter22", "-p", "my plans", "--", "and more")
	o := s.base.Origin(pid, false)
	require.NotNil(t, o)
	require.Equal(t, []string{"--deny", "a", "b", "--key", leash.Hidden, "-p=" + leash.Hidden}, o.Args)
	require.True(t, o.ArgsSeen)
	require.True(t, o.EnvSeen)
	require.Equal(t, s.dir, o.Cwd)
	require.Empty(t, o.Sandbox)
	require.Empty(t, o.Through, "the tests' own processes are none")
	require.WithinDuration(t, time.Now(), o.BeganAt, time.Minute)
	var names []string
	for _, v := range o.Env {
		names = append(names, v.Name)
		require.NotContains(t, v.Value+v.Hash, "0123456789abcdef")
	}
	require.Equal(t, []string{"BOT_API_KEY", "BOT_DENY", "PATH"}, names)
	require.True(t, s.base.Lives(o.Process))
	require.False(t, s.base.Lives(resume.Process{PID: pid, Start: o.Process.Start + 1}), "another one of that number")

	wanted := s.base.Origin(pid, true)
	require.Contains(t, wanted.Args, "hunter22", "who wants secrets kept gets that")
	require.Nil(t, s.base.Origin(1<<22+1, false), "one that is not there")
}

func TestWhatAProcessHidesIsNotNothing(t *testing.T) {
	s := newScene(t)
	self, err := os.Executable()
	require.NoError(t, err)
	s.copy(self, "node")
	o := s.base.Origin(s.begin(s.path("node"), s.path("node"), "as", "bot"), false)
	require.NotNil(t, o)
	require.False(t, o.ArgsSeen, "it has given itself a title")
	require.True(t, o.EnvSeen)
}

func TestWhatStoodBeforeTheAgent(t *testing.T) {
	sh, err := filepath.EvalSymlinks("/bin/sh")
	require.NoError(t, err)
	timeout, err := exec.LookPath("timeout")
	require.NoError(t, err)
	timeout, err = filepath.EvalSymlinks(timeout)
	require.NoError(t, err)
	for name, c := range map[string]struct {
		argv    func(s *scene) []string
		through func(s *scene) []string
		args    []string
	}{
		"nothing": {
			argv: func(s *scene) []string { return []string{s.path("bot"), "--deny", "a"} },
			args: []string{"--deny", "a"},
		},
		"a shell in which it was typed": {
			argv: func(*scene) []string { return []string{"sh", "-c", "bot --deny a; true"} },
			args: []string{"--deny", "a"},
		},
		"a program that runs others": {
			argv:    func(*scene) []string { return []string{timeout, "5m", "bot", "--deny", "a"} },
			through: func(*scene) []string { return []string{timeout, "5m", "bot"} },
			args:    []string{"--deny", "a"},
		},
		"a script that is called as it is, and adds something": {
			argv:    func(*scene) []string { return []string{sh, "wrap/bot", "--deny", "a"} },
			through: func(s *scene) []string { return []string{s.path("wrap/bot")} },
			args:    []string{"--deny", "a"},
		},
		"both": {
			argv:    func(*scene) []string { return []string{timeout, "5m", "wrap/bot", "--deny", "a"} },
			through: func(*scene) []string { return []string{timeout, "5m", "wrap/bot"} },
			args:    []string{"--deny", "a"},
		},
		"a line for a shell that ends as its name does": {
			argv: func(s *scene) []string { return []string{timeout, "5m", "sh", "-c", "exec " + s.path("bot")} },
			args: nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			require.NoError(t, os.Mkdir(s.path("wrap"), 0o755))
			script := "#!" + sh + "\n" + s.path("bot") + " --deny more \"$@\"\ntrue\n"
			write := exec.Command("sh", "-c", `cat > "$0" && chmod +x "$0"`, s.path("wrap/bot"))
			write.Stdin = strings.NewReader(script)
			require.NoError(t, write.Run())
			var through []string
			if c.through != nil {
				through = c.through(s)
			}
			o := s.base.Origin(s.begin(s.path("bot"), c.argv(s)...), false)
			require.NotNil(t, o)
			require.Equal(t, through, o.Through)
			require.Equal(t, c.args, o.Args)

			program, err := s.base.Find(resume.Session{Origin: o})
			require.NoError(t, err)
			if through == nil {
				through = []string{s.path("bot")}
			}
			require.Equal(t, through, program.Argv(), "it is continued that way")
			require.Equal(t, c.through != nil, s.base.NewCommand(program, s.dir, leash.Repeated{}, nil).Inside)
		})
	}
}

func TestAWorldOfItsOwnIsSeen(t *testing.T) {
	unshare, err := exec.LookPath("unshare")
	flags := []string{"--user", "--map-root-user", "--mount", "--pid", "--fork"}
	if err == nil {
		err = exec.Command(unshare, append(slices.Clone(flags), "true")...).Run()
	}
	if err != nil {
		t.Skipf("SKIPPED: SESSIONS IN NAMESPACES OF THEIR OWN ARE NOT TESTED HERE: unshare is not allowed: %v", err)
	}
	s := newScene(t)
	o := s.base.Origin(s.begin(s.path("bot"), slices.Concat([]string{unshare}, flags, []string{"bot", "--deny", "a"})...), false)
	require.NotNil(t, o)
	require.Equal(t, "mounts, processes, users of its own", o.Sandbox)
	unshare, err = filepath.EvalSymlinks(unshare)
	require.NoError(t, err)
	require.Equal(t, slices.Concat([]string{unshare}, flags, []string{"bot"}), o.Through, "the way in stands before it")
	require.Equal(t, []string{"--deny", "a"}, o.Args)

	s = newScene(t)
	o = s.base.Origin(s.begin(s.path("bot"), slices.Concat([]string{unshare}, flags, []string{"sh", "-c", "exec bot --deny a"})...), false)
	require.NotNil(t, o)
	require.Contains(t, o.Sandbox, "mounts")
	require.Empty(t, o.Through, "nobody knows the way in")

	s = newScene(t)
	o = s.base.Origin(s.begin(s.path("bot"), "unshare", "--user", "--map-root-user", "--net", "unshare", "--mount", "--fork", "bot", "--deny", "a"), false)
	require.Equal(t, "mounts, users, network of its own", o.Sandbox)
	require.Empty(t, o.Through, "it makes only a part of the sandbox")

	s = newScene(t)
	s.copy(unshare, "own/unshare")
	o = s.base.Origin(s.begin(s.path("bot"), slices.Concat([]string{s.path("own/unshare")}, flags, []string{"bot", "--deny", "a"})...), false)
	require.Empty(t, o.Through, "any program may have that name")

	bwrap, err := exec.LookPath("bwrap")
	if err != nil || exec.Command(bwrap, "--bind", "/", "/", "true").Run() != nil {
		t.Skip("SKIPPED: BUBBLEWRAP IS NOT TESTED HERE: it does not work")
	}
	s = newScene(t)
	o = s.base.Origin(s.begin(s.path("bot"), bwrap, "--bind", "/", "/", "--unshare-pid", "--setenv", "BOT_DENY", "nothing", "bot", "--deny", "a"), false)
	require.Contains(t, o.Sandbox, "mounts, processes of its own, no_new_privs")
	require.Equal(t, []string{bwrap, "--bind", "/", "/", "--unshare-pid", "--setenv", "BOT_DENY", "nothing", "bot"}, o.Through)
	require.Contains(t, o.Environ, "BOT_DENY=all", "the environment is that of bwrap, which makes the other one of it")
}

// What runs in a sandbox is not the way into it, and what the sandbox's own process has in its environment does not count.
func TestWhatStandsBeforeTheAgentInItsSandboxIsNoWayIn(t *testing.T) {
	restricted := []string{"setpriv", "--no-new-privs"}
	if out, err := exec.Command(restricted[0], append(restricted[1:], "true")...).CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: PROGRAMS THAT ARE RESTRICTED ARE NOT TESTED HERE: %v: %s", err, out)
	}
	timeout, err := exec.LookPath("timeout")
	require.NoError(t, err)
	timeout, err = filepath.EvalSymlinks(timeout)
	require.NoError(t, err)
	for name, c := range map[string]struct {
		argv    []string
		through bool
	}{
		"a program in it":                   {append(restricted, "sh", "-c", "timeout 5m bot --deny a; true"), false},
		"one whose parent has ended":        {append(restricted, "sh", "-c", "exec 3<&0; (timeout 5m bot --deny a <&3 &); cat"), false},
		"the same, in a session of its own": {append(restricted, "sh", "-c", "exec 3<&0; (setsid timeout 5m bot --deny a <&3 &); cat"), false},
		"a program that became another":     {append(restricted, "timeout", "5m", "env", "BOT_DENY=nothing", "bot", "--deny", "a"), false},
		"a program before it":               {append([]string{"timeout", "5m"}, append(restricted, "bot", "--deny", "a")...), true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			o := s.base.Origin(s.begin(s.path("bot"), c.argv...), false)
			require.NotNil(t, o)
			require.Equal(t, "no_new_privs", o.Sandbox)
			require.Zero(t, o.Program)
			if !c.through {
				require.Empty(t, o.Through)
				return
			}
			require.Equal(t, slices.Concat([]string{timeout, "5m"}, restricted, []string{"bot"}), o.Through)
		})
	}
}

func TestAProcessOfAnotherUserIsInAnotherWorld(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("SKIPPED: PROCESSES OF OTHER USERS ARE NOT TESTED HERE: only root can start one")
	}
	s := newScene(t)
	s.as = 65534
	require.NoError(t, os.Chmod(filepath.Dir(s.dir), 0o755))
	require.NoError(t, os.Chmod(s.dir, 0o755))
	o := s.base.Origin(s.begin(s.path("bot"), s.path("bot")), false)
	require.NotNil(t, o)
	require.Contains(t, o.Sandbox, "user id of its own")
}
