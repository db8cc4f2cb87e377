package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

// capture is a file that a real agent wrote, and the expected explanation.
type capture struct {
	File      string    `json:"file"`
	Agent     string    `json:"agent"`
	Class     string    `json:"class"`
	Session   string    `json:"session"`
	WaitHelps *bool     `json:"wait_helps"`
	ResetAt   time.Time `json:"reset_at"`
}

func captures(t *testing.T) []capture {
	data, err := os.ReadFile("testdata/captures.json")
	require.NoError(t, err)
	var all []capture
	require.NoError(t, json.Unmarshal(data, &all))
	require.Greater(t, len(all), 150)
	for i := range all {
		all[i].File, err = filepath.Abs(filepath.Join("../../internal", all[i].File))
		require.NoError(t, err)
	}
	return all
}

// explained is the explanation of one session.
type explained struct {
	File       string
	Agent      string
	Session    string
	Class      string
	WaitHelps  bool      `json:"wait_helps"`
	InProgress bool      `json:"in_progress"`
	ResetAt    time.Time `json:"reset_at"`
	Line       int
	Text       string
	Action     string
	Why        string
}

func explanations(t *testing.T, out string) map[string][]explained {
	byFile := make(map[string][]explained)
	for line := range strings.Lines(out) {
		var x explained
		require.NoError(t, json.Unmarshal([]byte(line), &x))
		byFile[x.File] = append(byFile[x.File], x)
	}
	return byFile
}

func TestExplainUnderstandsEveryCapture(t *testing.T) {
	b := newBox(t)
	all := captures(t)
	for _, agent := range []string{"", "claude-code", "codex", "copilot", "gemini", "kimi", "pi", "qwen-code"} {
		args := []string{"explain", "--json"}
		if agent != "" {
			args = append(args, "--agent", agent)
		}
		asked := 0
		for _, c := range all {
			if agent == "" || agent == c.Agent {
				args = append(args, c.File)
				asked++
			}
		}
		out, errOut, code := b.run(args...)
		require.Zero(t, code, errOut)
		found := explanations(t, out)
		require.Len(t, found, asked)
		for _, c := range all {
			if agent != "" && agent != c.Agent {
				continue
			}
			t.Run(agent+"/"+filepath.Base(c.File), func(t *testing.T) { requireExplained(t, c, found[c.File]) })
		}
	}
}

func requireExplained(t *testing.T, want capture, found []explained) {
	t.Helper()
	require.NotEmpty(t, found)
	got := found[0]
	for _, x := range found {
		if x.Session == want.Session {
			got = x
		}
	}
	require.Equal(t, want.Agent, got.Agent)
	require.Equal(t, want.Class, got.Class, got.Why)
	if want.Session != "" {
		require.Equal(t, want.Session, got.Session)
	}
	if want.WaitHelps != nil {
		require.Equal(t, *want.WaitHelps, got.WaitHelps)
	}
	if !want.ResetAt.IsZero() {
		require.WithinDuration(t, want.ResetAt, got.ResetAt, time.Minute)
	}
	require.NotEmpty(t, got.Why)
	if want.Class == "none" {
		require.Equal(t, "none", got.Action)
	}
}

// What a program printed is text: its last lines say why it failed.
func TestExplainClassifiesATextOnItsInput(t *testing.T) {
	b := newBox(t)
	b.write("run.log", "\x1b[1mWorking.\x1b[0m\nYou've hit your 5-hour limit · resets 2am\n\nBye.\n")
	out, errOut, code := b.runWith(b.read("run.log"), "explain", "--json", "--at", "2026-11-15T00:30:00Z", "--tz", "UTC", "-")
	require.Zero(t, code, errOut)
	var got explained
	require.NoError(t, json.Unmarshal([]byte(out), &got))
	require.Equal(t, "usage_limit", got.Class)
	require.Equal(t, "You've hit your 5-hour limit · resets 2am", got.Text)
	require.Equal(t, "2026-11-15T02:00:00Z", got.ResetAt.Format(time.RFC3339))

	out, errOut, code = b.runWith("The tests pass now.\n", "explain", "-")
	require.Zero(t, code, errOut)
	require.Contains(t, out, "no error: nothing would be done")
}

