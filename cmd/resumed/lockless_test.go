package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// lockless is an agent that takes no lock and names no process: any process of it in the session's
// directory may hold the session.
type lockless struct {
	name    string
	program string
	chat    func(project, id string) string // path of the session's file in the home
	begin   func() string                   // the beginning of a chat: an answered turn, and a prompt
	refusal func(words string) string       // that ends the turn
	prompt  func(text string) string
	answer  string // with placeholders that the session fills in
	cancel  string // a person stops the turn
	words   string // the prompt of a resume
	model   string // the model of a resume
	shell   string // shell expression for the part of the id in the file name; the id is $2
	flag    string // the flag that names the session; empty: --resume
	prefix  string // of its ids
}

func chatLine(record map[string]any) string {
	data, _ := json.Marshal(record) // maps of plain values always encode
	return string(data) + "\n"
}

func geminiMessage(id, kind string, content any) map[string]any {
	return map[string]any{"id": id, "timestamp": "@TIME@", "type": kind, "content": content, "model": "gemini-2.5-flash"}
}

func geminiPrompt(id, text string) map[string]any {
	return geminiMessage(id, "user", []any{map[string]any{"text": text}})
}

// geminiCLI removes the refused prompt from the conversation.
var geminiCLI = lockless{
	name: "gemini", program: "gemini", words: "second turn", model: "gemini-2.5-flash", shell: "${2%%-*}",
	chat: func(project, id string) string {
		return ".gemini/tmp/" + project + "/chats/session-2026-11-15T00-19-" + id[:8] + ".jsonl"
	},
	begin: func() string {
		scene := geminiPrompt("d0", "<session_context>\nThis is the Gemini CLI.\n</session_context>")
		first, answer := geminiPrompt("u1", "first turn"), geminiMessage("g1", "gemini", "Done.")
		return chatLine(map[string]any{"sessionId": "@ID@", "projectHash": "10c0", "startTime": "@TIME@", "lastUpdated": "@TIME@", "kind": "main"}) +
			chatLine(map[string]any{"$set": map[string]any{"messages": []any{scene}}}) +
			chatLine(first) + chatLine(answer) + chatLine(geminiPrompt("u2", "second turn")) +
			chatLine(map[string]any{"$set": map[string]any{"messages": []any{scene, first, answer}}})
	},
	refusal: func(words string) string {
		return chatLine(geminiMessage("e1", "error", "[API Error: "+words+"]")) +
			chatLine(geminiMessage("i1", "info", "This request failed. Press F12 for diagnostics."))
	},
	prompt: func(text string) string { return chatLine(geminiPrompt("u3", text)) },
	answer: `{"id":"g9","timestamp":"@TIME@","type":"gemini","content":"Going on.","model":"gemini-2.5-flash"}`,
	cancel: chatLine(geminiMessage("i2", "info", "Request cancelled.")),
}

// recordID is the id in each record of Qwen Code.
const recordID = "0b6b1a62-1f8e-4a3b-9d5b-0a6de1f3c00a"

func qwenRecord(kind string, more map[string]any) map[string]any {
	record := map[string]any{"uuid": recordID, "sessionId": "@ID@", "timestamp": "@TIME@", "type": kind, "cwd": "@CWD@", "version": "0.24.4"}
	maps.Copy(record, more)
	return record
}

func qwenSaid(kind, role, text string) string {
	return chatLine(qwenRecord(kind, map[string]any{"message": map[string]any{"role": role, "parts": []any{map[string]any{"text": text}}}}))
}

func qwenFailed(kind string, status int, words string) string {
	return chatLine(qwenRecord("system", map[string]any{"subtype": "ui_telemetry", "systemPayload": map[string]any{"uiEvent": map[string]any{
		"event.name": "qwen-code.api_error", "model": "qwen3-coder", "auth_type": "openai",
		"error_message": words, "error_type": kind, "status_code": status,
	}}}))
}

var qwenCode = lockless{
	name: "qwen-code", program: "qwen", words: "continue", model: "qwen3-coder --auth-type openai", shell: "$2", // its chat has both
	chat: func(project, id string) string { return ".qwen/projects/-" + project + "/chats/" + id + ".jsonl" },
	begin: func() string {
		return qwenSaid("user", "user", "first turn") + qwenSaid("assistant", "model", "Done.") + qwenSaid("user", "user", "second turn")
	},
	refusal: func(words string) string { return qwenFailed("InternalServerError", 503, words) },
	prompt:  func(text string) string { return qwenSaid("user", "user", text) },
	answer: `{"uuid":"` + recordID + `","sessionId":"@ID@","timestamp":"@TIME@","type":"assistant","cwd":"@CWD@","version":"0.24.4",` +
		`"message":{"role":"model","parts":[{"text":"Going on."}]}}`,
	cancel: qwenFailed("APIUserAbortError", 0, "Request was aborted."),
}

func copilotEvent(kind string, data map[string]any) string {
	return chatLine(map[string]any{"type": kind, "data": data, "id": recordID, "timestamp": "@TIME@"})
}

