package codex

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/process"
	"resumed/internal/procfs"
	"resumed/internal/resume"
)

// procDir is one directory of a fake /proc.
type procDir struct {
	pid  int
	argv []string
	env  []string
	open map[string]string // what its descriptors point to, and the flags they were opened with
}

func fakeProc(t *testing.T, locks string, all ...procDir) process.Table {
	root := t.TempDir()
	put := func(content string, parts ...string) {
		path := filepath.Join(append([]string{root}, parts...)...)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	}
	put("", "self")
	put(locks, "locks")
	for _, p := range all {
		pid := strconv.Itoa(p.pid)
		put(strings.Join(p.argv, "\x00")+"\x00", pid, "cmdline")
		put(strings.Join(p.env, "\x00")+"\x00", pid, "environ")
		require.NoError(t, os.MkdirAll(filepath.Join(root, pid, "fd"), 0o700))
		fd := 3
		for target, flags := range p.open {
			require.NoError(t, os.Symlink(target, filepath.Join(root, pid, "fd", strconv.Itoa(fd))))
			put("pos:\t0\nflags:\t"+flags+"\nmnt_id:\t29\n", pid, "fdinfo", strconv.Itoa(fd))
			fd++
		}
	}
	return process.At(procfs.FS(root))
}

const (
	toRead  = "0100000"
	toWrite = "02102001"
)

// held is a session with a rollout and a lock on disk.
func held(t *testing.T) (a *Agent, s resume.Session, lock string) {
	root := resolved(t.TempDir())
	a = newAgent(t, Options{Roots: []string{root}})
	s = resume.Session{
		Key:        resume.Key{Agent: Name, ID: sessionA},
		Transcript: filepath.Join(root, "sessions", "2026", "11", "15", "rollout-2026-11-15T00-00-00-"+sessionA+".jsonl"),
	}
	lock = filepath.Join(root, "thread-writer-locks", sessionA+".lock")
	for _, path := range []string{s.Transcript, lock} {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, nil, 0o600))
	}
	return a, s, lock
}

// identity returns a file's device and inode as the kernel's list of locks
// prints them.
func identity(info os.FileInfo) (device, inode string) {
	stat := info.Sys().(*syscall.Stat_t)
	return fmt.Sprintf("%02x:%02x", stat.Dev>>8&0xfff, stat.Dev&0xff), fmt.Sprint(stat.Ino)
}

