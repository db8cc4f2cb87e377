package deliver

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/procfs"
	"resumed/internal/resume"
	"resumed/internal/runner"
	"resumed/internal/shell"
	"resumed/internal/terminal"
	"resumed/internal/terminal/shellpty"
	"resumed/internal/terminal/terminaltest"
	"resumed/internal/terminal/tmux"
)

// fieldEnv makes the test binary a program with an input field, which draws that long after a key.
const fieldEnv = "RESUMED_TEST_FIELD"

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == shellArg {
		self := exec.Command(os.Args[0], append([]string{leadArg}, os.Args[3:]...)...)
		code, err := shell.Run(shell.Options{
			Program: "field", Leader: self, Dir: os.Args[2], Warn: func(err error) { panic(err) }, Record: func([]int) bool { return true },
			Daemons: func() []net.Conn {
				conn, err := net.Dial("unix", filepath.Join(os.Args[2], daemonSocket))
				if err != nil {
					panic(err)
				}
				return []net.Conn{conn}
			},
		})
		if err != nil {
			panic(err)
		}
		os.Exit(code)
	}
	if len(os.Args) > 2 && os.Args[1] == leadArg {
		code, err := shell.Lead(os.Args[2], os.Args[2:])
		if err != nil {
			panic(err)
		}
		os.Exit(code)
	}
	if lag, err := time.ParseDuration(os.Getenv(fieldEnv)); err == nil {
		os.Exit(runField(lag))
	}
	flag.Parse()
	if err := flag.Set("test.parallel", "16"); err != nil { // they wait for terminals and people, and compute little
		panic(err)
	}
	terminals[0] = findAttached
	os.Exit(m.Run())
}

// shellArg makes the test binary a resumed shell, leadArg the first process in it.
const (
	shellArg = "shell"
	leadArg  = "lead"
)

// daemonSocket is where the test listens, as the daemon does.
const daemonSocket = "daemon"

// racesEnv says how many tries there are in each terminal; make soak makes a hundred, and without it there
// is one.
const racesEnv = "RESUMED_RACES"

// race is a session that is due in a terminal in which a person begins to type at the same time.
type race struct {
	*world
	screen func() string
	close  func()
	person io.WriteCloser // what is written there is typed by a person
	says   string         // by the person
	sends  bool           // and sent
	begins time.Duration  // after the resume has begun
	late   bool           // or when it is over
	away   time.Time      // from then on the keys of the person are told apart from the one that opened the terminal
}

// seat starts the program with the input field in a terminal that can be typed into.
type seat func(r *race, dir string, env []string) (pid int)

// within is the longest time until the person begins to type: about as long as a resume takes.
const within = 700 * time.Millisecond

// newRace starts the program with the input field in a terminal, with a person at it.
func newRace(t *testing.T, dice *rand.Rand, where seat) *race {
	r := &race{
		world: newWorld(t), says: "I look at it myself"[:6+dice.IntN(13)], sends: dice.IntN(2) == 0,
		begins: time.Duration(dice.Int64N(int64(within))), late: dice.IntN(8) == 0,
	}
	dir, err := os.MkdirTemp("", "tm") // the path of a socket may not be long
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	pid := where(r, dir, append(os.Environ(), fmt.Sprintf("%s=%dms", fieldEnv, 1+dice.IntN(60))))
	require.Eventually(t, func() bool { return strings.Contains(r.screen(), "❯") && r.draft() == "" }, time.Minute, 10*time.Millisecond)
	start, err := runner.StartTime(pid)
	require.NoError(t, err)
	r.agent.owner = &resume.Owner{PID: pid, Kind: "interactive"}
	r.agent.talk.Type = &agent.Typing{Process: resume.Process{PID: pid, Start: start}, Text: "prompt", Judge: readField}
	return r
}

// attached has the second in which the person came to each tmux server, by its socket.
var attached sync.Map

// attachedPane is a pane of tmux to which the person came long ago, so that nobody has to wait until the person
// counts as away. What is typed there since is as new as it is.
type attachedPane struct {
	terminal.Window
	came string
}

