package limit

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var noon = Reader{At: time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC), Zone: time.UTC, Grace: 2 * time.Hour}

func TestTextTellsTheClass(t *testing.T) {
	judged{
		UsageLimit: {
			`You've reached your usage limit. Please wait until 3:45 PM before continuing.`,
			`Limit will reset at 7pm (Europe/London).`,
			`Claude Max usage limit reached. Your limit will reset at 10am (America/Sao_Paulo).`,
			`Your limit will reset at 1am (Etc/GMT+5).`,
			`Weekly limit reached ∙ resets Mon 12:00 AM`,
			`You've hit your weekly limit · resets Monday 9am (UTC)`,
			`You've hit your Sonnet limit · resets Nov 20 at 5pm (America/Los_Angeles)`,
			`You've hit your limit for Opus · resets 4am`,
			`You've hit your extra usage limit · resets Dec 1`,
			`You've hit your monthly limit`,
			`You've reached your weekly limit for Opus 4. Switch to Sonnet or wait until Thursday 9:00 AM.`,
			`Opus limit reached ∙ resets 3pm`,
			`Usage limit reached. Resets in 2h 13m`,
			`Claude usage limit reached. Your limit will reset at 5pm (Europe/Berlin). • /upgrade to increase your usage limit.`,
			`You have reached your limit. Resets Nov 18, 2026 at 3:00 AM UTC`,
			`Number of requests has exceeded your daily rate limit`,
			`Your organization has reached its monthly usage limit.`,
			`Goal paused: usage limit reached, resets at 3pm`,
			`Turn failed: You’ve hit your usage limit. Try again at 6:05 PM.`,
			`5-hour limit reached ∙ resets 3pm`,
			`Opus weekly limit reached ∙ resets Oct 9, 10am`,
			`You've hit your Opus limit · resets 3pm (Asia/Tokyo)`,
			`You're out of extra usage · resets 3pm`,
			`Spending cap reached resets 2:15am`,
			`You've hit your org's monthly usage limit`,
			`⚠ Usage limit reached · limit resets 2:02am`,
			`Limit reached · resets 3pm (UTC) · /upgrade to Max or turn on /extra-usage`,
			`Free usage exceeded, add credits https://opencode.ai/zen`,
			`5 hour usage limit reached. It will reset in 3 hours 2 minutes. To continue using this model now, enable usage from your available balance`,
			`Subscription quota exceeded. Retry in 4h 32m. You can continue using free models.`,
			`You have exhausted your daily quota on this model.`,
			`Quota exceeded for quota metric 'Gemini 2.5 Pro Requests' and limit 'Gemini 2.5 Pro Requests per day per user per tier' of service 'cloudcode-pa.googleapis.com' for consumer 'project_number:123'.`,
			`[API Error: You exceeded your current quota, please check your plan and billing details.]`,
			`Usage limit reached for gemini-2.5-pro. Access resets at 3:31 AM UTC.`,
			`Your quota will reset after 3h12m5s.`,
			`You have exhausted your capacity on this model. Your quota will reset after 22h4m1s.`,
			`Sorry, you have exhausted this model's rate limit. Please try again in 58 hours. Please review our Terms of Service`,
			`You've reached your usage limit for this billing cycle. Your quota will be refreshed in the next cycle. Upgrade to get more: https://x`,
			`Qwen OAuth quota exceeded: Your free daily quota has been reached.`,
			`✕ [API Error: Qwen OAuth free tier quota exceeded]`,
			`Monthly request limit reached`,
			`Amazon Q Developer monthly limit reached`,
			`The monthly usage limit has been reached. Your limits will reset on 05/01.`,
			`You've reached your free usage limit. Try again in 2 hours`,
			`Model quota limit exceeded`,
			`You have reached the quota limit for this model. You can resume using this model at 1/5/2027, 3:51:11 PM.`,
			`You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC.`,
		},
		Network: {
			`Model stream ended without a finish reason.`,
			`Failed to fetch`,
			`Error: read ECONNRESET`,
			`Error: connect ETIMEDOUT 104.18.1.2:443`,
			`API Error: connect ECONNREFUSED 127.0.0.1:443`,
			`API Error: Connection error: connect ETIMEDOUT [2607:6bc0::10]:443`,
			` Connection to the API was lost. Retrying…`,
			`Network error. Check your connection and try again.`,
			`API Error: Unable to connect to API (ECONNREFUSED)`,
			`API Error (Connection error.) · Retrying in 5 seconds… (attempt 3/10)`,
			`API Error (Request timed out.) · Retrying in 8 seconds… (attempt 4/10)`,
			`⚠  stream error: stream disconnected before completion: stream closed before response.completed; retrying 1/5 in 200ms…`,
			`Cannot connect to API: The socket connection was closed unexpectedly.`,
			`Unable to connect. Is the computer able to access the url?`,
			`[API Error: exception TypeError: fetch failed sending request]`,
			`litellm.APIConnectionError: OllamaException - Connection refused`,
			`API Error: Connection dropped (ECONNRESET). Check the gateway set in ANTHROPIC_BASE_URL, then try again.`,
			`Request timed out`,
			`Reconnecting... waiting for network (Connection failed: error sending request)`,
		},
		Cancelled: {
			`API Error: Request was aborted.`,
			`[Request interrupted by user]`,
			`Request cancelled.`,
		},
		Auth: {
			`Please log in to continue`,
			`Session expired. Please log in again.`,
			`Your session has expired. Please run /login.`,
			`Error: 401 {"error":{"message":"Incorrect API key provided"}}`,
			`Invalid API key · Please run /login`,
			`OAuth token revoked · Please run /login`,
			`Your account does not have access to Claude Code. Please run /login`,
			`API Error: 403 {"error":{"type":"forbidden","message":"Request not allowed"}}`,
			`API Error: 400 {"type":"error","error":{"type":"invalid_request_error","message":"This organization has been disabled."}}`,
			`🖐  exceeded retry limit, last status: 401 Unauthorized`,
			`Your access token could not be refreshed because your refresh token was revoked. Please log out and sign in again.`,
			`litellm.AuthenticationError: AnthropicException - invalid x-api-key`,
		},
		None: {
			`Usage limit reset — Claude is continuing your task`,
			`Trajectory limit reached`,
			`Max turns reached`,
			`Tool call limit reached`,
			`Rate limit: 4,999/5,000 remaining (resets in 32m)`,
			`Remaining: 12 requests, resets at 3pm`,
			`Limits reset at 3pm today`,
			`Your plan renews on Dec 1`,
			`✓ Rate limit handling added; 429 responses now retry after 5s`,
			`We hit the rate limit on the GitHub API while listing the issues.`,
			`GitHub API rate limit exceeded for user ID 12345.`,
			`gh: API rate limit exceeded for installation ID 1 (HTTP 403)`,
			`fatal: unable to access 'https://github.com/x': The requested URL returned error: 429`,
			`Now using extra usage · Your session limit resets 3pm`,
			`You're now using extra usage · Your weekly limit resets Monday at 9am`,
			`Context low (0% remaining) · Run /compact to compact & continue`,
			`5h limit: [██████████] 100% used (resets 14:03)`,
			`You're approaching your usage limit`,
			`You've hit your fast limit · resets 3:45pm`,
			`You've used 75% of your weekly limit · resets Nov 18, 3am (UTC)`,
			`please add rate limit handling to the client`,
			`if err == "rate limit" {`,
			`if (res.status === 429) throw new Error("Rate limit exceeded");`,
			`// Rate limit exceeded: back off`,
			`- You've hit your limit · resets 3pm`,
			`Why does it say "You've hit your limit · resets 3pm"?`,
			`429 Too Many Requests keep coming from the API, add a retry`,
			`Rate limit exceeded errors should be retried with backoff.`,
			`I've hit my usage limit, what now?`,
			`Overloaded operators are resolved at compile time.`,
			`2026-11-14 12:00:01 ERROR rate limit exceeded for user 5`,
			`FAIL: TestLimit expected "Rate limit exceeded"`,
			`    assert_eq!(msg, "You've hit your usage limit. Try again later.");`,
			`curl: (7) Failed to connect to localhost port 8080: Connection refused`,
			`Connection refused when I start the server, please fix`,
			`The server returned 503 Service Unavailable during the deploy, so I restarted it.`,
			`Let me check the rate limit headers: x-ratelimit-reset-requests`,
			`Weekly limit: 45% used · resets Monday`,
			`npm ERR! 429 Too Many Requests - GET https://registry.example.com/x`,
			`Your limit increase request was submitted.`,
			`def retry_after(response): # Retry-After: 30`,
			`The build failed: connection reset by peer in test_socket`,
			`{"type":"user","message":{"role":"user","content":"Rate limit exceeded"}}`,
			`"five_hour":{"used_percentage":42,"resets_at":1794708652}`,
		},
		ContextOverflow: {
			`input is too long`,
			`This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.`,
			`The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).`,
			`Context window exceeded`,
			`Context limit reached · /compact or /clear to continue`,
			`Conversation too long. Press esc twice to go up a few messages and try again.`,
			`ValidationException: Input is too long for requested model.`,
			`litellm.ContextWindowExceededError: This model's maximum context length is 200000 tokens`,
		},
		Billing: {
			`You're out of usage credits`,
			`Your subscription has expired`,
			`Payment required: add credits to continue`,
			`This model requires a paid plan`,
			`Opus is not available with the Claude Pro plan. Select a different model in /model.`,
			`You have insufficient credits to perform this request.`,
			`To use Codex with your ChatGPT plan, upgrade to Plus: https://openai.com/chatgpt/pricing.`,
			`Insufficient balance. Manage your billing here: https://opencode.ai/workspace/billing`,
			`No payment method. Add a payment method here: https://opencode.ai/workspace`,
			`Your workspace has reached its monthly spending limit of $20. Manage your limits here: https://x`,
			`You have reached your monthly spending limit of $20. Manage your limits here`,
			`You have exceeded your premium request allowance. We have automatically switched you to GPT-4.1`,
			`Your team has either used all available credits or reached its monthly spending limit.`,
			`Your credit balance is too low to access the Anthropic API.`,
			`You've hit your individual spend limit · ask your admin to raise it`,
			`API Error: Extra usage is required for long context requests.`,
			`API Error: 402 spend limit reached`,
			`Spending cap reached`,
		},
		RateLimit: {
			`API Error: Rate limit reached`,
			`API Error: 429 {"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed the rate limit for your organization"}}`,
			` API Error (429 Too Many Requests) · Retrying in 12 seconds… (attempt 2/10)`,
			` ⎿  Error: Rate limited. Retrying in 30s...`,
			`Rate limited — wait and retry`,
			` Waiting for rate limit to reset... 4m 32s remaining`,
			` Auto-continuing in 5s`,
			`Rate limit exceeded, please try again 32 seconds later.`,
			`Rate limit reached. Try again in 1m30s`,
			`You have been rate limited. Please retry after 2026-11-15T13:00:00Z`,
			`Request rejected: too many requests. Retry-After: 120`,
			`rate_limit_error: Number of request tokens has exceeded your per-minute rate limit`,
			`Rate limit reached for gpt-5 in organization org-abc on tokens per min (TPM): Limit 30000, Used 22999, Requested 12528. Please try again in 1.2s.`,
			`Rate limit exceeded. Please try again later.`,
			`AI_APICallError: Too many tokens, please wait before trying again.`,
			`ThrottlingException: Too many requests, please wait before trying again. You have sent too many requests.`,
			`Quota exceeded for quota metric 'Generate Content API requests per minute' and limit 'GenerateContent request limit per minute for a region' of service`,
			`⚡ Rate limiting detected. Automatically switching from gemini-2.5-pro to gemini-2.5-flash for faster responses for the remainder of this session.`,
			`Attempt 1 failed with status 429. Retrying with backoff... GaxiosError: [{`,
			`Sorry, you've been rate-limited. Please wait a moment before trying again. Learn More`,
			`Sorry, your request was rate-limited. Please wait a moment before trying again.`,
			`Error code: 429 - {'error': {'message': 'Your account org-1 request reached max organization concurrency: 1, please try again after 1 seconds', 'type': 'rate_limit_reached_error'}}`,
			`We're receiving too many requests at the moment. Please wait a moment and try again.`,
			`Too many requests have been sent recently, please wait and try again later`,
			`litellm.RateLimitError: AnthropicException - {"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your organization's rate limit"}}`,
			`The API provider has rate limited you. Try again later or check your quotas.`,
			`Retrying in 0.2 seconds...`,
			`Retrying (1/3) in 2s... (esc to cancel)`,
			`Rate limit exceeded. Please try again in 5 minutes`,
			`• Reconnecting... 1/2 (3s • esc to interrupt)`,
		},
		Overloaded: {
			`The server is overloaded or not ready yet.`,
			`That model is currently overloaded with other requests.`,
			`Anthropic's API is temporarily overloaded`,
			`Selected model is at capacity. Please try a different model.`,
			`Provider is overloaded [retrying in 7s attempt #2]`,
			`We are currently experiencing high demand. We apologize and appreciate your patience.`,
			`The model is overloaded. Please try again later.`,
			`[API Error: got status: 503 Service Unavailable. {"error":{"code":503,"message":"The model is overloaded. Please try again later.","status":"UNAVAILABLE"}}]`,
			`LLM provider error: Error code: 429 - {'error': {'message': 'The engine is currently overloaded, please try again later', 'type': 'engine_overloaded_error'}}`,
			`I am experiencing high traffic, please try again shortly.`,
			`The model you've selected is temporarily unavailable. Please use '/model' to select a different model and try again.`,
			`litellm.InternalServerError: AnthropicException - Overloaded`,
			`The API provider's servers are down or overloaded.`,
			`Retry failed after 3 attempts: 529 overloaded_error`,
			`Our servers are experiencing high traffic right now, please try again in a minute.`,
		},
		ServerError: {
			`The model returned an empty response with no text or thoughts. This may be a transient API issue; please try again.`,
			`Service temporarily unavailable. Please try again.`,
			`Error: 503 Service Unavailable`,
			`upstream connect error or disconnect/reset before headers. reset reason: overflow`,
			`Internal Server Error`,
			`Something went wrong. Please try again.`,
			` stream error: exceeded retry limit, last status: 503 Service Unavailable; retrying 2/5 in 404ms…`,
			`ServiceUnavailableException: Bedrock is unable to process your request.`,
			`Encountered an unexpected error when processing the request, please try again`,
			`API Error: 500 {"type":"error","error":{"type":"api_error","message":"Internal server error"},"request_id":"req"}`,
			`API Error: 503 upstream connect error or disconnect/reset before headers`,
		},
		BadRequest: {
			"API Error: The model `gpt-9` does not exist or you do not have access to it.",
			"[API Error: models/x is not found for API version v1beta]",
			`API Error: Claude Code is unable to respond to this request, which appears to violate our Usage Policy (https://www.anthropic.com/legal/aup).`,
			`There's an issue with the selected model (claude-x). It may not exist or you may not have access to it.`,
			`API Error: 400 messages.0: bad request`,
		},
	}.check(t)
}

