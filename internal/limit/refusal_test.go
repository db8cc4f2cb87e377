package limit

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRefusalTellsTheClass(t *testing.T) {
	for name, c := range map[string]struct {
		refusal Refusal
		class   Class
	}{
		"nothing":                             {Refusal{}, None},
		"429":                                 {Refusal{Status: 429}, RateLimit},
		"429 that is a usage limit":           {Refusal{Status: 429, Text: "The usage limit has been reached"}, UsageLimit},
		"429 that must be bought":             {Refusal{Status: 429, Code: "insufficient_quota"}, Billing},
		"429 for want of capacity":            {Refusal{Status: 429, Code: "MODEL_CAPACITY_EXHAUSTED"}, Overloaded},
		"429 with a code for a family":        {Refusal{Status: 429, Code: "rate_limit", Text: "You've hit your 5-hour limit · resets 2am (UTC)"}, UsageLimit},
		"429 with words about something else": {Refusal{Status: 429, Text: "Connection error."}, RateLimit},
		"a lumped code and plain words":       {Refusal{Code: "usage_limit_exceeded", Text: "Your workspace is out of credits. Ask your workspace owner to refill in order to continue."}, Billing},
		"a lumped code and a plan":            {Refusal{Code: "usage_limit_exceeded", Text: "To use Codex with your ChatGPT plan, upgrade to Plus: https://example.com"}, Billing},
		"a spend cap":                         {Refusal{Status: 429, Code: "usage_limit_reached", Text: "You've hit your individual spend limit · ask your admin to raise it"}, Billing},
		"credits for long context":            {Refusal{Status: 429, Code: "long_context_credits_required"}, Billing},
		"402":                                 {Refusal{Status: 402, Text: "You have no quota"}, Billing},
		"429 whose quota is back soon":        {Refusal{Status: 429, Text: "You exceeded your current quota, please check your plan. Please retry in 36.5s."}, RateLimit},
		"a quota of a day that is back soon": {Refusal{Status: 429, Text: "You exceeded your current quota, please check your plan. Please retry in 36.5s.\n" +
			`{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[{"violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}]}}`}, UsageLimit},
		"a code wins over a short wait":             {Refusal{Code: "quota_exhausted", Text: "You exceeded your current quota, please check your plan. Please retry in 36.5s."}, UsageLimit},
		"an exception by its name":                  {Refusal{Text: "httpx.ReadTimeout: The read operation timed out"}, Network},
		"a proxy's status":                          {Refusal{Status: 522, Text: "Connection timed out"}, ServerError},
		"529":                                       {Refusal{Status: 529, Code: "server_error"}, Overloaded},
		"429 whose words tell of an allowance":      {Refusal{Status: 429, Text: "Too Many Requests: you've reached your hourly usage limit, please upgrade to continue"}, UsageLimit},
		"429 whose words tell of load":              {Refusal{Status: 429, Text: "Too Many Requests: We're experiencing high traffic right now! Please try again soon."}, Overloaded},
		"429 whose words tell no more":              {Refusal{Status: 429, Text: "Too Many Requests: Too Many Requests"}, RateLimit},
		"429 with a code for load":                  {Refusal{Status: 429, Text: `Too Many Requests: {"type":"service_tier_capacity_exceeded"}`}, Overloaded},
		"498 for want of capacity":                  {Refusal{Status: 498, Text: "Flex tier capacity exceeded"}, Overloaded},
		"503 that says over capacity":               {Refusal{Status: 503, Text: "llama-3.3-70b is currently over capacity."}, Overloaded},
		"403 by an SDK's name for all of them":      {Refusal{Status: 403, Code: "PermissionDeniedError", Text: "403 Input was flagged by moderation"}, BadRequest},
		"403 with nothing but that name":            {Refusal{Status: 403, Code: "PermissionDeniedError"}, Auth},
		"a proxy's page":                            {Refusal{Text: "[API Error: <html>\r\n<head><title>429 Too Many Requests</title></head>\r\n<body>…</body></html>]"}, RateLimit},
		"a service closed to an account":            {Refusal{Text: "[API Error: This service has been disabled in this account for violation of Terms of Service.]"}, Auth},
		"400 for unpaid bills":                      {Refusal{Status: 400, Text: `{"error":{"code":"Arrearage","message":"Access denied."}}`}, Billing},
		"400 for an account that owes":              {Refusal{Status: 400, Text: "400 Access denied, please make sure your account is in good standing."}, Billing},
		"403 for a free tier that is over":          {Refusal{Status: 403, Text: `{"error":{"code":"AllocationQuota.FreeTierOnly","message":"The free tier of the model has been exhausted."}}`}, Billing},
		"503":                                       {Refusal{Status: 503, Text: "Internal server error"}, ServerError},
		"503 that says overloaded":                  {Refusal{Status: 503, Text: "The engine is currently overloaded, please try again later"}, Overloaded},
		"503 that says at capacity":                 {Refusal{Status: 503, Text: "Selected model is at capacity. Please try a different model."}, Overloaded},
		"503 that says slow down":                   {Refusal{Status: 503, Code: "rate_limit_exceeded", Text: "rate limit exceeded: Slow down"}, RateLimit},
		"500 that says high demand":                 {Refusal{Status: 500, Text: "We are experiencing high demand."}, ServerError},
		"500 that says overloaded":                  {Refusal{Status: 500, Text: "Overloaded"}, ServerError},
		"504":                                       {Refusal{Status: 504}, ServerError},
		"401":                                       {Refusal{Status: 401, Text: "Invalid API key · Fix external API key"}, Auth},
		"403":                                       {Refusal{Status: 403}, Auth},
		"403 for a plan without the model":          {Refusal{Status: 403, Text: "This model is not available on your plan"}, Billing},
		"404":                                       {Refusal{Status: 404, Code: "model_not_found"}, BadRequest},
		"408":                                       {Refusal{Status: 408}, Network},
		"413":                                       {Refusal{Status: 413, Code: "request_too_large"}, ContextOverflow},
		"418":                                       {Refusal{Status: 418}, BadRequest},
		"400":                                       {Refusal{Status: 400, Text: "messages.0: bad request"}, BadRequest},
		"400 for want of credit":                    {Refusal{Status: 400, Text: "Your credit balance is too low to access the API."}, Billing},
		"400 for its length":                        {Refusal{Status: 400, Text: "Prompt is too long · the request is ~210000 tokens (limit 200000)"}, ContextOverflow},
		"400 for a key":                             {Refusal{Status: 400, Text: "API key not valid. Please pass a valid API key."}, Auth},
		"a code that is a status":                   {Refusal{Code: "429"}, RateLimit},
		"a code in camel case":                      {Refusal{Code: "usageLimitExceeded"}, UsageLimit},
		"a code that is an exception":               {Refusal{Code: "ThrottlingException"}, RateLimit},
		"a code and a monthly cap":                  {Refusal{Code: "ThrottlingException", Text: "Maximum GenerateAssistantResponse reached for this month."}, UsageLimit},
		"an unknown code":                           {Refusal{Code: "other", Text: "stream disconnected before completion: idle timeout waiting for SSE"}, Network},
		"a stream cut by a rate limit":              {Refusal{Code: "other", Text: "stream disconnected before completion: Rate limit reached for gpt-5. Please try again in 1.2s."}, RateLimit},
		"a stream cut by a server error":            {Refusal{Code: "other", Text: "stream disconnected before completion: An error occurred while processing your request."}, ServerError},
		"a context code in a body":                  {Refusal{Code: "other", Text: `{"error": {"message": "Your input exceeds the context window of this model.", "code": "context_length_exceeded"}}`}, ContextOverflow},
		"an agent's own timeout":                    {Refusal{Text: "Request timed out"}, Network},
		"a refused connection":                      {Refusal{Code: "connection_failed"}, Network},
		"a policy":                                  {Refusal{Code: "cyber_policy"}, BadRequest},
		"a refusal of the model":                    {Refusal{Text: "API Error: Opus 5.5's safeguards flagged this message (https://example.com). This sometimes happens."}, BadRequest},
		"an answer too long":                        {Refusal{Code: "max_output_tokens"}, BadRequest},
		"an abort":                                  {Refusal{Code: "MessageAbortedError", Text: "Aborted"}, Cancelled},
		"an overloaded family with a billing claim": {Refusal{Status: 429, Headers: map[string]string{"anthropic-ratelimit-unified-status": "rejected", "anthropic-ratelimit-unified-representative-claim": "overage"}}, Billing},
		"a quota refused in headers":                {Refusal{Status: 429, Headers: map[string]string{"Anthropic-RateLimit-Unified-Status": "rejected"}}, UsageLimit},
		"credits depleted in headers":               {Refusal{Status: 429, Code: "usage_limit_exceeded", Headers: map[string]string{"x-codex-rate-limit-reached-type": "workspace_member_credits_depleted"}}, Billing},
	} {
		t.Run(name, func(t *testing.T) {
			v := noon.Refusal(c.refusal)
			require.Equal(t, c.class, v.Class)
			require.Equal(t, c.class.Transient(), v.WaitHelps)
		})
	}
}

