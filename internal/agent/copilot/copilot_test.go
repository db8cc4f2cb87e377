package copilot

import (
	"bytes"
	"maps"
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
	"resumed/internal/resume"
)

var newAgent = agenttest.Described(described)

func TestEveryCapturedSessionIsUnderstood(t *testing.T) { agenttest.Understood(t, newAgent(t)) }

func TestReadingForwardsEndsWhereReadingBackwardsBegins(t *testing.T) {
	agenttest.BothWays(t, newAgent(t))
}

const sessionA = "6e6faec3-9b19-4907-bdc9-bf24ad0a6e68"

// The types of records that tests write.
const (
	started   = "session.start"
	prompt    = "user.message"
	answer    = "assistant.message"
	failure   = "session.error"
	aborted   = "abort"
	rewound   = "session.snapshot_rewind"
	moded     = "session.mode_changed"
	permitted = "session.permissions_changed"
	tooled    = "tool.execution_complete"
)

type object = agenttest.Object

var began = agenttest.Began

func line(kind string, after time.Duration, data object) object {
	return object{"type": kind, "data": data, "id": sessionA, "timestamp": began.Add(after).Format("2006-01-02T15:04:05.000Z07:00")}
}

func failed(after time.Duration, more object) object {
	data := object{"errorType": "query", "message": "503 overloaded", "statusCode": 503}
	maps.Copy(data, more)
	return line(failure, after, data)
}

func said(after time.Duration, content string) object {
	return line(prompt, after, object{"content": content})
}

func TestWhatALineMeans(t *testing.T) {
	a := newAgent(t)
	at := began.Add(time.Minute)
	helper := line(answer, time.Minute, object{"content": "done"})
	helper["agentId"] = "explore-1"
	agenttest.Meanings(t, a, "/x/"+sessionA+"/events.jsonl", sessionA, map[string]agenttest.Means{
		"a prompt":                     {said(time.Minute, "go"), resume.Prompted{At: at}},
		"a prompt of its autopilot":    {line(prompt, time.Minute, object{"content": "go on", "isAutopilotContinuation": true}), resume.Prompted{At: at, By: "GitHub Copilot CLI itself"}},
		"a prompt of its schedule":     {line(prompt, time.Minute, object{"content": "go on", "source": "schedule-1"}), resume.Prompted{At: at, By: "GitHub Copilot CLI itself"}},
		"an answer":                    {line(answer, time.Minute, object{"content": "done"}), resume.Progressed{At: at}},
		"a call of a tool":             {line(answer, time.Minute, object{"content": "", "toolRequests": []object{{"name": "bash"}}}), resume.Progressed{At: at}},
		"an answer that holds nothing": {line(answer, time.Minute, object{"content": " "}), nil},
		"an answer of a helper":        {helper, nil},
		"an answer within a tool":      {line(answer, time.Minute, object{"content": "x", "parentToolCallId": "call_1"}), nil},
		"an abort":                     {line(aborted, time.Minute, object{"reason": "user_initiated"}), resume.Cancelled{At: at}},
		"a person who goes back":       {line(rewound, time.Minute, object{"upToEventId": "x", "eventsRemoved": 3}), resume.Cancelled{At: at}},
		"the end of a turn":            {line("assistant.turn_end", time.Minute, object{"turnId": "0"}), nil},
		"the end of a run":             {line("session.shutdown", time.Minute, object{"shutdownType": "routine"}), nil},
		"the result of a tool":         {line(tooled, time.Minute, object{"toolCallId": "x", "success": true}), nil},
	})
}