func TestTextKnowsWhatIsNotTheAgentsOwnReport(t *testing.T) {
	const banner = "You've hit your limit · resets 3pm (UTC)"
	require.Equal(t, UsageLimit, noon.Text(banner).Class)
	for name, line := range map[string]string{
		"a quotation":            "> " + banner,
		"a list":                 "- " + banner,
		"a heading":              "# " + banner,
		"a prompt":               "❯ " + banner,
		"another prompt":         "› " + banner,
		"a shell":                "$ echo " + banner,
		"a string in code":       `return "` + banner + `"`,
		"a quoted line":          `"` + banner + `"`,
		"a comment":              "// " + banner,
		"a block comment":        " * " + banner,
		"test output":            "    want: " + banner,
		"a patch":                "+ " + banner,
		"a table":                "| limit | " + banner + " |",
		"a log line":             "2026-11-15T12:00:00Z WARN " + banner,
		"a speaker":              "user: " + banner,
		"prose around it":        "The banner says: " + banner,
		"a question about it":    "You've hit your limit, what does that mean?",
		"a request after it":     "Rate limit exceeded. Please add a retry to the client.",
		"another tool's failure": "Failed to create pane: Error: rate_limited: too many requests",
		"an assertion":           "AssertionError: rate limit exceeded",
		"a person's record":      `{"type":"user","message":{"content":"` + banner + `"}}`,
		"a tool's record":        `{"type":"tool_result","content":"429 Too Many Requests"}`,
		"an answer":              `{"type":"assistant","message":{"content":[{"type":"text","text":"` + banner + `"}]}}`,
		"a good result":          `{"type":"result","is_error":false,"result":"Rate limit exceeded is handled now"}`,
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, Verdict{}, noon.Text(line), line) })
	}
}