// copilotCLI records the process that holds a session; its stand-ins do not, like one that has just
// started.
var copilotCLI = lockless{
	name: "copilot", program: "copilot", words: "continue", shell: "$2", // a session keeps its model
	chat: func(_, id string) string { return ".copilot/session-state/" + id + "/events.jsonl" },
	begin: func() string {
		return copilotEvent("session.start", map[string]any{"sessionId": "@ID@", "producer": "copilot-agent", "context": map[string]any{"cwd": "@CWD@"}}) +
			copilotEvent("user.message", map[string]any{"content": "first turn"}) + copilotEvent("assistant.message", map[string]any{"content": "Done."}) +
			copilotEvent("user.message", map[string]any{"content": "second turn"})
	},
	refusal: func(words string) string {
		return copilotEvent("assistant.turn_end", map[string]any{"turnId": "0"}) +
			copilotEvent("session.error", map[string]any{"errorType": "query", "message": words, "statusCode": 503})
	},
	prompt: func(text string) string { return copilotEvent("user.message", map[string]any{"content": text}) },
	answer: `{"type":"assistant.message","data":{"content":"Going on."},"id":"` + recordID + `","timestamp":"@TIME@"}`,
	cancel: copilotEvent("abort", map[string]any{"reason": "user_initiated"}),
}

func kimiRecord(kind string, more map[string]any) string {
	record := map[string]any{"agentId": "main", "time": "@MS@"}
	maps.Copy(record, more)
	line := strings.Replace(chatLine(record), `"@MS@"`, "@MS@", 1)
	return `{"type":"` + kind + `",` + strings.TrimPrefix(line, "{") // in the order of the real ones
}

func kimiSaid(text string) string {
	return kimiRecord("turn.prompt", map[string]any{"input": []any{map[string]any{"type": "text", "text": text}}, "origin": map[string]any{"kind": "user"}})
}

const kimiAnswer = `{"type":"context.append_loop_event","agentId":"main","event":{"type":"content.part","part":{"type":"text","text":"Going on."}},"time":@MS@}`

// kimiCode stores the directory of a session in a file next to its records.
var kimiCode = lockless{
	name: "kimi", program: "kimi", words: "continue", shell: "$2", flag: "--session", prefix: "session_", // a session keeps its model
	chat: func(project, id string) string {
		return ".kimi-code/sessions/wd_" + project + "/" + id + "/agents/main/wire.jsonl"
	},
	begin: func() string {
		return kimiRecord("permission.set_mode", map[string]any{"mode": "auto"}) + kimiSaid("first turn") + kimiAnswer + "\n" + kimiSaid("second turn")
	},
	refusal: func(words string) string {
		return kimiRecord("turn.ended", map[string]any{"reason": "failed", "error": map[string]any{
			"code": "provider.api_error", "name": "APIStatusError", "message": words, "details": map[string]any{"statusCode": 503},
		}})
	},
	prompt: kimiSaid,
	answer: kimiAnswer,
	cancel: kimiRecord("turn.ended", map[string]any{"reason": "cancelled"}),
}

func piEntry(kind string, more map[string]any) string {
	entry := map[string]any{"id": "a0f4c189", "timestamp": "@TIME@"}
	maps.Copy(entry, more)
	return `{"type":"` + kind + `",` + strings.TrimPrefix(chatLine(entry), "{") // in the order of the real ones
}

func piMessage(role, text, stop string) string {
	return piEntry("message", map[string]any{"message": map[string]any{
		"role": role, "content": []any{map[string]any{"type": "text", "text": text}}, "provider": "fake", "stopReason": stop,
	}})
}

// piAgent is told its model in each resume: it would continue with another one.
var piAgent = lockless{
	name: "pi", program: "pi", words: "continue", model: "fast --provider fake", shell: "$2", flag: "--session",
	chat: func(project, id string) string {
		return ".pi/agent/sessions/--" + project + "--/2026-11-17T14-53-52-408Z_" + id + ".jsonl"
	},
	begin: func() string {
		return piEntry("session", map[string]any{"id": "@ID@", "version": 3, "cwd": "@CWD@"}) + piEntry("model_change", map[string]any{"provider": "fake", "modelId": "fast"}) +
			piMessage("user", "first turn", "") + piMessage("assistant", "Done.", "stop") + piMessage("user", "second turn", "")
	},
	refusal: func(words string) string {
		return piEntry("message", map[string]any{"message": map[string]any{
			"role": "assistant", "content": []any{}, "provider": "fake", "stopReason": "error", "errorMessage": "503: " + words,
		}})
	},
	prompt: func(text string) string { return piMessage("user", text, "") },
	answer: strings.TrimSpace(piMessage("assistant", "Going on.", "stop")),
	cancel: piMessage("assistant", "half", "aborted"),
}