func TestWhatAFailureMeans(t *testing.T) {
	at := time.Date(2026, 11, 16, 2, 0, 0, 0, time.UTC)
	limits := limit.Reader{Zone: time.UTC, Grace: 2 * time.Hour, At: at}
	const sorry = "Sorry, you've hit a rate limit that restricts the number of Copilot model requests you can make within a specific time period."
	for _, c := range []struct {
		kind, code, message string
		status              int
		class               limit.Class
		reset               time.Duration
	}{
		{"rate_limit", "user_weekly_rate_limited", sorry, 429, limit.UsageLimit, 0},
		{"rate_limit", "user_global_rate_limited", sorry + " Please try again in 58 hours. Please review our Terms of Service", 429, limit.UsageLimit, 58 * time.Hour},
		{"rate_limit", "rate_limited", "rate limit exceeded", 429, limit.RateLimit, 0},
		{"quota", "quota_exceeded", "402 You have no quota", 402, limit.Billing, 0},
		{"quota", "billing_not_configured", "no billing", 402, limit.Billing, 0},
		{"authentication", "", "401 Unauthorized", 401, limit.Auth, 0},
		{"policy", "", "Access denied by policy settings", 403, limit.Auth, 0},
		{"context_limit", "", "the prompt is too long", 400, limit.ContextOverflow, 0},
		{"query", "", "Failed to get response from the AI model; retried 5 times (total retry wait time: 92.78 seconds) Last error: 502 Bad Gateway", 502, limit.ServerError, 0},
		{"query", "", "Failed to get response from the AI model; retried 5 times (total retry wait time: 92.78 seconds)", 0, limit.RateLimit, 0}, // as people quoted it
		{"query", "", "", 0, limit.Unknown, 0},
	} {
		v := data{Kind: c.kind, Code: c.code, Message: c.message, Status: c.status}.verdict(limits)
		require.Equal(t, c.class.String(), v.Class.String(), c.message)
		require.Equal(t, c.class.Transient(), v.WaitHelps, c.message)
		require.Equal(t, c.reset > 0, v.Reset.Stated(), c.message)
		if c.reset > 0 {
			require.Equal(t, at.Add(c.reset), v.Reset.At.UTC(), c.message)
		}
	}
}

func TestOnlyEventsOfSessionsAreWatched(t *testing.T) {
	for rel, want := range map[string]bool{
		sessionA + "/events.jsonl":           true,
		sessionA + "/events.json":            false,
		"notes/events.jsonl":                 false,
		"events.jsonl":                       false,
		sessionA + "/files/events.jsonl":     false,
		"x/" + sessionA + "/events.jsonl":    false,
		sessionA + "/events.jsonl/something": false,
	} {
		require.Equal(t, want, newAgent(t).Sources()[0].Match(filepath.FromSlash(rel)), rel)
	}
}

// scene is a stopped session on disk and a copilot to continue it with.
type scene = agenttest.Scene[*agent.Described]

func newScene(t *testing.T, lines ...any) *scene {
	t.Setenv("COPILOT_HOME", "")
	sc := agenttest.NewScene(t, "copilot", sessionA, ".copilot/session-state/"+sessionA+"/"+eventsFile, newAgent)
	sc.Write(t, line(started, 0, object{"sessionId": sessionA, "context": object{"cwd": sc.Session.Cwd}}))
	sc.Write(t, lines...)
	return sc
}

func stopped() []any { return []any{said(0, "work"), failed(time.Second, nil)} }

func TestASessionIsContinuedWhereItStopped(t *testing.T) {
	planned := line(prompt, 0, object{"content": "work", "agentMode": "plan"})
	for rule, c := range map[string]struct {
		lines  []any
		prompt string
		want   []string
	}{
		"as it is":                    {stopped(), "continue", []string{"-p", "continue"}},
		"a prompt is never an option": {stopped(), "-x", []string{"--prompt=-x"}},
		"in its last mode":            {[]any{planned, failed(time.Second, nil)}, "continue", []string{"--mode", "plan", "-p", "continue"}},
		"in the mode it was changed to": {
			[]any{planned, failed(time.Second, nil), line(moded, 2*time.Second, object{"newMode": "interactive"})}, "continue", []string{"-p", "continue"},
		},
		"a mode that is none":          {[]any{line(prompt, 0, object{"agentMode": "--yolo"}), failed(time.Second, nil)}, "continue", []string{"-p", "continue"}},
		"after a resume that was lost": {append(stopped(), said(time.Minute, "continue")), "continue", []string{"-p", "continue"}},
	} {
		t.Run(rule, func(t *testing.T) {
			newScene(t, c.lines...).MustGoOn(t, c.prompt, append([]string{"--resume", sessionA}, c.want...)...)
		})
	}
}

