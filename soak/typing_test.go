package soak

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/term"

	"resumed/internal/agent/claude/claudetest"
)

// typist is Claude Code, whose sessions are open in a terminal: no command may continue them.
const typist = `
[[agent]]
name = "claude-code"
command = "%[1]s/beside"
`

const beside = "#!/bin/sh\necho \"command for a session that is open: $*\" >> \"$HOME/sent\"\n"

// standInEnv makes the test binary a stand-in for Claude Code in a terminal.
const standInEnv = "SOAK_STAND_IN"

func TestMain(m *testing.M) {
	if settings := os.Getenv(standInEnv); settings != "" {
		var s standIn
		if err := json.Unmarshal([]byte(settings), &s); err != nil {
			panic(err)
		}
		s.run()
	}
	flag.Parse()
	if err := flag.Set("test.parallel", "64"); err != nil { // worlds mostly wait
		panic(err)
	}
	os.Exit(m.Run())
}

// standIn shows a captured screen of Claude Code after an overload. It writes down each line that is
// sent to it, and for which of its limits.
type standIn struct {
	Home, ID, Screen string
	limits           int
	draft            string
}

// silent reports whether what is sent after that limit leaves no trace in the transcript.
func silent(limit int) bool { return limit%4 == 3 }

func (s *standIn) run() {
	if _, err := term.MakeRaw(0); err != nil {
		panic(err)
	}
	person, keys := make(chan os.Signal, 1), make(chan string)
	signal.Notify(person, syscall.SIGUSR1)
	go func() {
		for buf := make([]byte, 256); ; {
			n, err := os.Stdin.Read(buf)
			if err != nil {
				os.Exit(0)
			}
			keys <- string(buf[:n])
		}
	}()
	s.draw()
	s.register()
	for {
		select {
		case pressed := <-keys:
			s.write("keys", pressed)
			for _, key := range pressed {
				s.press(key)
			}
		case <-person: // who clears the field, goes on, and meets the next limit
			s.draft = ""
			s.limits++
			s.write(transcript(s.ID), claudeTurn(s.ID, s.Home, "by a person", claudetest.Refused(map[string]any{"error": "server_error", "apiErrorStatus": 529},
				"API Error: 529 Overloaded. This is a server-side issue, usually temporary — try again in a moment.")))
		}
		s.draw()
	}
}

func (s *standIn) press(key rune) {
	switch {
	case key >= ' ':
		s.draft += string(key)
	case key == '\r' && s.draft != "":
		s.write("sent", fmt.Sprintf("%s %d: %s\n", s.ID, s.limits, s.draft))
		if !silent(s.limits) {
			s.write(transcript(s.ID), claudeTurn(s.ID, s.Home, s.draft))
		}
		s.draft = ""
	}
}

func (s *standIn) write(name, text string) {
	file, err := os.OpenFile(filepath.Join(s.Home, name), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		panic(err)
	}
	defer file.Close()
	fmt.Fprint(file, text)
}

func (s *standIn) draw() {
	lines := strings.Split(strings.TrimRight(s.Screen, "\n"), "\n")
	for i, line := range slices.Backward(lines) {
		if strings.HasPrefix(line, "❯") { // the last one is the input field
			lines[i] = "❯\u00a0" + s.draft
			break
		}
	}
	fmt.Print("\x1b[2J\x1b[H" + strings.Join(lines, "\r\n"))
}

func (s *standIn) register() {
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		panic(err)
	}
	namespace, _ := os.Readlink("/proc/self/ns/pid")
	entry, err := json.Marshal(map[string]any{
		"pidDomain": "linux::" + namespace, "pid": os.Getpid(), "sessionId": s.ID, "cwd": s.Home, "startedAt": time.Now().UnixMilli(),
		"procStart": strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))[19],
		"version":   "2.1.325", "kind": "interactive", "entrypoint": "cli", "status": "idle", "updatedAt": time.Now().UnixMilli(),
	})
	if err != nil {
		panic(err)
	}
	s.write(fmt.Sprintf(".claude/sessions/%d.json", os.Getpid()), string(entry))
	s.write(s.ID+".pid", fmt.Sprintln(os.Getpid()))
}

// openSession is one that is open in a terminal.
type openSession struct {
	id     string
	pid    int
	limits int
	since  time.Time // of the last of them
}

