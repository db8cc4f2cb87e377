package limit

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Records of failures that were once read wrong.
func TestRecordsThatWereReadWrong(t *testing.T) {
	for name, c := range map[string]struct {
		refusal Refusal
		class   Class
		at      string // the reset; "" where none is stated
	}{
		"402 seconds are no status":                {Refusal{Text: "Please retry after 402 seconds"}, RateLimit, "2026-11-15T12:06:42Z"},
		"nor are 403":                              {Refusal{Text: "Please retry after 403 seconds"}, RateLimit, "2026-11-15T12:06:43Z"},
		"nor 450, behind a header's name":          {Refusal{Text: "Too fast. Retry-After: 450"}, RateLimit, "2026-11-15T12:07:30Z"},
		"an amount is no status":                   {Refusal{Text: "You exceeded 500 requests"}, RateLimit, ""},
		"a stamp with an offset without its colon": {Refusal{Text: "Usage limit reached. Resets 2026-11-15T22:00:00.000+0000"}, UsageLimit, "2026-11-15T22:00:00Z"},
		"of two readings of a date the one ahead":  {Refusal{Text: "Usage limit reached, resets 05/12/2026"}, UsageLimit, "2026-12-05T00:00:00Z"},
		"a window that has room refused nothing":   {Refusal{Status: 429, Text: "Rate limited", Headers: map[string]string{"anthropic-ratelimit-unified-status": "allowed", "anthropic-ratelimit-unified-reset": "1794760200", "anthropic-ratelimit-unified-5h-reset": "1794760200", "anthropic-ratelimit-unified-5h-status": "allowed"}}, RateLimit, ""},
		"a time that is stated is believed":        {Refusal{Text: "Your plan's usage refreshes at 4:40pm"}, UsageLimit, "2026-11-15T16:40:00Z"},
		"also under a status for sign-in":          {Refusal{Status: 403, Text: "This membership can go on in 2 hours 11 minutes, resets at 14:11"}, UsageLimit, "2026-11-15T14:11:00Z"},
		"an allowance under a code for sign-in":    {Refusal{Status: 403, Code: "access_terminated_error", Text: "You've reached your weekly (7-day) usage limit. Your quota will reset when the current 7-day window ends."}, UsageLimit, ""},
		"a failure that nobody understands":        {Refusal{Text: "The flux capacitor is misaligned"}, Unknown, ""},
		"a status is a fact":                       {Refusal{Status: 400, Text: "The flux capacitor is misaligned"}, BadRequest, ""},
		"a window that is answered with 402":       {Refusal{Status: 402, Text: "You have reached your 5-hour usage limit. Resets in 2h 13m."}, UsageLimit, "2026-11-15T14:13:00Z"},
		"Ctrl-C is the person's own stop":          {Refusal{Text: "interrupted (Ctrl-C). Something went wrong?"}, Cancelled, ""},
		"in other words too":                       {Refusal{Text: "Interrupted by Ctrl+C"}, Cancelled, ""},
		"credits come back by no clock":            {Refusal{Status: 402, Text: "Add credits. Offer available until 15:00."}, Billing, ""},
	} {
		t.Run(name, func(t *testing.T) {
			v := noon.Refusal(c.refusal)
			require.Equal(t, c.class, v.Class)
			require.Equal(t, c.class.Transient(), v.WaitHelps)
			if c.at == "" {
				require.False(t, v.Reset.Stated(), "read %v", v.Reset.At)
				return
			}
			require.WithinDuration(t, instant(t, c.at), v.Reset.At, 0)
		})
	}
}

