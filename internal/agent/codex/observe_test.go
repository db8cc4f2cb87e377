package codex

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/agent/codex/rollout"
	"resumed/internal/agenttest"
	"resumed/internal/limit"
	"resumed/internal/lines"
	"resumed/internal/resume"
)

const sessionA = "01a1dc7f-d50d-70c2-94be-ec6581ff1fdd"

var written = time.Date(2026, 11, 15, 0, 0, 20, 479e6, time.UTC)

// line writes a record as Codex does.
func line(kind, payload string) string {
	return fmt.Sprintf(`{"timestamp":"2026-11-15T00:00:20.479Z","type":%q,"payload":%s}`, kind, payload)
}

func event(payload string) string { return line("event_msg", payload) }

func said(payload string) string { return line("response_item", payload) }

func meta(fields string) string {
	return line("session_meta", `{"id":"`+sessionA+`","cwd":"/src/app","originator":"codex_exec","model_provider":"openai"`+fields+`}`)
}

func turnIn(cwd, more string) string {
	return line("turn_context", fmt.Sprintf(`{"cwd":%q,"approval_policy":"never","sandbox_policy":{"type":"read-only"},"model":"gpt-5.1-codex"%s}`, cwd, more))
}

func failed(info, message string) string {
	return event(fmt.Sprintf(`{"type":"task_complete","last_agent_message":null,"error":{"message":%q,"codex_error_info":%s}}`, message, info))
}

// windows is the state of the limits.
func windows(primary, secondary, more string) string {
	window := func(used string) string {
		if used == "" {
			return "null"
		}
		percent, reset, _ := strings.Cut(used, "@")
		return `{"used_percent":` + percent + `,"window_minutes":300,"resets_at":` + reset + `}`
	}
	return event(`{"type":"token_count","info":null,"rate_limits":{"primary":` + window(primary) + `,"secondary":` + window(secondary) + more + `}}`)
}

const (
	started  = `{"type":"task_started","turn_id":"t"}`
	answered = `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Done."}]}`
	prompted = `{"type":"user_message","message":"go on"}`
)

