package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/caller"
	"resumed/internal/control"
	"resumed/internal/procfs"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
	"resumed/internal/usage"
)

// terminal is a terminal for one test, in which a command runs.
type terminal struct {
	b      *box
	socket string
}

// newTerminal runs the program in a terminal of that size.
func newTerminal(b *box, width, height int, env []string, args ...string) *terminal {
	b.t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		if os.Getenv("CI") != "" {
			b.t.Fatal("tmux is not installed: the live view cannot be tested")
		}
		b.t.Skip("SKIPPED: tmux is not installed, so the live view is NOT tested. Install tmux to test it.")
	}
	dir, err := os.MkdirTemp("", "tmux") // the path of a socket must be short
	require.NoError(b.t, err)
	term := &terminal{b: b, socket: filepath.Join(dir, "s")}
	command := strings.Join(append([]string{program}, args...), " ") + "; echo ended with $?; sleep 60"
	cmd := exec.Command("tmux", "-S", term.socket, "-f", "/dev/null", "new-session", "-d",
		"-x", fmt.Sprint(width), "-y", fmt.Sprint(height), "exec sh -c '"+command+"'")
	cmd.Env = append(append(b.env(), "TERM=xterm-256color", "SHELL=/bin/sh"), env...)
	cmd.Dir = b.home
	out, err := cmd.CombinedOutput()
	require.NoError(b.t, err, string(out))
	b.t.Cleanup(func() {
		if b.t.Failed() {
			b.t.Logf("screen:\n%s", term.screen())
		}
		_ = exec.Command("tmux", "-S", term.socket, "kill-server").Run() // the socket belongs to this test
		_ = os.RemoveAll(dir)
	})
	return term
}

func (m *terminal) tmux(args ...string) string {
	m.b.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-S", m.socket}, args...)...).CombinedOutput()
	if err != nil {
		m.b.t.Errorf("tmux %s: %s", args[0], out)
	}
	return string(out)
}

// keys presses keys, with tmux's names.
func (m *terminal) keys(keys ...string) {
	m.b.t.Helper()
	m.tmux(append([]string{"send-keys"}, keys...)...)
}

func (m *terminal) resize(width, height int) {
	m.b.t.Helper()
	m.tmux("resize-window", "-x", fmt.Sprint(width), "-y", fmt.Sprint(height))
}

func (m *terminal) screen() string { return m.tmux("capture-pane", "-p") }

// painted returns the screen with its colours.
func (m *terminal) painted() string { return m.tmux("capture-pane", "-p", "-e") }

// shows waits until the screen has all of these texts.
func (m *terminal) shows(texts ...string) string {
	m.b.t.Helper()
	screen := ""
	m.b.until(fmt.Sprintf("the screen shows %q", texts), func() bool {
		screen = m.screen()
		return !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(screen, text) })
	})
	return screen
}

func (m *terminal) hides(text string) {
	m.b.t.Helper()
	m.b.until(fmt.Sprintf("the screen hides %q", text), func() bool { return !strings.Contains(m.screen(), text) })
}

// severalStates starts a daemon with sessions in several states: waiting, gave up, parked and working.
// Each has its own agent and directory, so that none waits for another.
func severalStates(b *box) {
	b.t.Helper()
	var config strings.Builder
	for _, name := range []string{"mybot", "loser", "winner", "rebel"} {
		config.WriteString(strings.NewReplacer(`"mybot"`, `"`+name+`"`, "~/bot", "~/"+name).Replace(bot))
	}
	b.write(configFile, config.String()+`
[backoff]
base_delay = "100ms"
max_delay = "100ms"
max_retries = 2
`)
	b.write("mybot/resume.sh", recordCall+`echo "step 2" >> logs/$1.log`)
	b.write("winner/resume.sh", `echo "step 2" >> logs/$1.log`)
	b.write("loser/resume.sh", `echo "no luck"; echo "rate limited" >> logs/$1.log; exit 7`)
	b.start()
	b.write("mybot/logs/wait-1.log", "step 1\nrate limited, retry in 107m\n")
	b.write("loser/logs/lost-1.log", "step 1\nrate limited\n")
	b.write("winner/logs/good-1.log", "step 1\nrate limited, retry in 0s\n")
	b.write("rebel/logs/-bad-1.log", "step 1\nrate limited, retry in 0s\n") // an id that looks like an option
	b.untilState("wait-1", resume.Waiting)
	b.untilState("lost-1", resume.GaveUp)
	b.untilState("good-1", resume.Watching)
	b.untilState("-bad-1", resume.Parked)
}

