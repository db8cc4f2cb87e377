package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"
)

// standInEnv makes the test binary a stand-in for Claude Code: it shows captured screens of the real
// one, and reacts to keys like it.
const standInEnv = "RESUMED_TEST_STAND_IN"

// standIn configures the stand-in.
type standIn struct {
	Session    string
	Transcript string
	Cwd        string
	Registry   string // the directory; empty: it does not register
	Keys       string // the file for every byte it receives
	Screens    string // the directory of captured screens

	Screen    string            // the screen that it shows,
	Instead   map[string]string // with these replacements
	Status    string            // its status in the registry
	Draft     string            // the text in its composer
	AfterMenu string            // the screen after Escape; empty: the same
	Mute      bool              // it takes a prompt and writes nothing to the transcript
	Deaf      bool              // it takes keys and shows nothing
	StartedAt int64             // in milliseconds; 0: now
	Asks      string            // the command that it asks permission for, after a prompt
	Cleared   string            // the session that it begins after /clear
	Runs      string            // its entrypoint; empty: a terminal's
	Tool      string            // what it runs with a shell from its start on; empty: nothing
}

func runStandIn(settings string) int {
	var s standIn
	if err := json.Unmarshal([]byte(settings), &s); err != nil {
		return fail(err)
	}
	if term.IsTerminal(0) {
		old, err := term.MakeRaw(0)
		if err != nil {
			return fail(err)
		}
		defer func() { _ = term.Restore(0, old) }()
		if tty, err := os.Readlink("/proc/self/fd/0"); err == nil { // as if nobody had typed for long
			_ = os.Chtimes(tty, time.Now().Add(-time.Minute), time.Time{})
		}
	}
	keys, err := os.OpenFile(s.Keys, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fail(err)
	}
	defer keys.Close()
	s.draw()
	s.register()
	go s.leave()
	if s.Tool != "" {
		tool := exec.Command("bash", "-c", s.Tool)
		if err := tool.Start(); err != nil {
			return fail(err)
		}
	}
	buf := make([]byte, 256)
	for {
		n, err := os.Stdin.Read(buf)
		if err != nil {
			time.Sleep(time.Hour) // a process without a terminal keeps running
		}
		if _, err := keys.Write(buf[:n]); err != nil {
			return fail(err)
		}
		for _, key := range string(buf[:n]) {
			s.press(key)
		}
		s.draw()
		s.register()
	}
}

func fail(err error) int {
	fmt.Fprintln(os.Stderr, "stand-in:", err)
	return 1
}

func (s *standIn) press(key rune) {
	menu := strings.Contains(s.Screen, "menu") || strings.Contains(s.Screen, "v197")
	switch {
	case menu && key == '\x1b' && s.AfterMenu != "":
		s.Screen, s.Status = s.AfterMenu, "idle"
	case s.Status == "waiting" && s.Asks != "":
		if key == '1' {
			s.Asks, s.Status = "", "idle"
			s.write(answerLine(s.Session, s.Cwd, "Done."))
		}
	case menu || s.Deaf:
	case key == '\r' && s.Draft != "":
		s.send()
	case key >= ' ':
		s.Draft += string(key)
	}
}

// send writes what the real one writes after a prompt, and that it works again.
func (s *standIn) send() {
	prompt := s.Draft
	s.Draft = ""
	switch {
	case s.Mute:
	case prompt == "/clear":
		s.Session, s.Transcript = s.Cleared, filepath.Join(filepath.Dir(s.Transcript), s.Cleared+".jsonl")
		s.write(promptLine(s.Session, s.Cwd, "<command-name>/clear</command-name>"))
	case s.Asks != "":
		s.Status = "waiting"
		s.write(promptLine(s.Session, s.Cwd, prompt) + transcriptLine(s.Session, s.Cwd, time.Now(), map[string]any{
			"type": "assistant", "message": map[string]any{
				"role": "assistant", "model": "claude-opus-5-5", "stop_reason": "tool_use",
				"content": []any{map[string]any{"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": map[string]any{"command": s.Asks}}},
			},
		}))
	default:
		s.write(promptLine(s.Session, s.Cwd, prompt) + answerLine(s.Session, s.Cwd, "Going on."))
	}
}