// write puts a stand-in for the agent into PATH: it records its call, runs script, and continues the
// session.
func (a lockless) write(b *box, script string) {
	chat := strings.Replace(a.chat("$project", "SHORT-ID"), "SHORT-ID", a.shell, 1)
	answer := strings.NewReplacer("@TIME@", "'$now'", "@MS@", "'$ms'", "@ID@", "'$2'", "@CWD@", "'$(pwd)'").Replace(a.answer)
	b.write("bin/"+a.program, "#!/bin/sh\nproject=$(basename \"$(pwd -P)\")\nmkdir -p \"$HOME/calls\"\n"+
		"echo \"$(pwd -P) $*\" >> \"$HOME/calls/$project\"\nchat=\"$HOME/"+chat+"\"\n"+
		"now=$(date -u +%Y-%m-%dT%H:%M:%S.000Z)\nms=$(date +%s)000\n"+script+"\necho '"+answer+"' >> \"$chat\"\n")
}

// stay is one session of a lockless agent in its own directory.
type stay struct {
	*box
	agent lockless
	dir   string // its name in the home, and that of its project
	id    string
}

// stay returns the nth session of the box.
func (b *box) stay(a lockless, n int) *stay {
	s := &stay{box: b, agent: a, dir: fmt.Sprintf("%s%02d", a.program, n), id: a.prefix + fmt.Sprintf("%08x-0000-4000-8000-0000000000%02x", 0xabc000+n, n)}
	b.write(s.dir+"/main.go", "package main\n")
	if a.name == geminiCLI.name {
		b.write(".gemini/tmp/"+s.dir+"/.project_root", b.path(s.dir))
	}
	s.tellsPlace()
	return s
}

// tellsPlace writes the session's directory, for an agent that does not write it into the chat.
func (s *stay) tellsPlace() {
	if s.agent.name == kimiCode.name {
		s.write(strings.TrimSuffix(s.chat(), "agents/main/wire.jsonl")+"state.json", fmt.Sprintf(`{"cwd":%q}`, s.path(s.dir)))
	}
}

func (s *stay) chat() string { return s.agent.chat(s.dir, s.id) }

// fill replaces the placeholders in a line.
func (s *stay) fill(text string) string {
	now := time.Now().UTC()
	return strings.NewReplacer("@ID@", s.id, "@CWD@", s.path(s.dir), "@TIME@", now.Format("2006-01-02T15:04:05.000Z"), "@MS@", strconv.FormatInt(now.UnixMilli(), 10)).Replace(text)
}

func (s *stay) say(text string) { s.appendTo(s.chat(), s.fill(text)) }

// stops ends a turn with an error.
func (s *stay) stops(words string) {
	s.write(s.chat(), s.fill(s.agent.begin()+s.agent.refusal(words)))
}

// answers writes a turn of the agent itself.
func (s *stay) answers() { s.say(s.agent.answer + "\n") }

// lives runs a stand-in for the agent's program in a directory.
func (s *stay) lives(dir string, args ...string) {
	s.standIn(s.agent.program, idleEnv, idle{}, dir, args...)
}

// calls returns the calls of the program in the session's directory.
func (s *stay) calls() []string {
	return strings.FieldsFunc(s.read("calls/"+s.dir), func(r rune) bool { return r == '\n' })
}

// call returns the expected call.
func (s *stay) call() string {
	model := ""
	if s.agent.model != "" {
		model = " --model " + s.agent.model
	}
	return s.path(s.dir) + " " + cmp.Or(s.agent.flag, "--resume") + " " + s.id + model + " -p " + s.agent.words
}

// kept returns the copy of the chat that was made before a resume.
func (s *stay) kept(n int) string {
	return s.read(fmt.Sprintf(".local/state/resumed/kept/%s/%d/%s", s.id, n, filepath.Base(s.chat())))
}

// configureLockless puts their programs into PATH, and makes waits short.
func (b *box) configureLockless(keys string) {
	b.t.Helper()
	b.write(configFile, "[backoff]\nbase_delay = \"300ms\"\njitter = false\n[resume]\nmargin = \"0s\"\nstagger = \"0s\"\nmax_concurrent = 99\n"+keys+"\n"+
		fmt.Sprintf("[[agent]]\nname = \"gemini\"\ncommand = %q\n[[agent]]\nname = \"qwen-code\"\ncommand = %q\n[[agent]]\nname = \"copilot\"\ncommand = %q\n[[agent]]\nname = \"kimi\"\ncommand = %q\n[[agent]]\nname = \"pi\"\ncommand = %q\n",
			b.path("bin/gemini"), b.path("bin/qwen"), b.path("bin/copilot"), b.path("bin/kimi"), b.path("bin/pi")))
}

// pidsIn returns the processes of the agent in a directory of the home.
func (s *stay) pidsIn(dir string) (pids []int) {
	for _, pid := range processes() {
		target, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
		if err == nil && target == s.path(dir) && strings.HasPrefix(string(ofProcess(pid, "cmdline")), s.agent.program) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func (s *stay) exists(name string) bool {
	_, err := os.Stat(s.path(name))
	return err == nil
}