// rolloutOf writes a file of these lines and returns its path.
func rolloutOf(t testing.TB, lines ...string) string {
	path := filepath.Join(t.TempDir(), "rollout-2026-11-15T00-00-00-"+sessionA+".jsonl")
	require.NoError(t, os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	return path
}

// last returns the last event in a rollout of these lines.
func last(t testing.TB, lines ...string) (resume.Observation, bool) {
	a := newAgent(t, Options{})
	e, found, err := agent.Last(t.Context(), a, a.Sources()[0], rolloutOf(t, lines...))
	require.NoError(t, err)
	return e.Observation, found
}

func TestWhatALineMeans(t *testing.T) {
	progressed, prompt, cancelled := resume.Progressed{At: written}, resume.Prompted{At: written}, resume.Cancelled{At: written}
	for rule, c := range map[string]struct {
		line string
		want resume.Event
	}{
		"an answer is movement":             {said(answered), progressed},
		"a tool that is called is movement": {said(`{"type":"function_call","name":"exec_command"}`), progressed},
		"a search is movement":              {said(`{"type":"web_search_call"}`), progressed},
		"a turn that ended well is movement": {
			event(`{"type":"task_complete","last_agent_message":"Done."}`), progressed,
		},
		"what a tool returns is no movement":           {said(`{"type":"function_call_output","output":"ok"}`), nil},
		"thoughts are no movement":                     {said(`{"type":"reasoning","summary":[]}`), nil},
		"a turn without an answer says nothing":        {event(`{"type":"task_complete","last_agent_message":null}`), nil},
		"the beginning of a turn says nothing":         {event(started), nil},
		"a prompt is a prompt":                         {event(prompted), prompt},
		"a prompt of newer versions is one too":        {event(`{"type":"item_completed","item":{"type":"UserMessage"}}`), prompt},
		"an item of another kind says nothing":         {event(`{"type":"item_completed","item":{"type":"CommandExecution"}}`), nil},
		"the environment in the user's role is none":   {said(`{"type":"message","role":"user","content":[]}`), nil},
		"a turn that a person broke off is a cancel":   {event(`{"type":"turn_aborted","reason":"interrupted"}`), cancelled},
		"a turn that was replaced goes on":             {event(`{"type":"turn_aborted","reason":"replaced"}`), nil},
		"a review that ended is no cancel":             {event(`{"type":"turn_aborted","reason":"review_ended"}`), nil},
		"a turn broken off for whatever else is one":   {event(`{"type":"turn_aborted","reason":"budget_limited"}`), cancelled},
		"a retry ends no turn":                         {event(`{"type":"stream_error","message":"Reconnecting... 1/5","codex_error_info":"other"}`), nil},
		"a warning ends no turn":                       {event(`{"type":"warning","message":"rate limit soon"}`), nil},
		"an order that was refused ends no turn":       {event(`{"type":"error","message":"x","codex_error_info":"thread_rollback_failed"}`), nil},
		"settings that change say nothing":             {event(`{"type":"thread_settings_applied","thread_settings":{}}`), nil},
		"a quota that is nearly used up says nothing":  {windows("99.9@1794704327", "", ""), nil},
		"a quota that was just used up says nothing":   {windows("100.0@1794704327", "", ""), nil},
		"a record without a payload says nothing":      {`{"timestamp":"2026-11-15T00:00:20.479Z","type":"event_msg"}`, nil},
		"a record of unexpected types says nothing":    {`{"timestamp":5,"type":"event_msg","payload":["task_complete"]}`, nil},
		"a torn line says nothing":                     {event(prompted)[:60] + `"user_message"`, nil},
		"what others quote is not what they say":       {said(`{"type":"function_call_output","output":` + fmt.Sprintf("%q", failed(`"other"`, "x")) + `}`), nil},
		"an error that is not an object ends the turn": {event(`{"type":"task_complete","error":"unheard of"}`), resume.Limited{At: written, Verdict: limit.Verdict{Class: limit.Unknown, WaitHelps: true}, Text: "unheard of"}},
	} {
		t.Run(rule, func(t *testing.T) {
			got, ok := last(t, meta(`,"cli_version":"0.166.0"`), c.line)
			require.Equal(t, c.want != nil, ok)
			require.Equal(t, c.want, got.Event)
		})
	}
}

func TestWhatAnErrorMeans(t *testing.T) {
	const (
		later = "You’ve hit your usage limit. Try again later."
		clock = "You've hit your usage limit. Visit https://chatgpt.com/settings/usage to purchase more credits or try again at 1:05 AM."
	)
	at := func(sec int64) limit.Reset { return limit.Reset{At: time.Unix(sec, 0).UTC(), Source: limit.Structured} }
	inWords := limit.Reset{At: time.Date(2026, 11, 15, 1, 5, 0, 0, time.UTC), Source: limit.Words, Rough: true}
	for rule, c := range map[string]struct {
		info, message string
		before        []string
		class         limit.Class
		reset         limit.Reset
	}{
		"the window that is used up tells when":          {`"usage_limit_exceeded"`, later, []string{windows("100.0@1794704327", "61.0@1794959927", "")}, limit.UsageLimit, at(1794704327)},
		"of two that are used up the later one governs":  {`"usage_limit_exceeded"`, later, []string{windows("100@1794704327", "100@1794959927", "")}, limit.UsageLimit, at(1794959927)},
		"a window wins over the words":                   {`"usage_limit_exceeded"`, clock, []string{windows("100.0@1794704327", "", "")}, limit.UsageLimit, at(1794704327)},
		"a window that is open tells nothing":            {`"usage_limit_exceeded"`, later, []string{windows("42.5@1794704327", "61@1794959927", "")}, limit.UsageLimit, limit.Reset{}},
		"without a window the words tell":                {`"usage_limit_exceeded"`, clock, []string{windows("", "", "")}, limit.UsageLimit, inWords},
		"the newest windows count":                       {`"usage_limit_exceeded"`, clock, []string{windows("100@1794704327", "", ""), windows("", "", "")}, limit.UsageLimit, inWords},
		"lines between change nothing":                   {`"usage_limit_exceeded"`, later, []string{windows("100@1794704327", "", ""), event(`{"type":"thread_settings_applied"}`)}, limit.UsageLimit, at(1794704327)},
		"the windows of a turn before tell nothing":      {`"usage_limit_exceeded"`, later, []string{windows("100@1794704327", "", ""), event(started)}, limit.UsageLimit, limit.Reset{}},
		"a window without a time tells none":             {`"usage_limit_exceeded"`, later, []string{windows("100@null", "", "")}, limit.UsageLimit, limit.Reset{}},
		"a time that is none tells none":                 {`"usage_limit_exceeded"`, later, []string{windows("100@-5", "100@1e300", "")}, limit.UsageLimit, limit.Reset{}},
		"on a rate limit the windows are old news":       {`"rate_limit_exceeded"`, "rate limit exceeded: Slow down", []string{windows("100@1794704327", "", "")}, limit.RateLimit, limit.Reset{}},
		"a wait that the words state is no window's":     {`"rate_limit_exceeded"`, "rate limit exceeded: Rate limit reached on tokens per day (TPD): Limit 30000. Please try again in 7m12s.", []string{windows("100@1794704327", "", "")}, limit.UsageLimit, limit.Reset{At: written.Add(432 * time.Second), Source: limit.Words, Counted: true}},
		"what has ended is not retried any more":         {`{"response_too_many_failed_attempts":{"http_status_code":429}}`, "429 Too Many Requests, retrying in 3 seconds (attempt 5 of 5)", nil, limit.RateLimit, limit.Reset{At: written.Add(3 * time.Second), Source: limit.Words, Counted: true}},
		"on an overload likewise":                        {`"server_overloaded"`, "Selected model is at capacity.", []string{windows("100@1794704327", "", "")}, limit.Overloaded, limit.Reset{}},
		"quota must be bought":                           {`"usage_limit_exceeded"`, "Quota exceeded. Check your plan and billing details.", nil, limit.Billing, limit.Reset{}},
		"a plan without Codex must be bought":            {`"usage_limit_exceeded"`, "To use Codex with your ChatGPT plan, upgrade to Plus: https://chatgpt.com/explore/plus.", nil, limit.Billing, limit.Reset{}},
		"credits that are gone, by the field":            {`"usage_limit_exceeded"`, later, []string{windows("", "", `,"rate_limit_reached_type":"workspace_member_credits_depleted"`)}, limit.Billing, limit.Reset{}},
		"a spend cap, by the field":                      {`"usage_limit_exceeded"`, later, []string{windows("", "", `,"spend_control_reached":true`)}, limit.Billing, limit.Reset{}},
		"the plain kind of limit is awaited":             {`"usage_limit_exceeded"`, later, []string{windows("", "", `,"rate_limit_reached_type":"rate_limit_reached"`)}, limit.UsageLimit, limit.Reset{}},
		"a status within an object":                      {`{"response_too_many_failed_attempts":{"http_status_code":429}}`, "exceeded retry limit, last status: 429 Too Many Requests", nil, limit.RateLimit, limit.Reset{}},
		"an object without a status":                     {`{"http_connection_failed":{"http_status_code":null}}`, "x", nil, limit.Network, limit.Reset{}},
		"a stream that broke with a status":              {`{"response_stream_disconnected":{"http_status_code":503}}`, "x", nil, limit.ServerError, limit.Reset{}},
		"a login":                                        {`{"http_connection_failed":{"http_status_code":401}}`, "unexpected status 401 Unauthorized: x", nil, limit.Auth, limit.Reset{}},
		"a model that does not exist":                    {`"model_not_found"`, "The model `x` does not exist", nil, limit.BadRequest, limit.Reset{}},
		"a context that is full":                         {`"context_window_exceeded"`, "x", nil, limit.ContextOverflow, limit.Reset{}},
		"a policy":                                       {`"cyber_policy"`, "This request was flagged.", nil, limit.BadRequest, limit.Reset{}},
		"a name that nobody knows is tried a little":     {`"quantum_flux"`, "unheard of", nil, limit.Unknown, limit.Reset{}},
		"a failure without a name is judged by its text": {`null`, "stream disconnected before completion: stream closed before response.completed", nil, limit.Network, limit.Reset{}},
	} {
		t.Run(rule, func(t *testing.T) {
			lines := append([]string{meta(`,"cli_version":"0.166.0"`), event(started)}, c.before...)
			got, ok := last(t, append(lines, failed(c.info, c.message))...)
			require.True(t, ok)
			require.Equal(t, resume.Limited{
				At: written, Text: c.message,
				Verdict: limit.Verdict{Class: c.class, WaitHelps: c.class.Transient(), Reset: c.reset},
			}, got.Event)
		})
	}
}

func TestAnErrorEventEndsATurnToo(t *testing.T) {
	got, ok := last(t, meta(""), event(`{"type":"error","message":"Selected model is at capacity.","codex_error_info":"server_overloaded"}`))
	require.True(t, ok)
	require.Equal(t, limit.Overloaded, got.Event.(resume.Limited).Class)
}

// Versions before 0.145 do not write why a turn failed.
func TestASilentVersionIsLimitedWhereItsAllowanceIsUsedUp(t *testing.T) {
	const reset = 1794704327
	used := windows("100.0@1794704327", "61.0@1794959927", "")
	ended := event(`{"type":"task_complete","last_agent_message":null}`)
	for rule, c := range map[string]struct {
		lines []string
		want  bool
	}{
		"a turn without an answer": {[]string{meta(`,"cli_version":"0.144.6"`), event(started), event(prompted), used, ended}, true},
		"one with an answer": {
			[]string{meta(`,"cli_version":"0.144.6"`), event(started), used, event(`{"type":"task_complete","last_agent_message":"Done."}`)}, false,
		},
		"one with an allowance left":             {[]string{meta(`,"cli_version":"0.144.6"`), event(started), windows("42.5@1794704327", "", ""), ended}, false},
		"a request of a version without ends":    {[]string{meta(`,"cli_version":"0.80.0"`), event(prompted), turnIn("/src/app", ""), used}, true},
		"what such a request used up itself":     {[]string{meta(`,"cli_version":"0.80.0"`), turnIn("/src/app", ""), said(answered), used}, false},
		"such a request while it is answered":    {[]string{meta(`,"cli_version":"0.80.0"`), turnIn("/src/app", ""), used, said(answered)}, false},
		"a newer version says so itself":         {[]string{meta(`,"cli_version":"0.145.0"`), event(started), used, ended}, false},
		"a version that nobody knows is newer":   {[]string{meta(``), event(started), used, ended}, false},
		"a newer version in an older one's file": {[]string{meta(`,"cli_version":"0.120.0"`), event(started), used, strings.Replace(ended, `"type"`, `"ordinal":7,"type"`, 1)}, false},
	} {
		t.Run(rule, func(t *testing.T) {
			got, _ := last(t, c.lines...)
			limited, ok := got.Event.(resume.Limited)
			require.Equal(t, c.want, ok, "%#v", got.Event)
			if ok {
				require.Equal(t, limit.UsageLimit, limited.Class)
				require.Equal(t, limit.Reset{At: time.Unix(reset, 0).UTC(), Source: limit.Structured}, limited.Reset)
			}
		})
	}
}

func TestThreadsThatWorkForOthersAreNoSessions(t *testing.T) {
	for kind, fields := range map[string]string{
		"spawned":       `,"source":{"subagent":{"thread_spawn":{"parent_thread_id":"x","depth":1}}}`,
		"a review":      `,"source":{"subagent":"review"}`,
		"internal":      `,"source":{"internal":"memory_consolidation"}`,
		"by its parent": `,"source":"cli","parent_thread_id":"` + sessionA + `"`,
		"by its role":   `,"source":"cli","agent_role":"explorer"`,
		"by its origin": `,"source":"cli","thread_source":"subagent"`,
	} {
		_, found := last(t, meta(fields), event(prompted), said(answered), failed(`"server_overloaded"`, "x"))
		require.False(t, found, kind)
	}
	for kind, fields := range map[string]string{
		"a terminal": `,"source":"vscode","thread_source":"user","parent_thread_id":null`, "a program's": `,"source":{"custom":"bot"}`,
		"a fork": `,"source":"cli","forked_from_id":"01a1dc7f-d50d-70c2-94be-ec6581ff1fde"`,
	} {
		_, found := last(t, meta(fields), failed(`"server_overloaded"`, "x"))
		require.True(t, found, kind)
	}
}

func TestASessionIsNamedByItsFirstRecordElseByItsFile(t *testing.T) {
	const other = "01a1dc7f-d50d-70c2-94be-ec6581ff1f00"
	got, _ := last(t, strings.Replace(meta(""), sessionA, other, 1), meta(""), said(answered))
	require.Equal(t, other, got.Key.ID, "a fork holds the records of what it was forked from")
	got, _ = last(t, strings.Replace(meta(""), sessionA, "../../etc", 1), said(answered))
	require.Equal(t, sessionA, got.Key.ID)
	got, _ = last(t, said(answered))
	require.Equal(t, sessionA, got.Key.ID)

	a := newAgent(t, Options{})
	got, ok := a.Observe(a.Sources()[0], lines.Line{Path: "/nowhere/notes.jsonl", Data: []byte(said(answered))})
	require.True(t, ok, "what happened is told")
	require.Empty(t, got.Key.ID, "but not to whom")
}

func TestALimitIsThatOfTheProvider(t *testing.T) {
	for provider, want := range map[string]string{"openai": "", "azure": "azure"} {
		got, _ := last(t, strings.Replace(meta(""), `"model_provider":"openai"`, `"model_provider":"`+provider+`"`, 1), said(answered))
		require.Equal(t, want, got.Provider, "the usual one is not worth a word")
	}
	got, _ := last(t, said(answered))
	require.Empty(t, got.Provider)
}

func TestTheDirectoryIsThatOfTheLastTurn(t *testing.T) {
	a := newAgent(t, Options{})
	src := a.Sources()[0]
	lines := []string{
		meta(""), event(prompted), turnIn("/one", ""), said(answered), event(prompted), turnIn("/two", ""), said(answered),
		said(`{"type":"function_call_output","output":"\"turn_context\""}`), failed(`"server_overloaded"`, "x"),
	}
	want := []string{"/src/app", "/one", "/one", "/two", "/two"}
	path := rolloutOf(t, lines...)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	var got []string
	for _, e := range observeAll(a, src, path, data) {
		got = append(got, e.Cwd)
	}
	require.Equal(t, want, got)

	// Lines that are read backwards or appended after that are correct too.
	got = nil
	require.NoError(t, agent.Back(t.Context(), a, src, path, func(e agent.Evidence) bool {
		got = append([]string{e.Cwd}, got...)
		return true
	}))
	require.Equal(t, want, got)
	grown := string(data) + turnIn("/three", "") + "\n" + said(answered) + "\n"
	require.NoError(t, os.WriteFile(path, []byte(grown), 0o600))
	e, _, err := agent.Last(t.Context(), a, src, path)
	require.NoError(t, err)
	require.Equal(t, "/three", e.Cwd)
}

func TestRolloutsAreFoundByTheirPlaceAndName(t *testing.T) {
	match := newAgent(t, Options{}).Sources()[0].Match
	require.True(t, match("2026/11/14/rollout-2026-11-14T23-58-47-"+sessionA+".jsonl"))
	for _, rel := range []string{
		"rollout-2026-11-14T23-58-47-" + sessionA + ".jsonl", "2026/11/14/notes.jsonl", "2026/11/14/rollout-x.jsonl.zst",
		"2026/11/14/15/rollout-x.jsonl", "2026/nov/14/rollout-x.jsonl",
	} {
		require.False(t, match(rel), rel)
	}
}

func TestEachHomeIsAnAccount(t *testing.T) {
	t.Setenv("HOME", "/home/u")
	t.Setenv(homeVariable, "")
	accounts := func(o Options) (all []string) {
		a, err := New(o)
		require.NoError(t, err)
		for _, src := range a.Sources() {
			all = append(all, src.Account+" "+src.Root)
		}
		return all
	}
	require.Equal(t, []string{"codex:default /home/u/.codex/sessions"}, accounts(Options{}))
	require.Equal(t, []string{"codex:default /home/u/.codex/sessions", "codex:/srv/agents /srv/agents/sessions"},
		accounts(Options{Roots: []string{"/home/u/.codex/", "/srv/agents", "/srv/agents/"}}))
	t.Setenv(homeVariable, "/elsewhere")
	require.Equal(t, []string{"codex:default /elsewhere/sessions"}, accounts(Options{}))
	_, err := New(Options{Roots: []string{".codex", "~/x"}})
	require.ErrorContains(t, err, `".codex"`)
	require.ErrorContains(t, err, `"~/x"`)
}

// A line of a gibibyte, in a sparse file, between a limit and its turn.
func TestAHugeLineCostsBoundedMemory(t *testing.T) {
	path := rolloutOf(t, meta(`,"cli_version":"0.166.0"`), turnIn("/one", ""))
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	defer f.Close()
	size, err := f.Seek(0, 2)
	require.NoError(t, err)
	const huge = 1 << 30
	_, err = f.WriteAt([]byte(`{"timestamp":"2026-11-15T00:00:20.479Z","type":"response_item","payload":{"type":"function_call","arguments":"`), size)
	require.NoError(t, err)
	_, err = f.WriteAt([]byte("\n"+failed(`"usage_limit_exceeded"`, "You've hit your usage limit.")+"\n"), size+huge)
	require.NoError(t, err)

	a := newAgent(t, Options{})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var events []resume.Event
	require.NoError(t, agent.Back(t.Context(), a, a.Sources()[0], path, func(e agent.Evidence) bool {
		events = append(events, e.Event)
		require.Equal(t, "/one", e.Cwd)
		return true
	}))
	runtime.ReadMemStats(&after)
	require.Len(t, events, 1, "what is not a whole record says nothing")
	require.Equal(t, limit.UsageLimit, events[0].(resume.Limited).Class)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(64<<20))
}