func TestTextOfSeveralLines(t *testing.T) {
	for name, c := range map[string]struct {
		text    string
		class   Class
		running bool
		reset   string
	}{
		"the last report counts": {
			"Error: 529 Overloaded\nYou've hit your limit · resets 3pm", UsageLimit, false, "2026-11-15T15:00:00Z",
		},
		"a line wrapped within a number": {
			"■ You've hit your usage limit. Upgrade to Pro or try again in 5 days 22 hours 11\nminutes.", UsageLimit, false, "2026-11-21T10:11:00Z",
		},
		"a line wrapped within the statement": {
			"● You've hit your weekly\n  limit · resets 3pm", UsageLimit, false, "2026-11-15T15:00:00Z",
		},
		"the agent waits by itself": {
			"  ⎿  You've hit your 5-hour limit · resets 2:02pm (UTC)\n\n● Usage limit reached · continuing automatically at 2:02pm · esc to cancel", UsageLimit, true, "2026-11-15T14:02:00Z",
		},
		"the agent gave up retrying": {
			"✻ 529 Overloaded · Retrying in 3s · attempt 10/10\n● API Error: 529 Overloaded. This is a server-side issue.", Overloaded, false, "",
		},
		"output before it": {
			"compiling…\nall tests pass\nERROR: rate limit exceeded: Slow down", RateLimit, false, "",
		},
		"output alone": {
			"compiling…\nall tests pass", None, false, "",
		},
		"records": {
			`{"type":"error","message":"Reconnecting... 1/2 (rate limit exceeded: Slow down)"}` + "\n" +
				`{"type":"turn.failed","error":{"message":"You’ve hit your usage limit. Try again later."}}`, UsageLimit, false, "",
		},
		"records with nothing behind": {
			`{"type":"error","message":"Rate limit exceeded"}` + "\n" + `{"type":"thread.ended"}`, RateLimit, false, "",
		},
		"records of nothing": {
			`{"type":"a"}` + "\n" + `{"type":"b"}`, None, false, "",
		},
		"a printed structure over many lines": {
			"✕ [API Error: [{\n  \"error\": {\n    \"code\": 429,\n    \"message\": \"You exceeded your current quota\",\n    \"details\": [{\"retryDelay\": \"34s\"}]\n  }\n}]]", UsageLimit, false, "2026-11-15T12:00:34Z",
		},
	} {
		t.Run(name, func(t *testing.T) {
			v := noon.Text(c.text)
			require.Equal(t, c.class, v.Class)
			require.Equal(t, c.running, v.InProgress)
			if c.reset == "" {
				require.False(t, v.Reset.Stated(), v.Reset.At)
				return
			}
			require.WithinDuration(t, instant(t, c.reset), v.Reset.At, 0)
		})
	}
}