var clockTime = regexp.MustCompile(`\d\d:\d\d:\d\d`)

func TestLiveViewFitsEveryTerminal(t *testing.T) {
	b := newBox(t)
	severalStates(b)
	for _, size := range [][2]int{{80, 24}, {120, 40}, {60, 15}} {
		for _, colours := range []bool{true, false} {
			t.Run(fmt.Sprintf("%dx%d colours %t", size[0], size[1], colours), func(t *testing.T) {
				b := &box{t: t, home: b.home}
				env := []string{"NO_COLOR=1"}
				if colours {
					env = nil
				}
				term := newTerminal(b, size[0], size[1], env, "status", "--watch")
				screen := term.shows("lost", "-bad", "wait", "good", "in 1h 4", "q quit")
				require.Contains(t, screen, "2 need you")
				var order []int
				for _, name := range []string{"lost", "rebel/-bad", "wait", "good"} {
					order = append(order, strings.Index(screen, "\n  "+name)+strings.Index(screen, "\n> "+name))
				}
				require.True(t, slices.IsSorted(order), "what needs a person comes first:\n%s", screen)
				if size[0] >= 80 {
					now := clockTime.FindString(screen)
					b.until("it ticks", func() bool { return clockTime.FindString(term.screen()) != now })
				}
				if colours {
					require.Contains(t, term.painted(), "\x1b[31m", "what needs a person is red")
				} else {
					require.NotContains(t, term.painted(), "\x1b")
				}
				term.keys("q")
				term.shows("ended with 0")
			})
		}
	}
}

func TestLiveViewSteers(t *testing.T) {
	b := newBox(t)
	severalStates(b)
	term := newTerminal(b, 80, 30, nil, "status", "--watch")
	term.shows("lost", "wait")

	term.keys("Enter")
	term.shows("lost-1", "Evidence", "rate limited", "Resumes", "1. ", "2. ")
	term.resize(60, 15)
	term.shows("lines 1 to")
	term.keys("G")
	term.shows("Started with")
	term.resize(100, 30)
	term.shows("Evidence", "esc back")
	term.keys("Escape")
	term.shows("SESSION", "1 of 4")

	term.keys("/", "w", "a", "i", "t", "Enter")
	term.shows("1 of 1 (4 in all)")
	term.keys("p")
	term.shows("mybot  paused") // in its row: from here on the key means the opposite
	require.True(t, b.session("wait-1").Paused)
	term.keys("p")
	b.until("it goes on", func() bool { return !b.session("wait-1").Paused })
	term.keys("r")
	term.shows("Resume wait now? y/n: the provider asked to wait until ")
	require.Empty(t, b.read("mybot/calls"))
	term.keys("y")
	b.untilState("wait-1", resume.Watching)
	require.Contains(t, b.read("mybot/calls"), "id=wait-1")

	term.keys("Escape")
	term.shows("1 of 4")
	term.keys("g", "c")
	term.shows("Forget the interruption of lost")
	term.keys("y")
	b.untilState("lost-1", resume.Watching)

	term.shows("> rebel/-bad-1") // the cursor stays where it is
	term.keys("/", "l", "o", "s", "t", "Enter", "h")
	term.shows("resumed history lost-1", "cancelled")
	term.keys("Escape")
	term.shows("1 of 1")
	term.keys("l")
	term.shows("resumed logs lost-1", "no luck")
	term.keys("Escape")
	term.shows("1 of 1")
	term.keys("Escape")
	term.shows(" of 4")
	term.keys("P")
	term.shows("resumed paused")
	require.True(t, b.status().Daemon.Paused)
	term.keys("?")
	term.shows("pause or unpause resumed as a whole")
}