// openTerminals opens sessions in a tmux of the soak's own.
func (w *world) openTerminals(sessions int) {
	if _, err := exec.LookPath("tmux"); err != nil {
		w.t.Log("NOT TRIED: typing needs tmux")
		return
	}
	screen, err := os.ReadFile("../internal/agent/claude/testdata/screens/529-final.txt")
	require.NoError(w.t, err)
	self, err := os.Executable()
	require.NoError(w.t, err)
	w.write("beside", beside, 0o700)
	w.write("sent", "", 0o600)
	w.sent = prompts{records{path: filepath.Join(w.home, "sent")}, make(map[string]int)}
	w.write("tmux.conf", "set -g status off\n", 0o600)
	require.NoError(w.t, os.MkdirAll(filepath.Join(w.home, ".claude/sessions"), 0o700))
	require.NoError(w.t, os.MkdirAll(filepath.Join(w.home, filepath.Dir(transcript(""))), 0o700))
	for i := range sessions {
		s := &openSession{id: claudeID(i)}
		settings, err := json.Marshal(standIn{Home: w.home, ID: s.id, Screen: string(screen)})
		require.NoError(w.t, err)
		socket := filepath.Join(w.home, fmt.Sprint("tmux-", i))
		tmux := exec.Command("tmux", "-u", "-S", socket, "-f", filepath.Join(w.home, "tmux.conf"), "new-session", "-d", "-x", "120", "-y", "40", "exec '"+self+"'")
		tmux.Env = append(w.environ(), standInEnv+"="+string(settings))
		out, err := tmux.CombinedOutput()
		require.NoError(w.t, err, "%s", out)
		w.t.Cleanup(func() { _ = exec.Command("tmux", "-S", socket, "kill-server").Run() })
		w.until("the session is open", func() bool {
			data, _ := os.ReadFile(filepath.Join(w.home, s.id+".pid"))
			_, err := fmt.Sscanln(string(data), &s.pid)
			return err == nil
		})
		w.open = append(w.open, s)
	}
}

// interrupt lets a session that is open meet a limit, if it works.
func (w *world) interrupt() {
	for _, s := range w.open {
		if w.works(s) {
			w.meetInTerminal(s)
			return
		}
	}
}

func (w *world) meetInTerminal(s *openSession) {
	s.limits++
	s.since = time.Now()
	w.limits++
	require.NoError(w.t, syscall.Kill(s.pid, syscall.SIGUSR1))
	w.until("it has met its limit", func() bool {
		data, _ := os.ReadFile(filepath.Join(w.home, transcript(s.id)))
		return strings.Count(string(data), `"apiErrorStatus":529`) == s.limits
	})
}

// works reports whether a session that is open has got its prompt, and shows it.
func (w *world) works(s *openSession) bool {
	return s.limits == 0 || w.sent.read(w.t)[fmt.Sprint(s.id, " ", s.limits)] == 1 && !silent(s.limits)
}

// prompts are what was sent to the sessions that are open.
type prompts struct {
	records
	came map[string]int // by session and limit
}

// read takes in what was sent since, and returns how often prompts came.
func (p *prompts) read(t *testing.T) map[string]int {
	for line := range p.fresh(t) {
		limit, text, _ := strings.Cut(strings.TrimSpace(line), ": ")
		require.Equal(t, "continue", text, "what was sent is not the prompt alone: %s", line)
		p.came[limit]++
		require.Equal(t, 1, p.came[limit], "a prompt was typed twice for one limit: %s", line)
	}
	return p.came
}

// untyped returns the sessions whose last prompt did not come. If the clock is wrong, a daemon may not know
// what it reads for an answer, and leaves the rest to a person.
func (w *world) untyped() (left []string) {
	for _, s := range w.open {
		if !w.works(s) && !silent(s.limits) && !w.clockOff {
			left = append(left, fmt.Sprintf("%s waits for its prompt %d", s.id, s.limits))
		}
	}
	return left
}

// lookAfter is a person between two daemons, who goes on where a prompt was not sent, or left no trace.
func (w *world) lookAfter(patience time.Duration) {
	for _, s := range w.open {
		if !w.works(s) && time.Since(s.since) > patience {
			w.meetInTerminal(s)
		}
	}
}

// untilKeys lets the daemon come to press a key.
func (w *world) untilKeys() {
	w.interrupt()
	size := func() int64 {
		info, err := os.Stat(filepath.Join(w.home, "keys"))
		if err != nil {
			return 0
		}
		return info.Size()
	}
	before := size()
	for begun := time.Now(); len(w.open) > 0 && size() == before && time.Since(begun) < 5*time.Second; time.Sleep(2 * time.Millisecond) {
		w.happen()
	}
}

func (w *world) until(what string, ok func() bool) {
	w.t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		require.True(w.t, time.Now().Before(deadline), "waited in vain: %s", what)
	}
}
