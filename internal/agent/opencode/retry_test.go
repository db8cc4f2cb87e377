package opencode

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/agent/opencode/server"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

// waitingStore returns a database in which ses_1 has an open message.
func waitingStore(t *testing.T, a *Agent) *store {
	s := newStore(t, a.homes.Roots[0])
	began := time.Now().Add(-time.Minute)
	s.session("ses_1", "/src/app", began)
	s.user("msg_1", "ses_1", began)
	s.assistant("msg_2", "ses_1", began.Add(time.Second), "")
	return s
}

func (a *Agent) append(t *testing.T, line string) {
	require.NoError(t, os.MkdirAll(filepath.Dir(a.events), 0o700))
	f, err := os.OpenFile(a.events, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(t, err)
	_, err = f.WriteString(line + "\n")
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

func retryLine(at time.Time, pid int, next time.Time) string {
	return fmt.Sprintf(`{"at":%d,"pid":%d,"directory":"/src/app","type":"session.status","session":"ses_1",`+
		`"status":{"type":"retry","attempt":1,"message":"The usage limit has been reached","next":%d}}`,
		at.UnixMilli(), pid, next.UnixMilli())
}

func TestARetryThatThePluginTellsIsInProgressUntilItsProcessDies(t *testing.T) {
	t.Parallel()
	a := newAgent(t, agent.Options{})
	a.Processes = fakeProc(t, procDir{pid: 7, argv: []string{"opencode"}, cwd: "/src/app"})
	s := waitingStore(t, a)
	a.append(t, "{")
	w := follow(t, a, nil)
	until[resume.Prompted](w, "ses_1")

	next := time.Now().Add(3 * time.Hour).Truncate(time.Millisecond).UTC()
	a.append(t, retryLine(time.Now(), 7, next))
	waiting := until[resume.Limited](w, "ses_1")
	require.True(t, waiting.InProgress)
	require.Equal(t, limit.UsageLimit, waiting.Class)
	require.Equal(t, limit.Reset{At: next, Source: limit.Structured}, waiting.Reset)

	require.NoError(t, os.RemoveAll(string(a.Processes.FS)+"/7"))
	a.append(t, `{"at":1,"pid":9,"type":"session.idle","session":"ses_other"}`) // any event that causes a reading
	require.Eventually(t, func() bool { return !limited(t, w.last("ses_1")).InProgress }, patient, 5*time.Millisecond)
	died := limited(t, w.last("ses_1"))
	require.Equal(t, waiting.Reset, died.Reset)
	require.True(t, died.WaitHelps)
	_, still := a.retry("ses_1")
	require.False(t, still)
	for i := range w.told[1:] {
		require.Less(t, w.told[i].Pos.Offset, w.told[i+1].Pos.Offset)
	}
	_ = s
}

func TestARetryThatEndedIsForgotten(t *testing.T) {
	t.Parallel()
	a := newAgent(t, agent.Options{})
	s := waitingStore(t, a)
	a.append(t, retryLine(time.Now().Add(-10*time.Second), 7, time.Now().Add(time.Hour)))
	a.append(t, `{"at":1794701543598,"pid":7,"type":"session.status","session":"ses_1","status":{"type":"busy"}}`)
	w := follow(t, a, nil)
	w.look(s)
	require.Len(t, w.events("ses_1"), 1, "nothing but the prompt")
}

// A retry that was told before the last message began is over: the message came after it.
func TestARetryThatIsOlderThanTheMessageIsNotTold(t *testing.T) {
	t.Parallel()
	a := newAgent(t, agent.Options{})
	a.Processes = fakeProc(t, procDir{pid: 7, argv: []string{"opencode"}, cwd: "/src/app"})
	s := waitingStore(t, a)
	a.append(t, retryLine(time.Now().Add(-time.Hour), 7, time.Now().Add(time.Hour)))
	w := follow(t, a, nil)
	w.look(s)
	require.Len(t, w.events("ses_1"), 1)
	require.IsType(t, resume.Prompted{}, w.last("ses_1"))
	a.append(t, retryLine(time.Now(), 7, time.Now().Add(time.Hour)))
	w.look(s)
	require.IsType(t, resume.Limited{}, w.last("ses_1"), "a newer one counts")
}

// A child that waits is not reported: its parent only looks busy.
func TestARetryOfAChildIsNotTold(t *testing.T) {
	t.Parallel()
	a := newAgent(t, agent.Options{})
	s := waitingStore(t, a)
	s.exec("UPDATE session SET parent_id = 'ses_0'")
	a.append(t, retryLine(time.Now(), 7, time.Now().Add(time.Hour)))
	w := follow(t, a, nil)
	w.look(s)
	require.Empty(t, w.told)
}

func TestTheCapturedStatesAreUnderstood(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/session-status-retry.json")
	require.NoError(t, err)
	var states map[string]server.Status
	require.NoError(t, json.Unmarshal(data, &states))
	at := time.Date(2026, 11, 14, 23, 59, 40, 0, time.UTC)
	for session, want := range map[string]struct {
		class limit.Class
		next  int64
	}{
		"ses_e237f80a8ffeN3MEoJgX91PJrT": {limit.UsageLimit, 1794712291486},
		"ses_e237f7b46ffesoQsOzEOJEB3r3": {limit.UsageLimit, 1794712293210},
		"ses_e237f7874ffeGgaBN0GlyWYjFN": {limit.UsageLimit, 1794740773455},
		"ses_e237f6feaffexHRm3Jl4hSaNN2": {limit.Overloaded, 1794700791269},
	} {
		v := states[session].Verdict(limit.Reader{Zone: time.UTC}, at)
		require.Equal(t, want.class.String(), v.Class.String(), states[session].Message)
		require.True(t, v.InProgress && v.WaitHelps)
		require.Equal(t, want.next, v.Reset.At.UnixMilli())
	}
}

// The plugin is run as opencode runs it, with the events of a real one.
func TestThePluginWritesWhatTheJournalReads(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("SKIPPED: there is no node here to run the plugin with")
	}
	dir := t.TempDir()
	t.Setenv("XDG_STATE_HOME", filepath.Join(dir, `state "here"`))
	made, err := openCode.make(agent.Options{})
	require.NoError(t, err)
	events := made.events
	plugin, err := os.ReadFile("../../../plugins/opencode/resumed.js")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "plugin.mjs"), plugin, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "resumed"), []byte("#!/bin/sh\nexec cat >>'"+dir+"/called'\n"), 0o700))
	t.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
	captured, err := filepath.Abs("testdata/plugin-events.jsonl")
	require.NoError(t, err)
	script := `
import { readFileSync } from "node:fs"
import plugin from "./plugin.mjs"
const hooks = await plugin.server({ directory: "/src/app" })
let over
const ended = new Promise((resolve) => { over = resolve })
async function* events() {
  yield { id: "evt_1", type: "session.created", created: 1, data: { sessionID: "ses_2", location: { directory: "/src/two" } } }
  yield undefined
  yield { id: "evt_2", type: "permission.asked", created: 2, location: { directory: "/src/two" },
    data: { id: "per_1", sessionID: "ses_2", action: "shell", resources: ["make", "test"] } }
  over()
  yield { type: "session.execution.failed", data: { sessionID: "ses_2", error: { type: "provider.rate-limit" } } }
}
const cleanup = plugin.setup({ event: { subscribe: () => events() } })
await ended
cleanup()
for (const ctx of [undefined, {}, { event: {} }, { event: { subscribe: () => undefined } }]) plugin.setup(ctx)
plugin.setup({ event: { subscribe: () => ({ [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(new Error("no")) }) }) } })
await hooks.event({ event: { type: "permission.asked", properties: { sessionID: "ses_1", permission: "bash", metadata: { command: "make" } } } })
for (const line of readFileSync(process.argv[2], "utf8").trim().split("\n")) await hooks.event({ event: JSON.parse(line) })
`
	require.NoError(t, os.WriteFile(filepath.Join(dir, "run.mjs"), []byte(script), 0o600))
	out, err := exec.Command(node, filepath.Join(dir, "run.mjs"), captured).CombinedOutput()
	require.NoError(t, err, string(out))

	for _, hook := range []string{
		`{"session_id":"ses_2","hook_event_name":"SessionStart","cwd":"/src/two"}`,
		`{"session_id":"ses_2","hook_event_name":"Notification","cwd":"/src/two","notification_type":"permission_prompt","tool_name":"shell","tool_input":{"command":"make test"}}`,
		`{"session_id":"ses_1","hook_event_name":"Notification","cwd":"/src/app","notification_type":"permission_prompt","tool_name":"bash","tool_input":{"command":"make"}}`,
	} {
		require.Eventually(t, func() bool { // the plugin does not wait for the program that it calls
			called, _ := os.ReadFile(filepath.Join(dir, "called"))
			return strings.Contains(string(called), hook)
		}, time.Minute, 10*time.Millisecond, hook)
	}

	file := server.PluginFile{Path: events}
	read, err := file.Read()
	require.NoError(t, err)
	var kinds []server.Kind
	for _, e := range read {
		require.Equal(t, "/src/app", e.Directory)
		require.Positive(t, e.PID)
		if e.Session == "ses_e2373d3d3ffe4JigHIj534R8Da" {
			kinds = append(kinds, e.Kind)
		}
	}
	const retrying, working, over = server.Retrying, server.Working, server.Over
	require.Equal(t, []server.Kind{
		retrying, working, retrying, working, retrying, working, retrying, working, retrying, working, over, over, over, over, over,
	}, kinds)
	require.Equal(t, "Rate limit reached for requests", read[0].Status.Message)
	require.Equal(t, int64(1794701543598), read[0].Status.Next)
	info, err := os.Stat(events)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), "nobody else's business")
	again, err := file.Read()
	require.NoError(t, err)
	require.Empty(t, again)
}

