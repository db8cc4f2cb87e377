package kimi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/agenttest"
	"resumed/internal/limit"
	"resumed/internal/lines"
	"resumed/internal/resume"
)

var newAgent = agenttest.Described(described)

func TestEveryCapturedSessionIsUnderstood(t *testing.T) { agenttest.Understood(t, newAgent(t)) }

func TestReadingForwardsEndsWhereReadingBackwardsBegins(t *testing.T) {
	agenttest.BothWays(t, newAgent(t))
}

const sessionA = "session_6e6faec3-9b19-4907-bdc9-bf24ad0a6e68"

// The types of records that tests write.
const (
	prompted  = "turn.prompt"
	steered   = "turn.steer"
	stepped   = "context.append_loop_event"
	retrying  = "turn.step.retrying"
	turnEnded = "turn.ended"
	undone    = "context.undo"
	cleared   = "context.clear"
	moded     = "permission.set_mode"
)

type object = agenttest.Object

var began = agenttest.Began

func line(kind string, after time.Duration, more object) object {
	r := object{"type": kind, "agentId": "main", "time": began.Add(after).UnixMilli()}
	maps.Copy(r, more)
	return r
}

func said(after time.Duration, text string) object {
	return line(prompted, after, object{"input": []object{{"type": "text", "text": text}}, "origin": object{"kind": "user"}})
}

func answered(after time.Duration, text string) object {
	return line(stepped, after, object{"event": object{"type": "content.part", "part": object{"type": "text", "text": text}}})
}

func inMode(mode string) object { return line(moded, 0, object{"mode": mode}) }

func failed(after time.Duration, code, name, message string, status int) object {
	return line(turnEnded, after, object{"reason": "failed", "error": object{"code": code, "name": name, "message": message, "details": object{"statusCode": status}}})
}

func overloaded(after time.Duration) object {
	return failed(after, "provider.overloaded", "APIProviderOverloadedError", "529 overloaded", 529)
}

func TestWhatALineMeans(t *testing.T) {
	a := newAgent(t)
	at := began.Add(time.Minute).Local()
	agenttest.Meanings(t, a, filepath.Join("/x/wd", sessionA, wireFile), sessionA, map[string]agenttest.Means{
		"a prompt":                     {said(time.Minute, "go"), resume.Prompted{At: at}},
		"a prompt into a running turn": {line(steered, time.Minute, object{"origin": object{"kind": "user"}}), resume.Prompted{At: at}},
		"a prompt of its schedule":     {line(prompted, time.Minute, object{"origin": object{"kind": "cron_job"}}), resume.Prompted{At: at, By: "Kimi Code itself"}},
		"an answer":                    {answered(time.Minute, "done"), resume.Progressed{At: at}},
		"a call of a tool":             {line(stepped, time.Minute, object{"event": object{"type": "tool.call", "name": "Bash"}}), resume.Progressed{At: at}},
		"an answer that holds nothing": {answered(time.Minute, " "), nil},
		"the result of a tool":         {line(stepped, time.Minute, object{"event": object{"type": "tool.result"}}), nil},
		"the end of a step":            {line(stepped, time.Minute, object{"event": object{"type": "step.end", "finishReason": "error"}}), nil},
		"a person who stops the turn":  {line(turnEnded, time.Minute, object{"reason": "cancelled"}), resume.Cancelled{At: at}},
		"a person who goes back":       {line(undone, time.Minute, object{"count": 1}), resume.Cancelled{At: at}},
		"a person who clears it all":   {line(cleared, time.Minute, nil), resume.Cancelled{At: at}},
		"the end of a turn":            {line(turnEnded, time.Minute, object{"reason": "completed"}), nil},
		"a turn that a hook blocked":   {line(turnEnded, time.Minute, object{"reason": "blocked"}), nil},
		"a change of its mode":         {line(moded, time.Minute, object{"mode": "auto"}), nil},
	})
}