func TestTextReadsRecords(t *testing.T) {
	for name, c := range map[string]struct {
		text  string
		class Class
		reset string
	}{
		"a rejected quota":          {`{"status":"rejected","resetsAt":1794751200,"rateLimitType":"five_hour"}`, UsageLimit, "2026-11-15T14:00:00Z"},
		"an allowed quota":          {`{"status":"allowed_warning","resetsAt":1794751200,"rateLimitType":"five_hour"}`, None, ""},
		"an overage":                {`{"status":"rejected","resetsAt":1794751200,"rateLimitType":"overage"}`, Billing, "2026-11-15T14:00:00Z"},
		"a message in a message":    {`{"name":"UnknownError","data":{"message":"{\"message\":\"Rate limit reached\",\"code\":\"rate_limit_exceeded\"}"}}`, RateLimit, ""},
		"an escaped record":         {`529 {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}`, Overloaded, ""},
		"a daily quota by its name": {`{"error":{"code":429,"details":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}}`, UsageLimit, ""},
		"a minute's quota":          {`{"error":{"code":429,"details":[{"quotaId":"GenerateRequestsPerMinutePerProject"}]}}`, RateLimit, ""},
		"another quota":             {`{"error":{"code":429,"details":[{"quotaId":"Storage"}]}}`, RateLimit, ""},
		"a number of seconds":       {`{"error":{"type":"usage_limit_reached","resets_in_seconds":120}}`, UsageLimit, "2026-11-15T12:02:00Z"},
		"an RFC 3339 reset":         {`{"error":{"code":"rate_limit_exceeded","reset_at":"2026-11-15T13:00:00Z"}}`, RateLimit, "2026-11-15T13:00:00Z"},
		"a reset that is no time":   {`{"error":{"code":"rate_limit_exceeded","reset_at":"soon"}}`, RateLimit, ""},
		"a header in milliseconds":  {`{"error":{"message":"Rate limit exceeded","code":429,"metadata":{"headers":{"X-RateLimit-Reset":"1794751200000"}}}}`, RateLimit, "2026-11-15T14:00:00Z"},
		"cut short":                 {`{"error":{"type":"overloaded_error","message":"Overl`, Overloaded, ""},
		"a dictionary":              {`Error code: 429 - {'error': {'message': "Your account's limit: please try again after 1 seconds", 'type': 'rate_limit_reached_error'}}`, RateLimit, "2026-11-15T12:00:01Z"},
		"a dictionary's apostrophe": {`Error code: 400 - {'error': {'message': 'This model's maximum context length is 8192 tokens', 'type': 'x'}}`, ContextOverflow, ""},
		"quota that must be bought": {`{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","code":"insufficient_quota"}}`, Billing, ""},
		"a bad escape":              {`{"error":{"message":"Rate limit exceeded \q \"now\"","code":429}}`, RateLimit, ""},
		"messages within for ever":  {`{"message":"{\"message\":\"{\\\"message\\\":\\\"{}\\\"}\"}"}`, None, ""},
		"a gauge":                   {`{"rate_limits":{"primary":{"used_percent":100.0,"resets_at":1794751200}}}`, None, ""},
	} {
		t.Run(name, func(t *testing.T) {
			v := noon.Text(c.text)
			require.Equal(t, c.class, v.Class)
			if c.reset == "" {
				require.False(t, v.Reset.Stated())
				return
			}
			require.WithinDuration(t, instant(t, c.reset), v.Reset.At, 0)
			require.False(t, v.Reset.Rough)
		})
	}
}

