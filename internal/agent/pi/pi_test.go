package pi

import (
	"bytes"
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

const sessionA = "01a1ea00-0593-7310-903e-6be2b02799fb"

const fileA = "2026-11-17T14-53-52-408Z_" + sessionA + ".jsonl"

// The types of records that tests write.
const (
	header     = "session"
	messaged   = "message"
	remodelled = "model_change"
	branched   = "branch_summary"
)

type object = agenttest.Object

var began = agenttest.Began

func line(kind string, after time.Duration, more object) object {
	r := object{"type": kind, "id": "a0f4c189", "parentId": nil, "timestamp": began.Add(after).Format(time.RFC3339)}
	maps.Copy(r, more)
	return r
}

func says(role string, after time.Duration, more object) object {
	m := object{"role": role}
	maps.Copy(m, more)
	return line(messaged, after, object{"message": m})
}

func text(words string) object { return object{"content": []object{{"type": "text", "text": words}}} }

func said(after time.Duration, words string) object { return says("user", after, text(words)) }

func answered(after time.Duration, words string) object {
	answer := text(words)
	answer["stopReason"] = "stop"
	return says("assistant", after, answer)
}

func failed(after time.Duration, words string) object {
	return says("assistant", after, object{"content": []object{}, "provider": "fake", "stopReason": "error", "errorMessage": words})
}

func offered(added, removed []object) object {
	return says("system", 0, object{"content": "", "toolsAdded": added, "toolsRemoved": removed})
}

func tools(names ...string) (all []object) {
	for _, name := range names {
		all = append(all, object{"name": name})
	}
	return all
}

func TestWhatALineMeans(t *testing.T) {
	a := newAgent(t)
	at := began.Add(time.Minute)
	agenttest.Meanings(t, a, filepath.Join("/x/--src--", fileA), sessionA, map[string]agenttest.Means{
		"a prompt":                     {said(time.Minute, "go"), resume.Prompted{At: at}},
		"a prompt of an old version":   {says("user", time.Minute, object{"content": "go"}), resume.Prompted{At: at}},
		"an answer":                    {answered(time.Minute, "done"), resume.Progressed{At: at}},
		"an answer that was too long":  {says("assistant", time.Minute, object{"content": []object{{"type": "text", "text": "a"}}, "stopReason": "length"}), resume.Progressed{At: at}},
		"a call of a tool":             {says("assistant", time.Minute, object{"content": []object{{"type": "toolCall", "name": "bash"}}, "stopReason": "toolUse"}), resume.Progressed{At: at}},
		"an answer that holds nothing": {answered(time.Minute, " "), nil},
		"the result of a tool":         {says("toolResult", time.Minute, text("done")), nil},
		"the tools of the session":     {offered(tools("read"), nil), nil},
		"a person who stops the turn":  {says("assistant", time.Minute, object{"content": []object{{"type": "text", "text": "half"}}, "stopReason": "aborted"}), resume.Cancelled{At: at}},
		"a person who goes back":       {line(branched, time.Minute, object{"fromId": "x", "summary": "s"}), resume.Cancelled{At: at}},
		"a retry of its own":           {line("context_edit", time.Minute, object{"targetId": "x", "replacement": nil}), nil},
		"a compaction":                 {line("compaction", time.Minute, object{"summary": "error 429"}), nil},
		"another model":                {line(remodelled, time.Minute, object{"provider": "p", "modelId": "m"}), nil},
	})
}

func TestWhatAFailureMeans(t *testing.T) {
	limits := limit.Reader{Zone: time.UTC, Grace: 2 * time.Hour, At: time.Date(2026, 11, 17, 2, 0, 0, 0, time.UTC)}
	for words, want := range map[string]limit.Class{
		`429: {"message":"Rate limit reached for requests","type":"requests","code":"rate_limit_exceeded"}`: limit.RateLimit,
		`529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`:                   limit.Overloaded,
		`401: {"message":"Incorrect API key provided"}`:                                                     limit.Auth,
		"Connection error.":                  limit.Network,
		"terminated":                         limit.Network,
		"Stream ended without finish_reason": limit.Network,
		"No API key found for fake.":         limit.Auth,
		"what nobody has said before":        limit.Unknown,
	} {
		v := verdict(limits, words)
		require.Equal(t, want.String(), v.Class.String(), words)
		require.Equal(t, want.Transient(), v.WaitHelps, words)
		require.False(t, v.Reset.Stated(), words)
		require.False(t, v.InProgress, "its process may be killed, and nobody goes on then")
	}
}

func TestOnlySessionsAreWatched(t *testing.T) {
	for rel, want := range map[string]bool{
		"--src-shop--/" + fileA:                            true,
		"--src-shop--/2026-11-17T14-53-52-408Z_task.jsonl": true, // a name that a person gave
		"--src-shop--/" + fileA + ".bak":                   false,
		"--src-shop--/" + sessionA + ".jsonl":              false,
		"--src-shop--/x_--help.jsonl":                      false,
		"--src-shop--/x_a.jsonl.jsonl":                     false, // pi would take it for a path
		fileA:                                              false,
		"a/b/" + fileA:                                     false,
	} {
		require.Equal(t, want, newAgent(t).Sources()[0].Match(filepath.FromSlash(rel)), rel)
	}
}

func TestTheUsualHomeIsTheOneOfTheEnvironment(t *testing.T) {
	t.Setenv("HOME", "/home/u")
	for named, want := range map[string]string{"": "/home/u/.pi/agent", "/q": "/q"} {
		t.Setenv(homeVariable, named)
		a, err := described.New(agent.Options{})
		require.NoError(t, err)
		require.Equal(t, filepath.Join(want, "sessions"), a.Sources()[0].Root)
	}
}

func TestTheSizeOfTheContextIsReadFromTheLastAnswer(t *testing.T) {
	for _, c := range agenttest.Cases[agenttest.Captured](t) {
		if c.Case != "ok" {
			continue
		}
		got, known, err := newAgent(t).ContextSize(t.Context(), resume.Session{Transcript: c.Path()})
		require.NoError(t, err)
		require.True(t, known)
		require.EqualValues(t, 15, got.Tokens)
	}
}

// Any line is parsed or skipped, and a reset is never invented.
func FuzzObserve(f *testing.F) {
	agenttest.Seeds(f)
	a := newAgent(f)
	written := time.Date(2026, 11, 15, 0, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, data []byte) {
		s, ok := a.Observe(agent.Source{}, lines.Line{Path: filepath.Join("/r/--src--", fileA), Data: data, ModTime: written})
		if !ok {
			return
		}
		odd := bytes.ContainsRune(data, '\\') || bytes.Count(data, []byte(`"type"`)) > 1 // no version writes such an entry
		if sift(data) == agent.Nothing && !odd {
			t.Fatalf("a line that means %#v would be passed over", s.Event)
		}
		if l, ok := s.Event.(resume.Limited); ok && l.Reset.Stated() && !strings.ContainsAny(string(data), "0123456789") {
			t.Fatalf("reset %v of a line without a number", l.Reset)
		}
	})
}