func TestWhatAFailureMeans(t *testing.T) {
	at := time.Date(2026, 11, 16, 2, 0, 0, 0, time.UTC)
	limits := limit.Reader{Zone: time.UTC, Grace: 2 * time.Hour, At: at}
	const buy = "To continue now, purchase extra usage or upgrade your plan: https://www.kimi.com/code/#pricing"
	for _, c := range []struct {
		code, name, message string
		status              int
		class               limit.Class
	}{
		{"provider.rate_limit", "APIProviderRateLimitError", "429 max organization concurrency: 50 reached", 429, limit.RateLimit},
		{"provider.api_error", "APIProviderQuotaExhaustedError", "429 You exceeded your current token quota", 429, limit.Billing},
		{"provider.auth_error", "APIStatusError", "401 Invalid Authentication", 401, limit.Auth},
		{"provider.auth_error", "APIStatusError", "401 quota of your key is exhausted", 401, limit.Auth}, // whatever the text says, the key is refused
		{"provider.auth_error", "APIStatusError", "403 The API you are accessing is not open", 403, limit.Auth},
		{"provider.auth_error", "APIStatusError", "403 You have reached your usage limit for this billing cycle. Your quota will be refreshed in the next cycle.", 403, limit.UsageLimit},
		{"provider.auth_error", "APIStatusError", "403 You've reached your usage limit for this billing cycle. Your quota will be refreshed in the next cycle. " + buy, 403, limit.UsageLimit},
		{"provider.auth_error", "APIStatusError", "403 You've reached your weekly (7-day) usage limit. Your quota will reset when the current 7-day window ends. " + buy, 403, limit.UsageLimit},
		{"provider.auth_error", "APIStatusError", "403 You've reached your monthly usage limit for this billing cycle", 403, limit.UsageLimit},
		{"provider.auth_error", "APIStatusError", "403 Kimi For Coding is currently only available for Coding Agents such as Kimi CLI, Claude Code, Roo Code, Kilo Code, etc.", 403, limit.Auth},
		{"auth.login_required", "Error2", "OAuth login is required.", 0, limit.Auth},
		{"provider.overloaded", "APIProviderOverloadedError", "529 busy", 529, limit.Overloaded},
		{"provider.connection_error", "APIConnectionError", "Connection error.", 0, limit.Network},
		{"context.overflow", "APIContextOverflowError", "400 token limit", 400, limit.ContextOverflow},
		{"loop.max_steps_exceeded", "Error2", "Turn exceeded max steps", 0, limit.BadRequest},
		{"provider.filtered", "Error2", "the answer was filtered", 0, limit.BadRequest},
		{"provider.api_error", "APIStatusError", "502 Bad Gateway", 502, limit.ServerError},
		{"internal", "Error", "x", 0, limit.Unknown},
	} {
		f := failure{Code: c.code, Name: c.name, Message: c.message}
		f.Details.Status = c.status
		v := f.verdict(limits, time.Time{})
		require.Equal(t, c.class.String(), v.Class.String(), c.message)
		require.Equal(t, c.class.Transient(), v.WaitHelps, c.message)
		require.False(t, v.Reset.Stated(), c.message)
	}
}

// The record contains the delay that the provider requested; Kimi Code's own delay is no statement of the provider.
func TestOnlyALongWaitIsTheProvidersWord(t *testing.T) {
	a := newAgent(t)
	for delay, want := range map[float64]time.Time{532.79: {}, 36_000: {}, 3_600_000: began.Add(time.Hour), 1e300: {}} {
		data, err := json.Marshal(line(retrying, 0, object{"delayMs": delay, "errorName": "APIProviderRateLimitError", "errorMessage": "429 slow down", "statusCode": 429}))
		require.NoError(t, err)
		s, ok := a.Observe(agent.Source{}, lines.Line{Path: filepath.Join("/x/wd", sessionA, wireFile), Data: data})
		require.True(t, ok)
		limited := s.Event.(resume.Limited)
		require.Equal(t, limit.RateLimit, limited.Class)
		require.False(t, limited.InProgress, "its process may be killed, and nobody goes on then")
		require.True(t, want.Equal(limited.Reset.At), "%v: %v", delay, limited.Reset.At)
	}
}

