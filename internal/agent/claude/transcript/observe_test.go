package transcript

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agenttest"
	"resumed/internal/limit"
	"resumed/internal/lines"
	"resumed/internal/resume"
)

func TestWhatALineMeans(t *testing.T) {
	at := time.Date(2026, 11, 15, 0, 0, 20, 479e6, time.UTC)
	text := func(s string) []any { return []any{map[string]any{"type": "text", "text": s}} }
	answer := func(fields map[string]any) map[string]any {
		r := base(fields)
		r["type"], r["message"] = "assistant", said("claude-opus-5-5", "Done.")
		return r
	}
	notice := func(content string) map[string]any {
		return base(map[string]any{"type": "system", "subtype": "informational", "level": "notice", "content": content})
	}
	for rule, c := range map[string]struct {
		record map[string]any
		want   resume.Event
	}{
		"a model's answer is movement":          {answer(nil), resume.Progressed{At: at}},
		"an answer broken off is no movement":   {answer(map[string]any{"isAbortedMidStream": true}), nil},
		"a subagent's answer is not the main's": {answer(map[string]any{"isSidechain": true}), nil},
		"Claude Code's own words are no movement": {
			base(map[string]any{"type": "assistant", "message": said(synthetic, "No response requested.")}), nil,
		},
		"a prompt is a prompt":           {asked(nil, "go on"), resume.Prompted{At: at}},
		"a prompt in blocks is a prompt": {asked(nil, text("go on")), resume.Prompted{At: at}},
		"a picture is a prompt":          {asked(nil, []any{map[string]any{"type": "image"}}), resume.Prompted{At: at}},
		"a note to itself is no prompt":  {asked(map[string]any{"isMeta": true}, "caveat"), nil},
		"a queued note is no prompt":     {asked(map[string]any{"queueTranscriptOnly": true}, "task done"), nil},
		"a summary is no prompt":         {asked(map[string]any{"isCompactSummary": true}, "This session is"), nil},
		"a tool's result is no prompt":   {asked(nil, []any{map[string]any{"type": "tool_result", "tool_use_id": "t"}}), nil},
		"a subagent's task is no prompt": {asked(map[string]any{"isSidechain": true}, "say hi"), nil},
		"leaving is no prompt":           {asked(nil, "<command-name>/exit</command-name>\n<command-message>exit"), nil},
		"a command of one's own is one":  {asked(nil, "<command-message>review is running…</command-message>\n<command-name>/review</command-name>"), resume.Prompted{At: at}},
		"a local answer is no prompt":    {asked(nil, "<local-command-stdout>Bye!</local-command-stdout>"), nil},
		"a shell command is no prompt":   {asked(nil, "<bash-input>ls</bash-input>"), nil},
		"an interruption is a cancel":    {asked(nil, text("[Request interrupted by user]")), resume.Cancelled{At: at}},
		"one in a tool is a cancel too":  {asked(nil, text("[Request interrupted by user for tool use]")), resume.Cancelled{At: at}},
		"one beside a tool's result is a cancel": {
			asked(nil, append([]any{map[string]any{"type": "tool_result", "tool_use_id": "t"}}, text("[Request interrupted by user for tool use]")...)),
			resume.Cancelled{At: at},
		},
		"one in what a tool printed is none": {
			asked(nil, []any{map[string]any{"type": "tool_result", "tool_use_id": "t", "content": "[Request interrupted by user]"}}), nil,
		},
		"one in an old version, likewise": {asked(nil, "[Request interrupted by user]"), resume.Cancelled{At: at}},
		"a task that ended is nobody's prompt": {
			asked(map[string]any{"origin": map[string]any{"kind": "task-notification"}}, "<task-notification>"), resume.SubagentEnded{At: at},
		},
		"a person's prompt says so": {
			asked(map[string]any{"origin": map[string]any{"kind": "human"}}, "go on"), resume.Prompted{At: at},
		},
		"its own continuation is nobody's prompt": {
			asked(map[string]any{"isMeta": true, "origin": map[string]any{"kind": "auto-continuation"}},
				"Your claude.ai usage limit has reset. Continue the task you were working on."), nil,
		},
		"a retry ends no turn": {
			base(map[string]any{
				"type": "system", "subtype": "api_error", "retryInMs": 572, "retryAttempt": 1,
				"error": map[string]any{"status": 529, "formatted": "529 Overloaded"},
			}), nil,
		},
		"an armed continuation is no stop": {notice("Usage limit reached · continuing automatically at 2:02am · esc to cancel"), nil},
		"a person who does not want it to go on is respected": {
			notice("Automatic continue cancelled · /rate-limit-options to re-arm"), resume.Cancelled{At: at},
		},
		"a continuation that gave up is no cancel": {
			notice("Automatic continue stopped after repeated usage limit hits · This task will not resume on its own"), nil,
		},
		"a subagent's notice is not the main's": {
			base(map[string]any{"type": "system", "subtype": "informational", "isSidechain": true, "content": "Automatic continue cancelled"}), nil,
		},
		"a prompt that quotes the notice is a prompt": {asked(nil, "Automatic continue cancelled, why?"), resume.Prompted{At: at}},
		"a continuation that fired is no stop":        {notice("Usage limit reset · Continuing automatically"), nil},
		"a prompt that quotes an error is a prompt": {
			asked(nil, `why "isApiErrorMessage":true and "type":"assistant"?`), resume.Prompted{At: at},
		},
		"an answer that quotes an error is movement": {
			base(map[string]any{"type": "assistant", "message": said("claude-opus-5-5", `You've hit your 5-hour limit · "isApiErrorMessage":true`)}),
			resume.Progressed{At: at},
		},
	} {
		t.Run(rule, func(t *testing.T) {
			a := newReading()
			src := a.Sources()[0]
			got := agenttest.ObserveAll(a, src, "/nowhere/"+sessionA+".jsonl", encode(t, c.record))
			if c.want == nil {
				require.Empty(t, got)
				return
			}
			require.Len(t, got, 1)
			require.Equal(t, c.want, got[0].Event)
			require.Equal(t, sessionA, got[0].Key.ID)
			require.Equal(t, "/src/app", got[0].Cwd)
		})
	}
}