func (s *standIn) write(lines string) {
	f, err := os.OpenFile(s.Transcript, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	fmt.Fprint(f, lines)
}

// leave ends it like the real one when its window is closed: its registry entry is removed.
func (s *standIn) leave() {
	closed := make(chan os.Signal, 1)
	signal.Notify(closed, syscall.SIGHUP)
	<-closed
	_ = os.Remove(filepath.Join(s.Registry, fmt.Sprint(os.Getpid())+".json"))
	os.Exit(129)
}

var colours = regexp.MustCompile(`\x1b\[[\d;]*m`)

func (s *standIn) draw() {
	data, err := os.ReadFile(filepath.Join(s.Screens, s.Screen+".txt"))
	if err != nil {
		fmt.Print(err)
		return
	}
	text := strings.TrimRight(string(data), "\n")
	for old, instead := range s.Instead {
		text = strings.ReplaceAll(text, old, instead)
	}
	lines := strings.Split(text, "\n")
	for i, line := range slices.Backward(lines) {
		if strings.HasPrefix(colours.ReplaceAllString(line, ""), "❯") { // the last one is the composer's
			if s.Draft != "" { // an empty one may show a hint
				lines[i] = "\x1b[m❯\u00a0" + s.Draft
			}
			break
		}
	}
	fmt.Print("\x1b[m\x1b[2J\x1b[H" + strings.Join(lines, "\r\n"))
}

func (s *standIn) register() {
	if s.Registry == "" {
		return
	}
	startedAt := s.StartedAt
	if startedAt == 0 {
		startedAt = time.Now().UnixMilli()
	}
	namespace, _ := os.Readlink("/proc/self/ns/pid") // "" where there is none
	entry := map[string]any{
		"pidDomain": "linux::" + namespace, // on a machine without an id
		"pid":       os.Getpid(), "sessionId": s.Session, "cwd": s.Cwd, "startedAt": startedAt, "procStart": procStart(os.Getpid()),
		"version": "2.1.325", "kind": "interactive", "entrypoint": cmp.Or(s.Runs, "cli"), "status": s.Status, "updatedAt": time.Now().UnixMilli(),
	}
	if s.Status == "waiting" && s.Asks != "" {
		entry["waitingFor"] = "permission prompt"
	}
	data, err := json.Marshal(entry)
	if err != nil {
		return
	}
	_ = os.MkdirAll(s.Registry, 0o700)
	path := filepath.Join(s.Registry, fmt.Sprint(os.Getpid())+".json")
	if os.WriteFile(path+".tmp", data, 0o600) == nil {
		_ = os.Rename(path+".tmp", path)
	}
}

// procStart is field 22 of /proc/PID/stat.
func procStart(pid int) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	return strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))[19]
}

func transcriptLine(session, cwd string, at time.Time, fields map[string]any) string {
	record := map[string]any{
		"sessionId": session, "cwd": cwd, "version": "2.1.325", "isSidechain": false,
		"timestamp": at.UTC().Format("2006-01-02T15:04:05.000Z"), "uuid": "0b6b1a62-1f8e-4a3b-9d5b-0a6de1f3c00a",
	}
	maps.Copy(record, fields)
	data, _ := json.Marshal(record) // maps of plain values always encode
	time.Sleep(time.Millisecond)    // no two records have the same time, as with an agent
	return string(data) + "\n"
}

func promptLine(session, cwd, text string) string {
	return transcriptLine(session, cwd, time.Now(), map[string]any{
		"type": "user", "message": map[string]any{"role": "user", "content": text},
	})
}

func answerLine(session, cwd, text string) string {
	return transcriptLine(session, cwd, time.Now(), map[string]any{
		"type": "assistant", "message": map[string]any{
			"role": "assistant", "model": "claude-opus-5-5", "stop_reason": "end_turn",
			"content": []any{map[string]any{"type": "text", "text": text}},
		},
	})
}
