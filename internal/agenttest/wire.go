package agenttest

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// object is a JSON object.
type object = map[string]any

// reply writes one answer.
type reply struct {
	w      http.ResponseWriter
	r      *http.Request
	closed <-chan struct{}
}

func (w reply) json(status int, header http.Header, body any) {
	data, err := json.Marshal(body)
	if err != nil {
		panic(err) // the bodies are ours
	}
	for key, values := range header {
		w.w.Header()[http.CanonicalHeaderKey(key)] = values
	}
	w.w.Header().Set("Content-Type", "application/json")
	w.w.Header().Set("Request-Id", "req_fake")
	w.w.WriteHeader(status)
	_, _ = w.w.Write(data) // a lost agent shows in its own output
}

// events streams events and flushes each one.
func (w reply) events(events ...string) {
	w.w.Header().Set("Content-Type", "text/event-stream")
	w.w.Header().Set("Cache-Control", "no-cache")
	w.w.Header().Set("Request-Id", "req_fake")
	for _, event := range events {
		if _, err := w.w.Write([]byte(event)); err != nil {
			return
		}
		w.flush()
	}
}

func (w reply) flush() { _ = http.NewResponseController(w.w).Flush() }

// hang waits until the agent disconnects or the test ends.
func (w reply) hang() {
	select {
	case <-w.r.Context().Done():
	case <-w.closed:
	}
}

// think waits before the answer.
func (w reply) think(d time.Duration) {
	select {
	case <-w.r.Context().Done():
	case <-w.closed:
	case <-time.After(d):
	}
}

// reset resets the connection, as a machine that crashed would.
func (w reply) reset() {
	conn, _, err := http.NewResponseController(w.w).Hijack()
	if err != nil {
		return
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

// event returns one server-sent event, with its name unless that is "".
func event(name string, body any) string {
	data, err := json.Marshal(body)
	if err != nil {
		panic(err) // the bodies are ours
	}
	if name == "" {
		return fmt.Sprintf("data: %s\n\n", data)
	}
	return fmt.Sprintf("event: %s\ndata: %s\n\n", name, data)
}

// headers makes headers of pairs of keys and values, without empty values.
func headers(pairs ...string) http.Header {
	h := make(http.Header)
	for pair := range slices.Chunk(pairs, 2) {
		if pair[1] != "" {
			h.Set(pair[0], pair[1])
		}
	}
	return h
}

// wholeSeconds returns d for Retry-After, or "" for 0.
func wholeSeconds(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return strconv.Itoa(int(d.Seconds()))
}

// epoch returns a time for rate-limit headers.
func epoch(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) }

// shell returns a call of the agent's own shell tool with the command.
func shell(tools []string, command string) (name string, arguments object) {
	has := func(tool string) bool { return slices.Contains(tools, tool) }
	switch {
	case has("exec_command"):
		return "exec_command", object{"cmd": command, "yield_time_ms": 5000}
	case has("shell_command"):
		return "shell_command", object{"command": command}
	case has("shell"):
		return "shell", object{"command": []string{"bash", "-lc", command}}
	case has("run_shell_command"):
		return "run_shell_command", object{"command": command, "description": "a step", "is_background": false}
	case has("bash"):
		return "bash", object{"command": command, "description": "a step"}
	default:
		return "Bash", object{"command": command, "description": "a step"}
	}
}

// call returns the tool that the agent is asked to call.
func (a Answer) call(tools []string) (name string, arguments object) {
	if a.tool != "" {
		return a.tool, a.input
	}
	return shell(tools, a.text)
}

// encode returns arguments as in the OpenAI dialects: JSON in a string.
func encode(arguments object) string {
	data, err := json.Marshal(arguments)
	if err != nil {
		panic(err) // the arguments are ours
	}
	return string(data)
}

// Texts returns the texts of a message's content, which is a string or a list of parts.
func Texts(content json.RawMessage) []string {
	var plain string
	if json.Unmarshal(content, &plain) == nil {
		return []string{plain}
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(content, &parts) != nil {
		return nil
	}
	var all []string
	for _, part := range parts {
		if part.Text != "" {
			all = append(all, part.Text)
		}
	}
	return all
}