func findAttached(environ []string) (terminal.Window, error) {
	window, err := tmux.Find(environ)
	socket, _, _ := strings.Cut(procfs.Variable(environ, "TMUX"), ",")
	if came, ok := attached.Load(socket); ok && err == nil && window != nil {
		return attachedPane{window, came.(string)}, nil
	}
	return window, err
}

func (p attachedPane) Facts(ctx context.Context) (terminal.Facts, error) {
	facts, err := p.Window.Facts(ctx)
	if facts.Mark == p.came {
		facts.LastKey = facts.LastKey.Add(-time.Minute)
	}
	return facts, err
}

// inTmux starts the program in tmux, which the person is a client of.
func inTmux(r *race, dir string, env []string) (pid int) {
	socket := filepath.Join(dir, "s")
	tmux := func(args ...string) string {
		out, err := exec.Command("tmux", append([]string{"-u", "-S", socket}, args...)...).Output()
		require.NoError(r.t, err)
		return string(out)
	}
	cmd := exec.Command("tmux", "-u", "-S", socket, "-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24",
		"exec '"+os.Args[0]+"' '"+r.now().Transcript+"'")
	cmd.Env = env
	out, err := cmd.CombinedOutput()
	require.NoError(r.t, err, "%s", out)
	client := exec.Command("script", "-qec", "tmux -u -S "+socket+" attach", "/dev/null")
	client.Env = append(os.Environ(), "TERM=xterm", "TMUX=")
	r.person, err = client.StdinPipe()
	require.NoError(r.t, err)
	require.NoError(r.t, client.Start())
	r.screen = func() string { return tmux("capture-pane", "-p") }
	r.close = sync.OnceFunc(func() {
		_ = r.person.Close()
		_ = exec.Command("tmux", "-S", socket, "kill-server").Run()
		_ = client.Process.Kill()
		_ = client.Wait()
	})
	r.t.Cleanup(r.close)
	require.Eventually(r.t, func() bool { return tmux("list-clients") != "" }, time.Minute, 10*time.Millisecond)
	// tmux takes the attach for a key, and tells whole seconds: the keys of the person come in another one.
	came := strings.TrimSpace(tmux("display-message", "-p", "#{session_activity}"))
	attached.Store(socket, came)
	second, err := strconv.ParseInt(came, 10, 64)
	require.NoError(r.t, err)
	r.away = time.Unix(second+1, 0)
	pid, err = strconv.Atoi(strings.TrimSpace(tmux("display-message", "-p", "#{pane_pid}")))
	require.NoError(r.t, err)
	return pid
}

// inShell starts the program in a resumed shell, in the person's own terminal.
func inShell(r *race, dir string, env []string) (pid int) {
	listener, err := net.Listen("unix", filepath.Join(dir, daemonSocket))
	require.NoError(r.t, err)
	r.t.Cleanup(func() { _ = listener.Close() })
	cmd := exec.Command(os.Args[0], shellArg, dir, os.Args[0], r.now().Transcript)
	cmd.Env = env
	person := terminaltest.Open(r.t, cmd)
	go func() { _, _ = io.Copy(io.Discard, person) }()
	r.person = person
	r.close = sync.OnceFunc(func() {
		_ = person.Close()
		if pid > 0 {
			_ = syscall.Kill(pid, syscall.SIGKILL) // where it was told to ignore that
		}
		_ = cmd.Wait()
	})
	r.t.Cleanup(func() { r.close() })
	var window terminal.Window
	require.Eventually(r.t, func() bool {
		window, err = shellpty.Find([]string{fmt.Sprintf("%s=%s/%d.sock", shellpty.Variable, dir, cmd.Process.Pid)})
		if err == nil {
			_, err = window.Facts(r.t.Context())
		}
		return err == nil
	}, time.Minute, 10*time.Millisecond)
	r.screen = func() string {
		screen, err := window.Screen(r.t.Context())
		require.NoError(r.t, err)
		return screen
	}
	require.Eventually(r.t, func() bool { return strings.Contains(r.screen(), "❯") }, time.Minute, 10*time.Millisecond)
	facts, err := window.Facts(r.t.Context())
	require.NoError(r.t, err)
	pids, err := procfs.Proc.PIDs()
	require.NoError(r.t, err)
	pid = pids[slices.IndexFunc(pids, func(pid int) bool {
		stat, err := procfs.Proc.Stat(pid)
		return err == nil && stat.Parent == facts.Root
	})]
	return pid
}