func TestOnlyRecordsOfSessionsAreWatched(t *testing.T) {
	for rel, want := range map[string]bool{
		"wd_shop_1/" + sessionA + "/agents/main/wire.jsonl":      true,
		"wd_shop_1/" + sessionA + "/agents/agent-1/wire.jsonl":   false, // of a subagent
		"wd_shop_1/" + sessionA + "/agents/main/wire.jsonl.bak":  false,
		"wd_shop_1/session_x/agents/main/wire.jsonl":             false,
		sessionA + "/agents/main/wire.jsonl":                     false,
		"a/b/" + sessionA + "/agents/main/wire.jsonl":            false,
		"wd_shop_1/" + sessionA + "/x/agents/main/wire.jsonl":    false,
		"wd_shop_1/" + sessionA[8:] + "/agents/main/wire.jsonl":  false,
		"wd_shop_1/" + sessionA + "/agents/main/sub/wire.jsonl":  false,
		"wd_shop_1/" + sessionA + "/logs/agents/main/wire.jsonl": false,
	} {
		require.Equal(t, want, newAgent(t).Sources()[0].Match(filepath.FromSlash(rel)), rel)
	}
}

func TestTheUsualHomeIsTheOneOfTheEnvironment(t *testing.T) {
	t.Setenv("HOME", "/home/u")
	for home, want := range map[string]string{"": "/home/u/.kimi-code", "/q": "/q"} {
		t.Setenv(homeVariable, home)
		a, err := described.New(agent.Options{})
		require.NoError(t, err)
		require.Equal(t, filepath.Join(want, "sessions"), a.Sources()[0].Root)
	}
	_, err := described.New(agent.Options{Roots: []string{"relative"}})
	require.ErrorContains(t, err, "not an absolute path")
}

func TestTheSizeOfTheContextIsReadFromTheLastAnswer(t *testing.T) {
	for _, c := range agenttest.Cases[agenttest.Captured](t) {
		if c.Case != "ok" {
			continue
		}
		got, known, err := newAgent(t).ContextSize(t.Context(), resume.Session{Transcript: c.Path()})
		require.NoError(t, err)
		require.True(t, known)
		require.EqualValues(t, 1020, got.Tokens)
		require.Zero(t, got.Warm, "how long it is kept is not known")
	}
}

// scene is a stopped session on disk and a kimi to continue it with.
type scene = agenttest.Scene[*agent.Described]

func newScene(t *testing.T, lines ...any) *scene {
	t.Setenv(homeVariable, "")
	sc := agenttest.NewScene(t, "kimi", sessionA, ".kimi-code/sessions/wd_u_1/"+sessionA+"/agents/main/wire.jsonl", newAgent)
	agenttest.Write(t, filepath.Join(filepath.Dir(filepath.Dir(filepath.Dir(sc.Session.Transcript))), "state.json"), fmt.Sprintf(`{"id":%q,"cwd":%q}`, sessionA, sc.Session.Cwd))
	sc.Write(t, lines...)
	return sc
}

func stopped() []any { return []any{inMode("auto"), said(0, "work"), overloaded(time.Second)} }

// Any line is parsed or skipped, and a reset is never invented.
func FuzzObserve(f *testing.F) {
	agenttest.Seeds(f)
	a := newAgent(f)
	written := time.Date(2026, 11, 15, 0, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, data []byte) {
		s, ok := a.Observe(agent.Source{}, lines.Line{Path: filepath.Join("/r/wd", sessionA, wireFile), Data: data, ModTime: written})
		if !ok {
			return
		}
		odd := bytes.ContainsRune(data, '\\') || bytes.Count(data, []byte(`"type"`)) > 1 // no version writes such a record
		if sift(data) == agent.Nothing && !odd {
			t.Fatalf("a line that means %#v would be passed over", s.Event)
		}
		if l, ok := s.Event.(resume.Limited); ok && l.Reset.Stated() && !strings.ContainsAny(string(data), "0123456789") {
			t.Fatalf("reset %v of a line without a number", l.Reset)
		}
	})
}