func TestWhatARefusalMeans(t *testing.T) {
	quota := func(status, kind string, resets any) map[string]any {
		return map[string]any{"status": status, "rateLimitType": kind, "resetsAt": resets}
	}
	usage := func(info map[string]any) map[string]any {
		return map[string]any{
			"error": "rate_limit", "apiErrorStatus": 429, "apiErrorType": "rate_limit_error", "apiError": "usage_limit_reached",
			"apiErrorParams": map[string]any{"rate_limit_info": info},
		}
	}
	const epoch = 1794708020
	stated := limit.Reset{At: time.Unix(epoch, 0).UTC(), Source: limit.Structured}
	for rule, c := range map[string]struct {
		fields map[string]any
		text   string
		class  limit.Class
		helps  bool
		reset  limit.Reset
	}{
		"a usage limit has its time in a field": {
			usage(quota("rejected", "five_hour", epoch)), "You've hit your 5-hour limit · resets 2am (UTC)", limit.UsageLimit, true, stated,
		},
		"a weekly limit is one too": {
			usage(quota("rejected", "seven_day_opus", epoch)), "You've hit your Opus limit", limit.UsageLimit, true, stated,
		},
		"a usage limit without a time states none": {
			usage(map[string]any{"status": "rejected", "rateLimitType": "five_hour"}), "You've hit your 5-hour limit", limit.UsageLimit, true, limit.Reset{},
		},
		"a time that is none costs the time alone": {
			usage(quota("rejected", "five_hour", "soon")), "You've hit your 5-hour limit", limit.UsageLimit, true, limit.Reset{},
		},
		"a spend cap is not waited for": {
			usage(quota("rejected", "overage", epoch)), "You've hit your individual spend limit · ask your admin to raise it", limit.Billing, false, stated,
		},
		"a spend cap is told by its field": {
			usage(quota("rejected", "overage", epoch)), "You've hit your limit", limit.Billing, false, stated,
		},
		"a spend cap is told by its words where the field is missing": {
			usage(map[string]any{"status": "rejected"}), "You've hit your individual spend limit · ask your admin to raise it", limit.Billing, false, limit.Reset{},
		},
		"a window that opens again is no spend cap, whatever is offered beside it": {
			usage(quota("rejected", "five_hour", epoch)), "You've hit your 5-hour limit · add funds to continue with extra usage", limit.UsageLimit, true, stated,
		},
		"missing credits are not waited for": {
			map[string]any{"error": "rate_limit", "apiErrorStatus": 429, "apiError": "long_context_credits_required"},
			"API Error: Extra usage is required for long context requests", limit.Billing, false,
			limit.Reset{},
		},
		"an older record has its quota beside the error": {
			map[string]any{"error": "rate_limit", "apiErrorStatus": 429, "quotaLimits": quota("rejected", "five_hour", epoch)},
			"You've hit your limit", limit.UsageLimit, true, stated,
		},
		"a quota that only warns does not make a usage limit": {
			map[string]any{"error": "rate_limit", "apiErrorStatus": 429, "quotaLimits": quota("allowed_warning", "five_hour", epoch)},
			"API Error: Request rejected (429) · Rate limited", limit.RateLimit, true,
			limit.Reset{},
		},
		"a spent quota beside an overload stays an overload": {
			map[string]any{"error": "server_error", "apiErrorStatus": 529, "quotaLimits": quota("rejected", "five_hour", epoch)},
			"API Error: 529 Overloaded.", limit.Overloaded, true,
			limit.Reset{},
		},
		"what sending again cannot cure is not waited for": {
			map[string]any{"error": "rate_limit", "apiErrorStatus": 429, "resendCannotCure": true},
			"API Error: Request rejected (429) · Rate limited", limit.RateLimit, false,
			limit.Reset{},
		},
		"a field of another type does not cost the record": {
			map[string]any{"error": map[string]any{"a": 1}, "apiErrorStatus": "429", "quotaLimits": []any{}},
			"API Error: 529 Overloaded.", limit.Overloaded, true,
			limit.Reset{},
		},
		"a model that is not there": {
			map[string]any{"error": "model_not_found", "apiErrorStatus": 404}, "There's an issue with the selected model", limit.BadRequest, false, limit.Reset{},
		},
		"an error that nobody understands is tried a little": {
			map[string]any{"error": "unknown"}, "The flux capacitor is misaligned", limit.Unknown, true, limit.Reset{},
		},
	} {
		t.Run(rule, func(t *testing.T) {
			a := newReading()
			got := agenttest.ObserveAll(a, a.Sources()[0], "/nowhere/x.jsonl", encode(t, refused(c.fields, c.text)))
			require.Len(t, got, 1)
			require.IsType(t, resume.Limited{}, got[0].Event)
			limited := got[0].Event.(resume.Limited)
			require.Equal(t, c.class.String(), limited.Class.String())
			require.Equal(t, c.helps, limited.WaitHelps)
			require.Equal(t, c.reset, limited.Reset)
			require.Equal(t, c.text, limited.Text)
		})
	}
}