func TestAJournalThatIsBegunAnewIsReadFromItsStart(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "events.jsonl")
	file := server.PluginFile{Path: path}
	line := `{"at":1,"pid":7,"type":"session.idle","session":"ses_1"}` + "\n"
	read := func(want int) {
		t.Helper()
		events, err := file.Read()
		require.NoError(t, err)
		require.Len(t, events, want)
	}
	require.NoError(t, os.WriteFile(path, []byte(line+line+line[:20]), 0o600))
	read(2)
	require.NoError(t, os.WriteFile(path, []byte(line+line+line), 0o600))
	read(1)
	require.NoError(t, os.WriteFile(path, []byte(line), 0o600))
	read(1)
	require.NoError(t, os.Rename(path, path+".old"))
	require.NoError(t, os.WriteFile(path, []byte(line+line+line+line), 0o600))
	read(4)
}

// fakeServer is a server of opencode with predefined answers.
type fakeServer struct {
	*httptest.Server
	events chan string
	mu     sync.Mutex
	status map[string]string // by directory
}

func newFakeServer(t *testing.T) *fakeServer {
	s := &fakeServer{events: make(chan string), status: make(map[string]string)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /global/event", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.(http.Flusher).Flush()
		for {
			select {
			case e, ok := <-s.events:
				if !ok {
					return
				}
				fmt.Fprintf(w, "%s\n\n", e)
				w.(http.Flusher).Flush()
			case <-r.Context().Done():
				return
			}
		}
	})
	mux.HandleFunc("GET /session/status", func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		body := s.status[r.URL.Query().Get("directory")]
		if body == "" {
			body = "{}"
		}
		fmt.Fprint(w, body)
	})
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Server.Close)
	return s
}