// Lines of programs that were once read wrong, or whose program goes on by itself.
func TestLinesThatWereReadWrong(t *testing.T) {
	for text, c := range map[string]struct {
		class   Class
		running bool
		at      string
	}{
		`{"hook_event_name":"StopFailure","error":"rate_limit","last_assistant_message":"You've hit your session limit · resets 12:53pm (Etc/UTC)"}`: {UsageLimit, false, "2026-11-15T12:53:00Z"},
		`{"hook_event_name":"Stop","last_assistant_message":"You've hit your session limit · resets 12:53pm (Etc/UTC)"}`:                             {None, false, ""},
		`{"type":"system","subtype":"api_error","retryInMs":572,"retryAttempt":1,"error":{"status":529}}`:                                            {Overloaded, true, "2026-11-15T12:00:00.572Z"},
		`{"type":"error","willRetry":true,"error":{"status":529}}`:                                                                                   {Overloaded, true, ""},
		`{"type":"error","retryAttempt":3,"willRetry":false,"error":{"status":529}}`:                                                                 {Overloaded, false, ""},
		`Please retry after 402 seconds`:                                 {RateLimit, false, "2026-11-15T12:06:42Z"},
		`Please retry after 403 seconds`:                                 {RateLimit, false, "2026-11-15T12:06:43Z"},
		`Usage limit reached again · continuing automatically at 4:10pm`: {UsageLimit, true, "2026-11-15T16:10:00Z"},
		`Your claude.ai usage limit has reset. Continue the task you were working on when the limit was reached; do not repeat work.`: {None, false, ""},
		`Current week (all models)`:                                                     {None, false, ""},
		`Resets Mar 12 at 11pm (America/Chicago)`:                                       {None, false, ""},
		`Next attempt in 30s`:                                                           {RateLimit, true, ""},
		`Trying again in 15 seconds (try 4 of 5)`:                                       {RateLimit, true, "2026-11-15T12:00:15Z"},
		`'You have surpassed your {{item}} quota limit. Charges are added beyond it.'`:  {None, false, ""},
		`You have reached your usage limit. Resets in %d minutes.`:                      {None, false, ""},
		`Most visitors of the page came for "api error: stream idle timeout" last week`: {None, false, ""},
		"The notes name `API Error: 529 Overloaded` as the reason for the delay":        {None, false, ""},
		"The build log says `API Error: 429 rate limit exceeded` and nothing else":      {None, false, ""},
		`  'usage_limit': 'You have reached your usage limit',`:                         {None, false, ""},
		"API Error: 429 rate limit exceeded for model `some model`":                     {RateLimit, false, ""},
		`// You have reached your usage limit`:                                          {None, false, ""},
		`If your usage limit is reached, requests fail with status 429`:                 {None, false, ""},
		`Automatic continue cancelled. Your session will wait for you instead`:          {None, false, ""},
	} {
		v := noon.Text(text)
		require.Equal(t, c.class, v.Class, text)
		require.Equal(t, c.running, v.InProgress, text)
		require.Equal(t, c.at != "", v.Reset.Stated(), text)
		if c.at != "" {
			require.WithinDuration(t, instant(t, c.at), v.Reset.At, 0, text)
		}
	}
}

// How far back a clock time may be depends on the window, and a provider that names no zone means its
// own.
func TestClocksOfWindowsAndOfProviders(t *testing.T) {
	for text, want := range map[string]string{
		"Your weekly allowance is used up, it is topped up on Monday at 09:00":                                           "2026-11-16T09:00:00Z",
		"Your allowance is used up, it recovers in 3 hours":                                                              "2026-11-15T15:00:00Z",
		"Daily limit reached, resets at 11:00":                                                                           "2026-11-16T11:00:00Z",
		"Your weekly usage limit was reached, resets at 11:00":                                                           "2026-11-16T11:00:00Z",
		"5-hour limit reached, resets at 11:00":                                                                          "2026-11-15T11:00:00Z",
		"Daily limit reached, resets at 11:55":                                                                           "2026-11-15T11:55:00Z",
		"Usage limit reached for 5 hour. Your limit will reset at 2026-11-15 22:30:37":                                   "2026-11-15T14:30:37Z",
		`API Error: 429 {"error":{"code":"1308","message":"5 hour usage limit reached, resets at 2026-11-15 22:30:37"}}`: "2026-11-15T14:30:37Z",
		"Usage limit reached for 5 hour. Your limit will reset at 2026-11-15 22:30:37 UTC":                               "2026-11-15T22:30:37Z",
	} {
		v := noon.Refusal(Refusal{Text: text})
		require.Equal(t, UsageLimit, v.Class, text)
		require.WithinDuration(t, instant(t, want), v.Reset.At, 0, text)
	}
}
