package qwen

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/agenttest"
	"resumed/internal/limit"
	"resumed/internal/lines"
	"resumed/internal/process"
	"resumed/internal/procfs"
	"resumed/internal/resume"
)

var newAgent = agenttest.Described(described)

func TestEveryCapturedChatIsUnderstood(t *testing.T) {
	a := newAgent(t)
	agenttest.Understood(t, a)
	for _, c := range agenttest.Cases[agenttest.Captured](t) {
		if c.Class != limit.None {
			last, _, err := agent.Last(t.Context(), a, a.Sources()[0], c.Path())
			require.NoError(t, err)
			require.Equal(t, "openai", last.Provider, "the kind of login is the kind of provider")
		}
	}
}

func TestReadingForwardsEndsWhereReadingBackwardsBegins(t *testing.T) {
	agenttest.BothWays(t, newAgent(t))
}

const sessionA = "6e6faec3-9b19-4907-bdc9-bf24ad0a6e68"

type object = agenttest.Object

var began = agenttest.Began

func line(kind string, after time.Duration, more object) object {
	r := object{
		"uuid": sessionA, "sessionId": sessionA, "type": kind, "version": "0.24.4", "cwd": "/src",
		"timestamp": began.Add(after).Format("2006-01-02T15:04:05.000Z07:00"),
	}
	maps.Copy(r, more)
	return r
}

func parts(text string) object { return object{"message": object{"parts": []object{{"text": text}}}} }

func failed(after time.Duration, more object) object {
	event := object{"event.name": apiError, "model": "qwen3-max", "error_message": "503 overloaded", "error_type": "InternalServerError", "status_code": 503}
	maps.Copy(event, more)
	return line("system", after, object{"subtype": "ui_telemetry", "systemPayload": object{"uiEvent": event}})
}

func TestWhatALineMeans(t *testing.T) {
	a := newAgent(t)
	at := began.Add(time.Minute)
	background := parts("a task has ended")
	background["subtype"] = "notification"
	schedule := parts("look again")
	schedule["provenance"] = "cron"
	agenttest.Meanings(t, a, "", sessionA, map[string]agenttest.Means{
		"a prompt":                      {line("user", time.Minute, parts("go")), resume.Prompted{At: at}},
		"a notice from the background":  {line("user", time.Minute, background), nil},
		"a prompt of its own schedule":  {line("user", time.Minute, schedule), nil},
		"the result of a tool":          {line("user", time.Minute, object{"message": object{"parts": []object{{"functionResponse": object{}}}}}), nil},
		"an answer":                     {line("assistant", time.Minute, parts("done")), resume.Progressed{At: at}},
		"a call of a tool":              {line("assistant", time.Minute, object{"message": object{"parts": []object{{"functionCall": object{"name": "x"}}}}}), resume.Progressed{At: at}},
		"an answer that holds nothing":  {line("assistant", time.Minute, nil), nil},
		"a person who goes back":        {line("system", time.Minute, object{"subtype": "rewind"}), resume.Cancelled{At: at}},
		"a request that was broken off": {failed(time.Minute, object{"error_message": "Request was aborted.", "error_type": "APIUserAbortError", "status_code": nil}), resume.Cancelled{At: at}},
		"a failure of a helper":         {failed(time.Minute, object{"subagent_name": "managed-auto-memory-extractor"}), nil},
		"a side conversation":           {line("assistant", time.Minute, object{"isSidechain": true, "message": parts("x")["message"]}), nil},
		"bookkeeping":                   {line("system", time.Minute, object{"subtype": "attribution_snapshot"}), nil},
	})
	for text, want := range map[string]limit.Class{
		"terminated":        limit.Network,
		"Connection error.": limit.Network,
	} {
		data, err := json.Marshal(failed(0, object{"error_message": text, "error_type": "TypeError", "status_code": nil}))
		require.NoError(t, err)
		s, ok := a.Observe(agent.Source{}, lines.Line{Data: data})
		require.True(t, ok)
		require.Equal(t, want.String(), s.Event.(resume.Limited).Class.String(), text)
	}
}