func retryEvent(next time.Time) string {
	return fmt.Sprintf(`data: {"directory":"/src/app","payload":{"type":"session.status","properties":{"sessionID":"ses_1",`+
		`"status":{"type":"retry","attempt":1,"message":"Provider is overloaded","next":%d}}}}`, next.UnixMilli())
}

func TestAServerTellsWhatItWaitsForUntilItIsGone(t *testing.T) {
	t.Parallel()
	fake := newFakeServer(t)
	a := newAgent(t, agent.Options{Server: fake.URL})
	waitingStore(t, a)
	w := follow(t, a, nil)
	captured, err := os.ReadFile("testdata/global-event-sample.sse")
	require.NoError(t, err)
	fake.events <- strings.TrimSpace(string(captured)) // of sessions that are not known here
	fake.events <- ": a comment\ndata: no JSON"
	next := time.Now().Add(time.Hour)
	fake.events <- retryEvent(next)
	waiting := until[resume.Limited](w, "ses_1")
	require.True(t, waiting.InProgress)
	require.Equal(t, limit.Overloaded, waiting.Class)
	require.Equal(t, next.UnixMilli(), waiting.Reset.At.UnixMilli())

	close(fake.events) // it ends like a server that is stopped
	fake.Close()
	require.Eventually(t, func() bool { return !limited(t, w.last("ses_1")).InProgress }, patient, 5*time.Millisecond)
}

// A server that does not exist, or is not opencode, only causes a line in the log.
func TestAServerThatDoesNotAnswerIsAskedAgain(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	asked := 0
	odd := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		asked++
		mu.Unlock()
		w.WriteHeader(http.StatusTeapot)
	}))
	t.Cleanup(odd.Close)
	w := follow(t, newAgent(t, agent.Options{Server: odd.URL}), nil)
	require.Eventually(t, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return asked >= 2
	}, patient, 10*time.Millisecond)
	w.stop()
	require.Equal(t, 1, bytes.Count([]byte(w.logged()), []byte("teapot")), "an equal failure is told once: %s", w.logged())
}