func TestLiveViewOutlivesTheDaemon(t *testing.T) {
	b := newBox(t)
	severalStates(b)
	term := newTerminal(b, 80, 24, nil, "status", "--watch")
	term.shows("wait", "2 need you")
	b.kill(syscall.SIGKILL)
	term.shows("no daemon; looking for it", "wait")
	term.keys("r")
	term.shows("no daemon is running")
	b.start()
	term.hides("looking for it")
	b.write("mybot/logs/news-1.log", "rate limited, retry in 2h\n")
	term.shows("news")
	require.Zero(t, b.kill(syscall.SIGTERM))
	term.shows("no daemon; looking for it")
	term.keys("C-c")
	term.shows("ended with 0")
}

func TestLiveViewOfOneSession(t *testing.T) {
	b := newBox(t)
	severalStates(b)
	term := newTerminal(b, 80, 24, nil, "status", "--watch", "wait")
	term.shows("wait-1", "Evidence", "esc back")
	term.keys("Escape")
	term.shows("lost", "good")
}

// crowd is a daemon with very many sessions.
type crowd struct {
	control.FleetBackend // nil: no fleet, and never called

	changes control.Changes
	started time.Time

	mu       sync.Mutex // guards the fields below
	sessions []view.Session
}

func newCrowd(n int) *crowd {
	c := &crowd{started: time.Now()}
	for i := range n {
		v := view.Session{
			ID: fmt.Sprintf("%05d-8b1d-4c55", i), Name: fmt.Sprintf("%05d", i), Agent: "claude-code", Account: fmt.Sprintf("claude-code:%d", i%7),
			Cwd: fmt.Sprintf("/src/project-%d", i%100), State: resume.States()[1+i%5], MaxRetries: 5,
			Reason: "usage limit: You've hit your 5-hour limit · resets 3pm", Attempts: []view.Attempt{},
		}
		if v.State == resume.Waiting {
			v.NextAt = new(time.Now().Add(time.Hour + time.Duration(i)*time.Second))
		}
		c.sessions = append(c.sessions, v)
	}
	return c
}

func (c *crowd) Changes() *control.Changes { return &c.changes }

func (c *crowd) Status(_ context.Context, _ bool, only ...resume.Key) (control.Status, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	status := control.Status{Version: 1, Now: time.Now(), Daemon: control.Daemon{PID: os.Getpid(), Version: "crowd", StartedAt: c.started}}
	status.Sessions = slices.Clone(c.sessions)
	if len(only) > 0 {
		status.Sessions = slices.DeleteFunc(status.Sessions, func(v view.Session) bool { return !slices.Contains(only, v.Key()) })
	}
	return status, nil
}

func (c *crowd) Find(_ context.Context, name string) (resume.Key, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, err := view.Find(c.sessions, name)
	return found.Key(), err
}

func (c *crowd) Session(ctx context.Context, name string) (control.Status, error) {
	key, err := c.Find(ctx, name)
	if err != nil {
		return control.Status{}, err
	}
	return c.Status(ctx, true, key)
}

func (c *crowd) Do(_ context.Context, key resume.Key, _ control.Action) (view.Session, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.sessions, func(v view.Session) bool { return v.Key() == key })
	c.sessions[i].State, c.sessions[i].Reason, c.sessions[i].NextAt = resume.Resuming, "due now, asked for by you", nil
	c.changes.Note(key)
	return c.sessions[i], nil
}

func (c *crowd) HandleHook(context.Context, caller.Caller, control.HookEvent) error { return nil }

func (c *crowd) Refused(caller.Caller, string, string) {}

func (c *crowd) AddReadings(context.Context, caller.Caller, resume.Key, []usage.Reading) error {
	return nil
}

func (c *crowd) Queue() control.Tasks                  { return nil }
func (c *crowd) SetPaused(context.Context, bool) error { return nil }
func (c *crowd) PageURL(bool) (string, error)          { return "", nil }

func (c *crowd) NewPageKey() error { return nil }

func (c *crowd) History(context.Context, string, time.Time) (iter.Seq2[control.Step, error], error) {
	return func(func(control.Step, error) bool) {}, nil
}