func TestExplainReadsATranscriptOnItsInput(t *testing.T) {
	b := newBox(t)
	data, err := os.ReadFile("../../internal/agent/claude/testdata/transcripts/u5h.jsonl")
	require.NoError(t, err)
	out, errOut, code := b.runWith(string(data), "explain", "--json", "-")
	require.Zero(t, code, errOut)
	got := explanations(t, out)["-"][0]
	require.Equal(t, "claude-code", got.Agent)
	require.Equal(t, "usage_limit", got.Class)
	left, err := os.ReadDir(b.path("tmp"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// Some editors write a byte order mark; a transcript that was saved with one, or mailed, has it.
func TestExplainPassesOverAByteOrderMark(t *testing.T) {
	b := newBox(t)
	for agent, name := range map[string]string{
		"claude-code": "claude/testdata/transcripts/u5h.jsonl", "codex": "codex/testdata/rollouts/429_usage_limit.rollout.jsonl",
		"gemini": "gemini/testdata/chats/interactive_auth401.jsonl", "copilot": "copilot/testdata/events/auth401/270e955c-07e2-45a5-a871-331e614967a4/events.jsonl", "qwen-code": "qwen/testdata/chats/0.15.10-auth401.jsonl",
		"kimi": "kimi/testdata/sessions/auth401/wd_shop_5f2a77c0b1de/session_e1154e00-3290-499c-b244-91ea1d1c32ef/agents/main/wire.jsonl",
		"pi":   "pi/testdata/sessions/auth401/--home-u-src-shop--/2026-11-17T14-54-59-769Z_01a1ea01-0cb8-71b7-93df-b57fa98c03ba.jsonl",
	} {
		data, err := os.ReadFile(filepath.Join("../../internal/agent", name))
		require.NoError(t, err)
		var found [2]explained
		for i, mark := range []string{"", "\ufeff"} {
			b.write("copy.jsonl", mark+string(data))
			out, errOut, code := b.run("explain", "--json", "--now", "2026-11-15T00:10:00Z", b.path("copy.jsonl"))
			require.Zero(t, code, errOut)
			found[i] = explanations(t, out)[b.path("copy.jsonl")][0]
		}
		require.Equal(t, agent, found[0].Agent)
		require.NotEmpty(t, found[0].Session)
		require.Equal(t, found[0], found[1])
	}
}

// A transcript is recognized even if its beginning is missing.
func TestExplainReadsTheEndOfATranscript(t *testing.T) {
	b := newBox(t)
	b.write("tail.jsonl", `{"type":"assistant","isApiErrorMessage":true,"error":"server_error","apiErrorStatus":529,"timestamp":"2026-11-15T00:00:00Z",`+
		`"message":{"model":"<synthetic>","content":[{"type":"text","text":"API Error: 529 Overloaded"}]}}`+"\n")
	out, errOut, code := b.run("explain", "--json", "--agent", "claude-code", b.path("tail.jsonl"))
	require.Zero(t, code, errOut)
	got := explanations(t, out)[b.path("tail.jsonl")][0]
	require.Equal(t, "overloaded", got.Class)
}

// The last records alone are enough to find out what happened, and in which session.
func TestExplainReadsTheLastRecordsOfAnyAgent(t *testing.T) {
	b := newBox(t)
	for _, c := range []struct{ file, agent, session string }{
		{"codex/testdata/rollouts/429_usage_limit.rollout.jsonl", "codex", ""},
		{"qwen/testdata/chats/0.24.4-usage_far_killed.jsonl", "qwen-code", "*"},
		{"claude/testdata/transcripts/u5h.jsonl", "claude-code", "*"},
	} {
		whole, err := filepath.Abs(filepath.Join("../../internal/agent", c.file))
		require.NoError(t, err)
		out, errOut, code := b.run("explain", "--json", whole)
		require.Zero(t, code, errOut)
		want := explanations(t, out)[whole][0]
		require.Equal(t, "usage_limit", want.Class)

		data, err := os.ReadFile(whole)
		require.NoError(t, err)
		b.write("end.jsonl", strings.Join(strings.Split(string(data), "\n")[want.Line-2:], "\n"))
		out, errOut, code = b.run("explain", "--json", b.path("end.jsonl"))
		require.Zero(t, code, errOut)
		got := explanations(t, out)[b.path("end.jsonl")][0]
		require.Equal(t, c.agent, got.Agent)
		require.Equal(t, want.Class, got.Class, c.agent)
		require.Equal(t, want.ResetAt, got.ResetAt, c.agent)
		if c.session == "*" {
			c.session = want.Session
		}
		require.Equal(t, c.session, got.Session, c.agent)
	}
}

func TestExplainNamesTheLineOfASessionThatWorks(t *testing.T) {
	b := newBox(t)
	b.write(configFile, bot)
	b.write("bot/logs/s-1.log", "step 1\nrate limited\nstep 2\n")
	out, errOut, code := b.run("explain", "bot/logs/s-1.log")
	require.Zero(t, code, errOut)
	require.Regexp(t, `(?m)^  evidence +line 3$`, out)
}

func TestExplainDoesNotGuess(t *testing.T) {
	b := newBox(t)
	for name, text := range map[string]string{
		"notes.md":     "# Rate limits\n\nHandle 429 Too Many Requests in the client.\n",
		"package.json": `{"name":"shop","description":"API Error: 529 Overloaded"}`,
		"empty":        "",
		"program":      "\x7fELF\x00\x00You've hit your 5-hour limit\n",
		"run.log":      "You've hit your 5-hour limit · resets 2am (UTC)\n",
		"run.jsonl":    `{"type":"result","is_error":true,"session_id":"4627940e-bc2a-481e-b968-2e9555f91b44","result":"API Error: 529 Overloaded"}` + "\n",
	} {
		b.write(name, text)
		out, errOut, code := b.run("explain", b.path(name))
		require.Equal(t, exitFailed, code, name)
		require.Empty(t, out, name)
		require.Contains(t, errOut, b.path(name)+" is not recognised: it is no transcript and no database of an agent", name)
		require.Contains(t, errOut, "Try: resumed explain - <FILE", name)
	}
}

func TestExplainRefusesAnAgentThatNobodyKnows(t *testing.T) {
	b := newBox(t)
	b.write("run.log", "API Error: 529 Overloaded\n")
	for _, args := range [][]string{{b.path("run.log")}, {"--text"}} {
		out, errOut, code := b.runWith("API Error: 529 Overloaded\n", append([]string{"explain", "--agent", "claude"}, args...)...)
		require.Equal(t, exitUsage, code, args)
		require.Empty(t, out, args)
		require.Contains(t, errOut, `"claude"`)
		require.Contains(t, errOut, "Try: one of: claude-code, codex, copilot, gemini, kilo, kimi, opencode, pi, qwen-code")
	}
}

// Each run is a process of its own: its first text is in a script without blanks between words.
func TestExplainReadsTheFirstTextLikeLaterOnes(t *testing.T) {
	b := newBox(t)
	for text, class := range map[string]string{"錯誤：請求次數過多": "rate limit", "本周额度已用尽": "usage limit", "서버 내부 오류": "provider error", "残高が不足しています。チャージしてください": "billing"} {
		out, errOut, code := b.run("explain", "--text", text, text)
		require.Zero(t, code, errOut)
		first, second, _ := strings.Cut(out, "\n")
		require.Equal(t, first+"\n", second)
		require.True(t, strings.HasPrefix(first, class+":"), out)
	}
}

func TestExplainKnowsTheNamesOfSessions(t *testing.T) {
	b := newBox(t)
	b.write(configFile, bot)
	b.start()
	b.write("bot/logs/s-1.log", "step 1\nrate limited, retry in 1h\n")
	b.untilState("s-1", resume.Waiting)
	out, errOut, code := b.run("explain", "bot")
	require.Zero(t, code, errOut)
	require.Contains(t, out, b.path("bot/logs/s-1.log"))
	_, errOut, code = b.run("explain", "nobody")
	require.Equal(t, exitFailed, code)
	require.Contains(t, errOut, "nobody")
}