func TestALimitThatIsOverIsDueNow(t *testing.T) {
	v := noon.Text("Usage limit has reset · Press enter to continue")
	require.Equal(t, UsageLimit, v.Class)
	require.True(t, noon.At.Equal(v.Reset.At))
	require.Equal(t, None, noon.Text("Usage limit reset · continuing automatically").Class)
}

func TestSpellingsOfAgents(t *testing.T) {
	for _, line := range []string{
		"You've hit your session limit · resets 3pm",
		"You’ve hit your session limit ∙ resets 3pm",
		"YOU'VE HIT YOUR SESSION LIMIT • RESETS 3PM",
		"  ⎿  You've hit your session limit ⋅ resets 3 pm",
		"Session limit reached ∙ resets 3:00pm",
	} {
		v := noon.Text(line)
		require.Equal(t, UsageLimit, v.Class, line)
		require.WithinDuration(t, noon.At.Add(3*time.Hour), v.Reset.At, 0, line)
		require.True(t, v.Reset.Rough)
	}
}

func TestAHugeTextIsReadAtItsEnds(t *testing.T) {
	filler := strings.Repeat("0123456789abcde\n", 1<<16) // 1 MiB
	const report = "API Error: 529 Overloaded"
	require.Equal(t, Overloaded, noon.Text(report+"\n"+filler).Class)
	require.Equal(t, Overloaded, noon.Text(filler+report).Class)
}