// Every program that can write to the events of a session can add a mode to them.
func TestAnEventNeverWidensWhatTheStartAllowed(t *testing.T) {
	for rule, c := range map[string]struct{ told, start, want string }{
		"a start without a flag is no autopilot": {"autopilot", "", ""},
		"nor one that plans":                     {"autopilot", "--plan", "--plan"},
		"which does not act either":              {"interactive", "--mode plan", "--mode plan"},
		"one that was started so is":             {"autopilot", "--autopilot", "--mode autopilot"},
		"an event narrows":                       {"plan", "--autopilot", "--mode plan"},
	} {
		t.Run(rule, func(t *testing.T) {
			sc := newScene(t, line(prompt, 0, object{"content": "work", "agentMode": c.told}), failed(time.Second, nil))
			sc.Session.Origin = &resume.Origin{SeenAt: time.Now(), Args: strings.Fields(c.start), ArgsSeen: true}
			sc.MustGoOn(t, "continue", strings.Fields("--resume "+sessionA+" "+c.want+" -p continue")...)
			require.Equal(t, !strings.HasSuffix(c.want, c.told), len(sc.Plan(t, "continue").Run.Carried.LeftOut) == 1)
		})
	}
}

func TestASessionThatWentOnIsLeftAlone(t *testing.T) {
	agenttest.WentOn(t, func() *scene { return newScene(t, stopped()...) }, map[string]any{
		"newer prompt": said(time.Minute, "never mind"),
		"moved on":     line(answer, time.Minute, object{"content": "done"}),
		"interrupted":  line(aborted, time.Minute, object{"reason": "user_initiated"}),
	})
}

func TestWhatWaitingDoesNotMendIsParked(t *testing.T) {
	spoilt := agenttest.Spoilt[*agent.Described]("copilot")
	spoilt["was told to ask since"] = func(t *testing.T, sc *scene) {
		sc.Write(t, line(permitted, time.Minute, object{"mode": "manual", "previousMode": "allow-all"}))
		sc.Session.Origin = &resume.Origin{SeenAt: time.Now(), Env: []resume.Variable{{Name: allowAll, Value: "true"}}}
	}
	for why, spoil := range spoilt {
		sc := newScene(t, stopped()...)
		spoil(t, sc)
		sc.MustLeave(t, why, true)
	}
}

func TestAnotherHomeIsNamedToTheRun(t *testing.T) {
	agenttest.AnotherHome(t, newScene(t, stopped()...), described, "COPILOT_HOME")
}

func TestTheUsualHomeIsTheOneOfTheEnvironment(t *testing.T) {
	t.Setenv("HOME", "/home/u")
	for home, want := range map[string]string{"": "/home/u/.copilot", "/q": "/q"} {
		t.Setenv("COPILOT_HOME", home)
		a, err := described.New(agent.Options{})
		require.NoError(t, err)
		require.Equal(t, filepath.Join(want, "session-state"), a.Sources()[0].Root)
	}
	_, err := described.New(agent.Options{Roots: []string{"relative"}})
	require.ErrorContains(t, err, "not an absolute path")
}

// Any line is parsed or skipped, and a reset is never invented.
func FuzzObserve(f *testing.F) {
	agenttest.Seeds(f)
	a := newAgent(f)
	written := time.Date(2026, 11, 15, 0, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, data []byte) {
		s, ok := a.Observe(agent.Source{}, lines.Line{Path: "/r/" + sessionA + "/events.jsonl", Data: data, ModTime: written})
		if !ok {
			return
		}
		if !agent.IsUUID(s.Key.ID) {
			t.Fatalf("session id %q", s.Key.ID)
		}
		odd := bytes.ContainsRune(data, '\\') || bytes.Count(data, []byte(`"type"`)) > 1 // no version writes such a record
		if sift(data) == agent.Nothing && !odd {
			t.Fatalf("a line that means %#v would be passed over", s.Event)
		}
		if l, ok := s.Event.(resume.Limited); ok && l.Reset.Stated() && !bytes.ContainsFunc([]byte(l.Text), unicode.IsDigit) &&
			!strings.HasSuffix(l.Text, "…") {
			t.Fatalf("reset %v of a text without a number: %q", l.Reset, l.Text)
		}
	})
}