func TestARecordSpacedOrEscapedByOthersIsStillRead(t *testing.T) {
	a := newReading()
	spaced, err := json.MarshalIndent(refused(map[string]any{"apiErrorStatus": 529}, "API Error: 529 Overloaded."), "", "")
	require.NoError(t, err)
	got := agenttest.ObserveAll(a, a.Sources()[0], "/nowhere/x.jsonl", bytes.ReplaceAll(spaced, []byte("\n"), []byte(" ")))
	require.Len(t, got, 1)
	require.Equal(t, limit.Overloaded, got[0].Event.(resume.Limited).Class)
}

func TestTheSessionIsNamedByTheRecordElseByItsFile(t *testing.T) {
	a := newReading()
	for name, c := range map[string]struct{ id, path, want string }{
		"the record":            {sessionA, "/p/other.jsonl", sessionA},
		"no id in the record":   {"", "/p/" + sessionA + ".jsonl", sessionA},
		"an option for an id":   {"--dangerously-skip-permissions", "/p/abc.jsonl", "abc"},
		"a path for an id":      {"../../etc", "/p/abc.jsonl", "abc"},
		"an option for a name":  {"", "/p/--help.jsonl", ""},
		"a name with spaces":    {"x", "/p/a b.jsonl", ""},
		"an id and its newline": {sessionA + "\n", "/p/abc.jsonl", "abc"},
	} {
		t.Run(name, func(t *testing.T) {
			got := agenttest.ObserveAll(a, a.Sources()[0], c.path, encode(t, asked(map[string]any{"sessionId": c.id}, "go on")))
			if c.want == "" {
				require.Empty(t, got)
				return
			}
			require.Len(t, got, 1)
			require.Equal(t, c.want, got[0].Key.ID)
		})
	}
}