func TestWhoHoldsASession(t *testing.T) {
	a, s, lock := held(t)
	info, err := os.Stat(lock)
	require.NoError(t, err)
	locked := func(by int, device, inode string) string {
		return "1: POSIX  ADVISORY  READ  900 00:2d:7 128 128\n" +
			fmt.Sprintf("2: FLOCK  ADVISORY  WRITE %d %s:%s 0 EOF\n", by, device, inode) +
			fmt.Sprintf("2: -> FLOCK  ADVISORY  WRITE 77 %s:%s 0 EOF\n", device, inode)
	}
	device, inode := identity(info)
	codex := func(more ...string) procDir { return procDir{pid: 7, argv: append([]string{"codex"}, more...)} }
	with := func(p procDir, env ...string) procDir { p.env = env; return p }
	opened := func(p procDir, path, flags string) procDir { p.open = map[string]string{path: flags}; return p }
	server := []string{"app-server", "--listen", "unix://", "--managed-daemon"}
	mark := agent.MarkVariable + "=m1"
	s.Run = &resume.Run{Mark: "m1"}
	for rule, c := range map[string]struct {
		locks     string
		processes []procDir
		want      *resume.Owner
	}{
		"nobody: the lock's file was left behind": {"", nil, nil},
		"a terminal of its own":                   {locked(7, device, inode), []procDir{with(codex(), "TMUX_PANE=%4")}, &resume.Owner{PID: 7, Kind: "interactive", Tmux: "%4"}},
		"the server of all terminals":             {locked(7, device, inode), []procDir{with(codex(server...), "TMUX_PANE=%4")}, &resume.Owner{PID: 7, Kind: "interactive"}},
		"a run without a terminal":                {locked(7, device, inode), []procDir{codex("exec", "--json", "hi")}, &resume.Owner{PID: 7, Kind: "headless"}},
		"our own run":                             {locked(7, device, inode), []procDir{with(codex("exec"), mark)}, nil},
		"a run that another daemon left behind":   {locked(7, device, inode), []procDir{with(codex("exec"), agent.MarkVariable+"=m2")}, &resume.Owner{PID: 7, Kind: "headless"}},
		"a terminal that a resumed run opened":    {locked(7, device, inode), []procDir{with(codex(), agent.MarkVariable+"=m2")}, &resume.Owner{PID: 7, Kind: "interactive"}},
		"such a terminal of such a version":       {"", []procDir{with(opened(codex(), s.Transcript, toWrite), agent.MarkVariable+"=m2")}, &resume.Owner{PID: 7, Kind: "interactive"}},
		"a server that our run left behind":       {locked(7, device, inode), []procDir{with(codex(server...), mark)}, &resume.Owner{PID: 7, Kind: "interactive"}},
		"a lock on another file":                  {locked(7, device, inode+"1"), []procDir{codex()}, nil},
		"a lock on another device":                {locked(7, "ab:cd", inode), []procDir{codex()}, nil},
		"a volume with two names":                 {locked(7, "ab:cd", inode), []procDir{opened(codex(), lock, toRead)}, &resume.Owner{PID: 7, Kind: "interactive"}},
		"a process that cannot be looked into":    {locked(7, device, inode), nil, &resume.Owner{PID: 7, Kind: "interactive"}},
		"a version without locks":                 {"", []procDir{opened(codex(), s.Transcript, toWrite)}, &resume.Owner{PID: 7, Kind: "interactive"}},
		"who restores its file from a backup":     {"", []procDir{opened(procDir{pid: 7, argv: []string{"rsync"}}, s.Transcript, toWrite)}, &resume.Owner{PID: 7, Kind: "interactive", Guessed: true}},
		"our own run of such a version":           {"", []procDir{with(opened(codex("exec"), s.Transcript, toWrite), mark)}, nil},
		"one who only reads":                      {"", []procDir{opened(procDir{pid: 7, argv: []string{"tail", "-f"}}, s.Transcript, toRead)}, nil},
		"one who writes another session":          {"", []procDir{opened(codex(), s.Transcript+"x", toWrite)}, nil},
	} {
		t.Run(rule, func(t *testing.T) {
			a.Processes = fakeProc(t, c.locks, c.processes...)
			got, err := a.Owner(t.Context(), s)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

func TestAProcessTellsItsSession(t *testing.T) {
	a, s, _ := held(t)
	put := func(id, more string) string {
		path := strings.ReplaceAll(s.Transcript, sessionA, id)
		require.NoError(t, os.WriteFile(path, []byte(`{"type":"session_meta","payload":{"id":"`+id+`"`+more+`}}`+"\n"), 0o600))
		return path
	}
	const child, other = "0b6b1a62-1f8e-4a3b-9d5b-0a6de1f3c0c1", "0b6b1a62-1f8e-4a3b-9d5b-0a6de1f3c0c2"
	one, two, below := put(sessionA, ""), put(other, ""), put(child, `,"parent_thread_id":"`+sessionA+`"`)
	for rule, c := range map[string]struct {
		open map[string]string
		want string
	}{
		"none":              {map[string]string{"/dev/null": toWrite, "pipe:[7]": toWrite}, ""},
		"one":               {map[string]string{one: toWrite}, sessionA},
		"and a subagent":    {map[string]string{one: toWrite, below: toWrite}, sessionA},
		"two":               {map[string]string{one: toWrite, two: toWrite}, ""},
		"one that it reads": {map[string]string{one: toRead}, ""},
	} {
		t.Run(rule, func(t *testing.T) {
			a.Processes = fakeProc(t, "", procDir{pid: 7, argv: []string{"codex"}, open: c.open})
			require.Equal(t, c.want, a.SessionOf(7))
		})
	}
}

func TestAHomeMayBeALink(t *testing.T) {
	a, s, lock := held(t)
	home := a.Homes.Roots[0]
	link := filepath.Join(t.TempDir(), "home")
	require.NoError(t, os.Symlink(home, link))
	a = newAgent(t, Options{Roots: []string{link}})
	target := s.Transcript
	s.Transcript = strings.Replace(s.Transcript, home, link, 1)
	require.NoError(t, os.Remove(lock))
	a.Processes = fakeProc(t, "", procDir{pid: 7, argv: []string{"codex"}, open: map[string]string{target: toWrite}})
	owner, err := a.Owner(t.Context(), s)
	require.NoError(t, err)
	require.Equal(t, &resume.Owner{PID: 7, Kind: "interactive"}, owner)
}

func TestWithoutAListOfLocksALockIsRespected(t *testing.T) {
	a, s, lock := held(t)
	a.Processes = process.At(procfs.FS(filepath.Join(t.TempDir(), "none")))
	_, err := a.Owner(t.Context(), s)
	require.ErrorContains(t, err, "nobody can tell who holds it")
	require.NoError(t, os.Remove(lock))
	_, err = a.Owner(t.Context(), s)
	require.ErrorIs(t, err, agent.ErrUnseen, "a version that takes no lock may hold it")

	require.NoError(t, os.WriteFile(s.Transcript, []byte(`{"type":"session_meta","payload":{"cli_version":"0.146.0"}}`+"\n"), 0o600))
	owner, err := a.Owner(t.Context(), s)
	require.NoError(t, err)
	require.Nil(t, owner, "one that locks would hold the lock")
}

// childVariable makes the test program a process that holds files until it ends.
const childVariable = "RESUMED_TEST_CHILD"

func TestMain(m *testing.M) {
	if spec := os.Getenv(childVariable); spec != "" {
		holdUntilEnd(spec)
		return
	}
	os.Exit(m.Run())
}

// holdUntilEnd locks or opens a file as Codex does.
func holdUntilEnd(spec string) {
	how, path, _ := strings.Cut(spec, ":")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
	if err == nil && how == "lock" {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	fmt.Println("ready", err)
	_, _ = io.Copy(io.Discard, os.Stdin)
	_ = f.Close()
}

// living starts a process that holds a file, and returns a function that ends it.
func living(t *testing.T, spec string, env ...string) (pid int, end func()) {
	return livingWith(t, spec, []string{"exec"}, env...)
}

// livingWith is living with other arguments.
func livingWith(t *testing.T, spec string, args []string, env ...string) (pid int, end func()) {
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Args = append([]string{"codex"}, args...)
	cmd.Env = append(os.Environ(), append(env, childVariable+"="+spec)...)
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	ready, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "ready <nil>\n", ready)
	return cmd.Process.Pid, func() {
		require.NoError(t, stdin.Close())
		require.NoError(t, cmd.Wait())
	}
}

// In the real /proc the process that holds the lock or the rollout is found until it ends, unless it has
// the mark.
func TestALivingHolderIsFoundAndADeadOneIsNot(t *testing.T) {
	if _, err := os.Stat("/proc/locks"); err != nil {
		t.Skip("SKIPPED: this system has no /proc/locks, so that holders cannot be found")
	}
	a, s, lock := held(t)
	find := func() *resume.Owner {
		owner, err := a.Owner(t.Context(), s)
		require.NoError(t, err)
		return owner
	}
	s.Run = &resume.Run{Mark: "m1"}
	for _, spec := range []string{"lock:" + lock, "open:" + s.Transcript} {
		require.Nil(t, find())
		pid, end := living(t, spec)
		require.Equal(t, &resume.Owner{PID: pid, Kind: "headless"}, find(), spec)
		end()
		require.Nil(t, find(), spec)

		_, end = living(t, spec, agent.MarkVariable+"=m1")
		require.Nil(t, find(), "it is ours")
		end()
	}
}