func TestOnlyChatsOfSessionsAreWatched(t *testing.T) {
	for rel, want := range map[string]bool{
		"-src/chats/" + sessionA + ".jsonl":     true,
		"-src/chats/" + sessionA + ".json":      false,
		"-src/chats/notes.jsonl":                false,
		"-src/" + sessionA + ".jsonl":           false,
		"-src/chats/sub/" + sessionA + ".jsonl": false,
		"-src/agents/" + sessionA + ".jsonl":    false,
	} {
		require.Equal(t, want, newAgent(t).Sources()[0].Match(filepath.FromSlash(rel)), rel)
	}
}

// scene is a stopped session on disk and a qwen to continue it with.
type scene = agenttest.Scene[*agent.Described]

func newScene(t *testing.T, lines ...any) *scene {
	t.Setenv("QWEN_HOME", "")
	t.Setenv("QWEN_RUNTIME_DIR", "")
	sc := agenttest.NewScene(t, "qwen", sessionA, ".qwen/projects/-src/chats/"+sessionA+".jsonl", newAgent)
	sc.Write(t, lines...)
	return sc
}

func stopped() []any {
	return []any{line("user", 0, parts("work")), failed(time.Second, nil), failed(5*time.Second, nil)}
}

func TestASessionIsContinuedWhereItStopped(t *testing.T) {
	for rule, c := range map[string]struct {
		lines  []any
		prompt string
		want   []string
	}{
		"with the model it asked":     {stopped(), "continue", []string{"--model", "qwen3-max", "-p", "continue"}},
		"a prompt is never an option": {stopped(), "-x", []string{"--model", "qwen3-max", "--prompt=-x"}},
		"a model that is none":        {[]any{failed(0, object{"model": "--yolo"})}, "continue", []string{"-p", "continue"}},
		"after a resume that was lost": {
			append(stopped(), line("user", time.Minute, parts("continue"))), "continue", []string{"--model", "qwen3-max", "-p", "continue"},
		},
	} {
		t.Run(rule, func(t *testing.T) {
			newScene(t, c.lines...).MustGoOn(t, c.prompt, append([]string{"--resume", sessionA}, c.want...)...)
		})
	}
}

func TestASessionThatWentOnIsLeftAlone(t *testing.T) {
	agenttest.WentOn(t, func() *scene { return newScene(t, stopped()...) }, map[string]any{
		"newer prompt": line("user", time.Minute, parts("never mind")),
		"moved on":     line("assistant", time.Minute, parts("done")),
		"interrupted":  line("system", time.Minute, object{"subtype": "rewind"}),
	})
}

func TestWhatWaitingDoesNotMendIsParked(t *testing.T) {
	for why, spoil := range agenttest.Spoilt[*agent.Described]("qwen") {
		sc := newScene(t, stopped()...)
		spoil(t, sc)
		sc.MustLeave(t, why, true)
	}
}

func TestAnotherHomeIsNamedToTheRun(t *testing.T) {
	agenttest.AnotherHome(t, newScene(t, stopped()...), described, "QWEN_HOME")
}

func TestTheUsualHomeIsTheOneOfTheEnvironment(t *testing.T) {
	t.Setenv("HOME", "/home/u")
	for _, c := range []struct{ runtime, home, want string }{
		{"", "", "/home/u/.qwen"}, {"", "/q", "/q"}, {"/r", "/q", "/r"},
	} {
		t.Setenv("QWEN_RUNTIME_DIR", c.runtime)
		t.Setenv("QWEN_HOME", c.home)
		a, err := described.New(agent.Options{})
		require.NoError(t, err)
		require.Equal(t, filepath.Join(c.want, "projects"), a.Sources()[0].Root)
		require.Equal(t, "qwen-code:default", a.Sources()[0].Account)
	}
	_, err := described.New(agent.Options{Roots: []string{"relative"}})
	require.ErrorContains(t, err, "not an absolute path")
}