func TestBrokenLinesMeanNothing(t *testing.T) {
	a := newReading()
	whole := string(encode(t, refused(nil, "API Error: 529 Overloaded.")))
	for _, line := range []string{"", "{", whole[:len(whole)/2], "null", "[]", `"user"`, strings.Repeat("[", 20000) + `"user"`, "\x00\x00\"user\""} {
		require.Empty(t, agenttest.ObserveAll(a, a.Sources()[0], "/p/x.jsonl", []byte(line)), line)
	}
	_, ok := a.Observe(a.Sources()[0], lines.Line{Path: "/p/x.jsonl", Data: []byte(whole), Cut: true})
	require.False(t, ok)
}

func TestOnlySessionsOfTheFirstLevelAreTranscripts(t *testing.T) {
	a := newReading()
	match := a.Sources()[0].Match
	id := sessionA + ".jsonl"
	require.True(t, match(filepath.Join("-src-app", id)))
	require.True(t, match(filepath.Join("-src-app", "x.jsonl")))
	for _, rel := range []string{
		id,
		filepath.Join("-src-app", "agent-1f2e.jsonl"),
		filepath.Join("-src-app", sessionA, "subagents", "agent-1f2e.jsonl"),
		filepath.Join("-src-app", sessionA, id),
		filepath.Join("-src-app", "notes.json"),
		filepath.Join("-src-app", id+".tmp"),
	} {
		require.False(t, match(rel), rel)
	}
}

func TestWhetherAPersonSitsBeforeASession(t *testing.T) {
	a := newReading()
	for entrypoint, want := range map[string]string{
		"cli": resume.Interactive, "sdk-cli": resume.Headless, "sdk-ts": "", "": "",
		"claude-vscode": resume.Interactive, "claude-desktop": resume.Interactive,
	} {
		record := base(map[string]any{"type": "assistant", "entrypoint": entrypoint, "message": said("claude-opus-5-5", "Done.")})
		got := agenttest.ObserveAll(a, a.Sources()[0], "/nowhere/"+sessionA+".jsonl", encode(t, record))
		require.Len(t, got, 1)
		require.Equal(t, want, got[0].Kind, entrypoint)
	}
}