func TestRefusalReadsHeaders(t *testing.T) {
	type h = map[string]string
	for name, c := range map[string]struct {
		status  int
		headers h
		text    string
		wait    time.Duration // after noon; 0 means none is stated
		source  Source
	}{
		"retry-after in seconds":         {429, h{"Retry-After": "5"}, "", 5 * time.Second, Header},
		"retry-after as a date":          {503, h{"retry-after": "Sun, 15 Nov 2026 12:00:04 GMT"}, "", 4 * time.Second, Header},
		"retry-after in milliseconds":    {429, h{"retry-after-ms": "1500", "retry-after": "2"}, "", 1500 * time.Millisecond, Header},
		"a header beats the words":       {429, h{"retry-after": "60"}, "Please try again in 1.2s", time.Minute, Header},
		"words where no header says":     {429, h{"date": "Sun, 15 Nov 2026 12:00:00 GMT"}, "Please try again in 1.2s", 1200 * time.Millisecond, Words},
		"a duration":                     {429, h{"x-ratelimit-reset-tokens": "6m0s"}, "", 6 * time.Minute, Header},
		"the later of what is used up":   {429, h{"x-ratelimit-reset-tokens": "1.2s", "x-ratelimit-reset-requests": "8.64s"}, "", 8640 * time.Millisecond, Header},
		"a window with room is left":     {429, h{"x-ratelimit-reset-tokens": "1.2s", "x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-requests": "1h", "x-ratelimit-remaining-requests": "99"}, "", 1200 * time.Millisecond, Header},
		"all windows have room":          {429, h{"x-ratelimit-reset-requests": "1h", "x-ratelimit-remaining-requests": "99"}, "", 0, ""},
		"a gauge on another refusal":     {500, h{"x-ratelimit-reset-requests": "1h"}, "", 0, ""},
		"an epoch":                       {429, h{"anthropic-ratelimit-unified-reset": "1794751200", "anthropic-ratelimit-unified-status": "rejected"}, "", 2 * time.Hour, Header},
		"the unified one governs":        {429, h{"anthropic-ratelimit-unified-reset": "1794751200", "anthropic-ratelimit-unified-7d-reset": "1794960000"}, "", 2 * time.Hour, Header},
		"a window that was allowed":      {429, h{"anthropic-ratelimit-unified-7d-reset": "1794960000", "anthropic-ratelimit-unified-7d-status": "allowed"}, "", 0, ""},
		"an RFC 3339 reset":              {429, h{"anthropic-ratelimit-requests-reset": "2026-11-15T12:30:00Z"}, "", 30 * time.Minute, Header},
		"a plain reset in epoch":         {429, h{"X-RateLimit-Reset": "1794751200000"}, "", 2 * time.Hour, Header},
		"a codex window used up":         {429, h{"x-codex-primary-reset-at": "1794751200", "x-codex-primary-used-percent": "100", "x-codex-secondary-reset-at": "1794960000", "x-codex-secondary-used-percent": "61"}, "", 2 * time.Hour, Header},
		"what is no time is passed over": {429, h{"retry-after": "soon", "x-ratelimit-reset": "later", "retry-after-ms": "-5"}, "", 0, ""},
		"nor is what never comes":        {429, h{"retry-after": "1e300"}, "", 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			v := noon.Refusal(Refusal{Status: c.status, Headers: c.headers, Text: c.text})
			require.Equal(t, c.source, v.Reset.Source)
			if c.wait == 0 {
				require.False(t, v.Reset.Stated())
				return
			}
			require.WithinDuration(t, noon.At.Add(c.wait), v.Reset.At, time.Microsecond)
			require.False(t, v.Reset.Rough)
		})
	}
}

func TestClassNamesAreReadBack(t *testing.T) {
	for _, c := range Classes() {
		text, err := c.MarshalText()
		require.NoError(t, err)
		var back Class
		require.NoError(t, back.UnmarshalText(text))
		require.Equal(t, c, back)
	}
	require.ErrorContains(t, new(Class).UnmarshalText([]byte("nothing")), `unknown class "nothing"`)
	require.Equal(t, "class(99)", Class(99).String())
}