func TestWhoHoldsASession(t *testing.T) {
	for rule, c := range map[string]struct {
		argv string
		env  string
		want *resume.Owner
	}{
		"a dialogue":     {"node /usr/bin/qwen", "TMUX_PANE=%3", &resume.Owner{PID: 42, Kind: "interactive", Tmux: "%3"}},
		"a headless run": {"node /n/@qwen-code/qwen-code/cli.js -p hi", "", &resume.Owner{PID: 42, Kind: "headless"}},
		"our own run":    {"node /usr/bin/qwen --resume " + sessionA + " -p hi", agent.MarkVariable + "=m", nil},
		"our other run":  {"node /usr/bin/qwen -p hi", agent.MarkVariable + "=m2", nil},
		"a person where a resumed run opened a terminal": {
			"node /usr/bin/qwen", agent.MarkVariable + "=m2", &resume.Owner{PID: 42, Kind: "interactive"},
		},
		"another program": {"node /n/other/cli.js", "", nil},
	} {
		t.Run(rule, func(t *testing.T) {
			root := t.TempDir()
			dir := filepath.Join(root, "42")
			require.NoError(t, os.Mkdir(dir, 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(dir, "cmdline"), []byte(strings.ReplaceAll(c.argv, " ", "\x00")+"\x00"), 0o600))
			require.NoError(t, os.WriteFile(filepath.Join(dir, "environ"), []byte(c.env), 0o600))
			require.NoError(t, os.Symlink("/src", filepath.Join(dir, "cwd")))
			a := newAgent(t)
			a.Processes = process.At(procfs.FS(root))
			owner, err := a.Owner(t.Context(), resume.Session{Key: resume.Key{ID: sessionA}, Cwd: "/src", Run: &resume.Run{Mark: "m"}})
			require.NoError(t, err)
			require.Equal(t, c.want, owner)
			owner, err = a.Owner(t.Context(), resume.Session{Key: resume.Key{ID: sessionA}, Cwd: "/elsewhere", Run: &resume.Run{Mark: "m"}})
			require.NoError(t, err)
			require.Nil(t, owner)
		})
	}
}

// Any line is parsed or skipped, and a reset is never invented.
func FuzzObserve(f *testing.F) {
	agenttest.Seeds(f)
	a := newAgent(f)
	written := time.Date(2026, 11, 15, 0, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, data []byte) {
		s, ok := a.Observe(agent.Source{}, lines.Line{Path: "/r/" + sessionA + ".jsonl", Data: data, ModTime: written})
		if !ok {
			return
		}
		if !agent.IsUUID(s.Key.ID) {
			t.Fatalf("session id %q", s.Key.ID)
		}
		r, _ := lines.Parse[record](data)
		kind, known := lines.Text(data, "type")
		odd := bytes.ContainsRune(data, '\\') || known && string(kind) != r.Type // no version writes such a record, or a name twice
		if sift(data) == agent.Nothing && !odd {
			t.Fatalf("a line that means %#v would be passed over", s.Event)
		}
		if l, ok := s.Event.(resume.Limited); ok && l.Reset.Stated() && !bytes.ContainsFunc([]byte(l.Text), unicode.IsDigit) &&
			!strings.HasSuffix(l.Text, "…") {
			t.Fatalf("reset %v of a text without a number: %q", l.Reset, l.Text)
		}
	})
}

// Wherever the searched beginning of a line ends, a failed request is found.
func TestAFailedRequestIsReadHoweverLongItsDirectory(t *testing.T) {
	for n := range 1200 {
		line := `{"sessionId":"s","type":"system","cwd":"/` + strings.Repeat("d", n) +
			`","subtype":"ui_telemetry","systemPayload":{"uiEvent":{"event.name":"qwen-code.api_error","status_code":429}}}`
		require.Equal(t, agent.Matters, sift([]byte(line)), n)
	}
}