func TestLiveViewOfTenThousandSessions(t *testing.T) {
	b := newBox(t)
	server, err := control.Listen(b.path("runtime", "resumed"), newCrowd(10_000), caller.Judge{Proc: procfs.Proc, Daemon: os.Getpid()}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	t.Cleanup(func() { cancel(); require.NoError(t, <-ended) })

	began := time.Now()
	term := newTerminal(b, 80, 24, nil, "status", "--watch")
	term.shows("1 of 10000")
	t.Logf("first screen after %s", time.Since(began).Round(time.Millisecond))
	if !raceDetector { // it is ten times slower
		require.Less(t, time.Since(began), 30*time.Second)
	}

	term.keys("PgDn", "PgDn")
	term.shows("of 10000")
	term.hides(" 1 of 10000")
	term.keys("G")
	term.shows("10000 of 10000")
	term.keys("/", "0", "7", "7", "7", "7")
	term.shows("07777", "1 of 1 (10000 in all)")
	term.keys("Enter", "r")
	term.shows("resuming", "due now, asked for by you")
	term.keys("q")
	term.shows("ended with 0")
}

func TestWatchPrintsALineAChangeWhereThereIsNoTerminal(t *testing.T) {
	b := newBox(t)
	severalStates(b)
	lines := follow(b, "status", "--watch")
	require.Contains(t, next(b, lines), "resumed")
	for _, want := range []string{
		"lost  loser  loser  gave up, try 2/2: ", "rebel/-bad-1  rebel  rebel  parked: ",
		"wait  mybot  mybot  waiting, in 1h 4", "good  winner  winner  watching: ",
	} {
		line := next(b, lines)
		require.Contains(t, line, want)
		require.NotContains(t, line, "\x1b")
	}
	_, _, code := b.run("cancel", "wait-1")
	require.Zero(t, code)
	require.Contains(t, next(b, lines), "wait  mybot  mybot  watching: cancelled by you")
	b.kill(syscall.SIGTERM)
	require.Contains(t, next(b, lines), "no daemon; looking for it")
	b.start()
	require.Contains(t, next(b, lines), fmt.Sprintf("pid %d", b.proc.Process.Pid))
}

func TestWatchPrintsJSONLines(t *testing.T) {
	b := newBox(t)
	severalStates(b)
	lines := follow(b, "status", "--watch", "--json")
	var first, second control.Update
	require.NoError(t, json.Unmarshal([]byte(next(b, lines)), &first))
	require.True(t, first.Whole)
	require.Len(t, first.Sessions, 4)
	b.run("cancel", "wait-1")
	for len(second.Sessions) == 0 || second.Sessions[0].ID != "wait-1" { // the end of another one's run may come first
		second = control.Update{}
		require.NoError(t, json.Unmarshal([]byte(next(b, lines)), &second))
		require.False(t, second.Whole)
		require.Len(t, second.Sessions, 1)
	}
}

func TestWatchWithoutADaemon(t *testing.T) {
	b := newBox(t)
	for _, args := range [][]string{{"status", "--watch"}, {"status", "--watch", "--json"}, {"status", "-w", "x"}} {
		_, errOut, code := b.run(args...)
		require.Equal(t, exitNoDaemon, code)
		require.Contains(t, errOut, "Try:")
	}
	b.start()
	_, _, code := b.run("status", "--watch", "nobody")
	require.Equal(t, exitNoSession, code)
}

// follow runs a command and returns its lines as it prints them.
func follow(b *box, args ...string) <-chan string {
	cmd := exec.Command(program, args...)
	cmd.Env, cmd.Dir = b.env(), b.home
	out, err := cmd.StdoutPipe()
	require.NoError(b.t, err)
	require.NoError(b.t, cmd.Start())
	lines := make(chan string, 100)
	b.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		require.NoError(b.t, cmd.Wait(), "a signal ends it well")
	})
	go func() {
		for scanner := bufio.NewScanner(out); scanner.Scan(); {
			lines <- scanner.Text()
		}
	}()
	return lines
}

func next(b *box, lines <-chan string) string {
	b.t.Helper()
	select {
	case line := <-lines:
		return line
	case <-time.After(patience):
		b.t.Fatal("no line came")
		return ""
	}
}