func readField(screen string) agent.ScreenState {
	_, draft, shown := strings.Cut(screen, "❯")
	if !shown {
		return agent.ScreenState{Strange: true, Skip: &agent.Skip{Why: "no field", Park: true}}
	}
	return agent.ScreenState{Draft: strings.TrimSpace(draft)}
}

func (r *race) draft() string { return readField(r.screen()).Draft }

// has returns what was sent and is in the field, but for the prompt of the resume.
func (r *race) has() string {
	lines := strings.Split(r.transcript(), "\n")[1:] // the first one is the limit
	lines = slices.DeleteFunc(lines, func(line string) bool { return line == "prompt" })
	return withoutSpace(strings.Join(lines, "") + r.draft())
}

// run resumes the session while the person types, and returns what came of it.
func (r *race) run(t *testing.T, dice *rand.Rand) (result string) {
	press := func(key string) {
		if _, err := io.WriteString(r.person, key); err != nil {
			t.Errorf("a key of the person: %v", err)
		}
	}
	var typed sync.WaitGroup
	if r.late { // on a busy machine a resume takes long, and everybody would be faster
		result = last(r.act())
	}
	typed.Go(func() {
		time.Sleep(r.begins)
		for _, key := range r.says {
			press(string(key))
			time.Sleep(time.Duration(50+dice.IntN(100)) * time.Millisecond)
		}
		if r.sends { // what the field shows, if that is the person's: on a busy machine a prompt is taken back late
			for deadline := time.Now().Add(20 * time.Second); withoutSpace(r.draft()) != withoutSpace(r.says) && time.Now().Before(deadline); {
				time.Sleep(50 * time.Millisecond)
			}
			press("\r")
		}
	})
	if !r.late {
		result = last(r.act())
	}
	typed.Wait()
	has := r.has()
	for deadline := time.Now().Add(20 * time.Second); has != withoutSpace(r.says) && time.Now().Before(deadline); has = r.has() {
		time.Sleep(50 * time.Millisecond)
	}
	require.Equal(t, withoutSpace(r.says), has, "nothing else may be there: %s (sends: %v)", result, r.sends)
	require.LessOrEqual(t, strings.Count("\n"+r.transcript(), "\nprompt\n"), 1)
	require.NotContains(t, result, "parked", "%q is there", r.has())
	return result
}

// A person who begins to type at any moment of a resume finds in the field, and sends, only what they
// typed.
func TestAPersonWhoTypesAtTheSameTimeInTmux(t *testing.T) {
	t.Parallel()
	playRaces(t, inTmux)
}

func TestAPersonWhoTypesAtTheSameTimeInShell(t *testing.T) {
	t.Parallel()
	playRaces(t, inShell)
}

func playRaces(t *testing.T, where seat) {
	for _, program := range []string{"tmux", "script"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("TYPING IS NOT TESTED HERE: ", err)
		}
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	dice := rand.New(rand.NewPCG(seed, 0))
	tries, _ := strconv.Atoi(os.Getenv(racesEnv))
	tries = cmp.Or(tries, 1)
	results := make(map[string]int)
	for n := 0; n < tries; {
		var batch []*race
		for ; len(batch) < 25 && n < tries; n++ {
			batch = append(batch, newRace(t, dice, where))
		}
		for _, r := range batch {
			time.Sleep(time.Until(r.away))
			results[r.run(t, dice)]++
			r.close()
		}
	}
	for _, result := range slices.Sorted(maps.Keys(results)) {
		t.Logf("%3d of %d: %s", results[result], tries, result)
	}
	if tries >= 24 { // of fewer, all may be disturbed by the person
		require.NotZero(t, results["delivered"])
	}
}