// The records are the same in every program that runs Claude Code, except for this field. This one was
// captured from 2.1.325.
func TestWhichAppASessionIsOpenIn(t *testing.T) {
	const captured = `{"parentUuid":"db1d6a30-3e91-4ac9-98bb-4fc0a30b9e0f","isSidechain":false,"type":"assistant","uuid":"99e11230-bda7-40a1-b2cd-4e4773fcda5f",` +
		`"timestamp":"2026-11-17T12:07:50.712Z","message":{"id":"ef2a5c82-9c6c-42cd-9b0f-ba358515b46a","model":"<synthetic>","role":"assistant","stop_reason":"stop_sequence","type":"message",` +
		`"content":[{"type":"text","text":"API Error: 529 Overloaded. This is a server-side issue, usually temporary — try again in a moment."}]},"error":"server_error","isApiErrorMessage":true,` +
		`"apiErrorStatus":529,"userType":"external","entrypoint":"claude-vscode","cwd":"/src/shop","sessionId":"36a5b271-dc67-469f-972b-a1f0415268f0","version":"2.1.325","gitBranch":"HEAD"}` + "\n"
	a := newReading()
	for entrypoint, want := range map[string]string{
		"claude-vscode": "VS Code", "claude-desktop": "Claude Desktop", "claude-desktop-3p": "Claude Desktop", "local-agent": "Claude Desktop",
		"cli": "", "sdk-cli": "", "sdk-py": "", "remote": "",
	} {
		line := strings.Replace(captured, "claude-vscode", entrypoint, 1)
		got := agenttest.ObserveAll(a, a.Sources()[0], "/nowhere/36a5b271-dc67-469f-972b-a1f0415268f0.jsonl", []byte(line))
		require.Len(t, got, 1)
		require.Equal(t, want, got[0].App, entrypoint)
		require.IsType(t, resume.Limited{}, got[0].Event)
	}
}

// What follows a refusal or a call tells what a person did, and what is asked of them.
func TestWhatTheEndOfATranscriptTells(t *testing.T) {
	const (
		prompt  = `{"type":"user","message":{"role":"user","content":"work"}}`
		later   = `{"type":"user","timestamp":"2026-11-15T05:00:00Z","message":{"role":"user","content":"continue"}}`
		refusal = `{"type":"assistant","isApiErrorMessage":true,"message":{"model":"<synthetic>","content":[{"type":"text","text":"API Error: 529"}]}}`
		context = `{"type":"system","subtype":"local_command","content":"<command-name>/context</command-name>"}`
		cleared = `{"type":"user","message":{"role":"user","content":"<command-name>/clear</command-name>\n"}}`
		calls   = `{"type":"assistant","message":{"model":"m","content":[{"type":"tool_use","id":"a","name":"Read","input":{"file_path":"/x"}}]}}` + "\n" +
			`{"type":"assistant","message":{"model":"m","content":[{"type":"tool_use","id":"b","name":"Bash","input":{"command":"make"}}]}}`
		result = `{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x"}]}}`
		both   = `{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"b","content":"x"}]}}`
	)
	file := func(lines ...string) string {
		path := filepath.Join(t.TempDir(), "s.jsonl")
		require.NoError(t, os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
		return path
	}
	ctx := t.Context()
	require.True(t, CommandsFollow(ctx, file(prompt, refusal, context)))
	require.False(t, CommandsFollow(ctx, file(context, prompt, refusal)))
	require.False(t, CommandsFollow(ctx, file()))

	require.True(t, Cleared(ctx, file(cleared)))
	require.False(t, Cleared(ctx, file(cleared, prompt)), "it was begun")
	require.False(t, Cleared(ctx, file(prompt, refusal)))
	require.False(t, Cleared(ctx, filepath.Join(t.TempDir(), "none")))

	open := func(of resume.Session, lines ...string) string {
		of.Transcript = file(lines...)
		return OpenCall(ctx, of).String()
	}
	laterAt := time.Date(2026, 11, 15, 5, 0, 0, 0, time.UTC)
	var byPerson resume.Session
	require.Equal(t, "Read (/x)", open(byPerson, prompt, calls), "the first of several is asked for first")
	require.Equal(t, "Bash (make)", open(byPerson, prompt, calls, result))
	require.Equal(t, "a tool", open(byPerson, prompt, calls, result, both))
	require.Equal(t, "a tool", open(byPerson, prompt, calls, later, refusal), "a person began another turn")
	var byUs resume.Session
	byUs.Attempts = []resume.Attempt{{StartedAt: laterAt, EndedAt: laterAt}}
	require.Equal(t, "Read (/x)", open(byUs, prompt, calls, later, refusal), "our prompt was refused")
}