func TestWhatIsPassedOverMeansNothing(t *testing.T) {
	a := newAgent(t, Options{})
	for _, c := range agenttest.Cases[captured](t) {
		data, err := os.ReadFile(c.path())
		require.NoError(t, err)
		for raw := range strings.Lines(string(data)) {
			raw = strings.TrimSpace(raw)
			_, means := a.Observe(a.Sources()[0], lines.Line{Path: c.path(), Data: []byte(raw)})
			if !means {
				continue
			}
			require.NotEqual(t, agent.Nothing, rollout.Sift([]byte(raw)), raw)
			require.True(t, json.Valid([]byte(raw)))
		}
	}
}

func TestWhetherAPersonSitsBeforeASession(t *testing.T) {
	for rule, c := range map[string]struct{ meta, want, app string }{
		"exec":                            {`"originator":"codex_exec","source":"exec"`, resume.Headless, ""},
		"a terminal":                      {`"originator":"codex-tui","source":"cli"`, resume.Interactive, ""},
		"a terminal of the shared server": {`"originator":"codex-tui","source":"vscode"`, resume.Interactive, ""},
		"exec of an older version":        {`"originator":"codex_cli_rs","source":"exec"`, resume.Headless, ""},
		"a program of somebody's own":     {`"originator":"my_tool","source":"vscode"`, "", ""},
		"one that does not tell":          {`"cli_version":"0.20.0"`, "", ""},
		"an editor":                       {`"originator":"codex_vscode","source":"vscode"`, "", "VS Code"},
		"a desktop app":                   {`"originator":"codex_desktop","source":"vscode"`, "", "Codex Desktop"},
		"the same under another name":     {`"originator":"Codex Desktop","source":"vscode"`, "", "Codex Desktop"},
	} {
		t.Run(rule, func(t *testing.T) {
			got, ok := last(t, line("session_meta", `{"id":"`+sessionA+`","cwd":"/src/app",`+c.meta+`}`), said(answered))
			require.True(t, ok)
			require.Equal(t, c.want, got.Kind)
			require.Equal(t, c.app, got.App)
		})
	}
}