// The time to read a repetitive text must be linear in its length: one bad line of a transcript must
// not delay the rest.
func TestAnyTextIsReadInBoundedTime(t *testing.T) {
	for _, unit := range []string{
		"rate limited, ", "rate limited\n", "you have hit your ", "you ", "a ", "retry in 1h and ", "until ", "until 3pm (UTC) ",
		"until 2026-01-01T00:00:00Z ", "[", "(", "\"", "'", "{\"message\":\"", "{'a':", "error: ",
		"error (", "error \"", "429 ", "the the ", "your your ", "usage ", "5 ", "resets (",
		"❯ 1. ", "\n", "retrying 1/5 in ", "3:00", "\\\"", "{\\\"", "api error (a", "until (Europe/Berlin",
		"until 3pm (x ", "until ~:=(", "1 day ", "retry after 1 day ", "message:\"a\",", "{message:\"retry in 5s\",", "A", "aA",
		"AAa", "http://", "you've ", "openai.", "httpx.A", "error: httpx.A: ", "httpx.A\n", "request to http://a ", "until P1D", "until PT1", "521 ",
		"1s ", "5分", "请求", "请求 ", "12:00:00 ", "[x] ", "**", "429: ", "POST http://a ", "a half ",
	} {
		text := strings.Repeat(unit, 1<<20/len(unit))
		start := time.Now()
		noon.Text(text)
		noon.When(text)
		require.Less(t, time.Since(start), 5*time.Second, unit)
	}
	for _, unit := range []string{"1s ", "5分", "12:00:00 ", "a half ", "Mon ", "until "} {
		start := time.Now()
		noon.Text("You've hit your usage limit. " + strings.Repeat(unit, 16<<10/len(unit)))
		require.Less(t, time.Since(start), 5*time.Second, unit)
	}
}
