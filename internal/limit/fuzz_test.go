package limit

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// states reports whether s could state a time at all.
func states(s string) bool {
	if strings.ContainsAny(s, "0123456789") {
		return true
	}
	for _, t := range tokenize(s) {
		_, weekday := weekdays[t.text]
		_, ahead := daysAhead[t.text]
		if weekday || ahead || midnights[t.text] || numbers[t.text] != 0 || contains([]string{"noon", "half", "через", "reset", "resets"}, t.text) {
			return true
		}
	}
	return false
}

func FuzzText(f *testing.F) {
	for _, s := range []string{
		"You've hit your limit · resets 3pm (UTC)", "Claude AI usage limit reached|1753560000", "❯ 1. Upgrade your plan",
		`API Error: 529 {"type":"error","error":{"type":"overloaded_error"}} · Retrying in 4 seconds…`,
		"Too Many Requests [retrying in 2m 5s attempt #3]", "try again at Feb 23rd, 2027 1:07 AM.", "httpx.ReadTimeout: [Errno 111] refused", "Error: 521 Web server is down", "request to https://x.example/ failed, reason: x", "\xff\xfe’∙•", `{"a":'b':"`,
		"请求过于频繁，请15分钟后再试", "使用量の上限に達しました。15:00にリセットされます。", "사용 한도에 도달했습니다. 오후 3시에 재설정됩니다.", "Zu viele Anfragen. Bitte in 42s erneut versuchen.",
		"2026-11-15 11:59:58 ERROR API Error: You've hit your usage limit", "[x-y] Request error: Upstream error: 429", "**ERROR**: 429", "POST \"https://x.example/\": 429",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v := noon.Text(s)
		if v.Class == None {
			require.Equal(t, Verdict{}, v)
		}
		if v.Reset.Stated() {
			require.True(t, states(s), "%q was read as %v", s, v.Reset.At)
		}
		w := noon.Refusal(Refusal{Status: 429, Code: s, Text: s, Headers: map[string]string{"retry-after": s, "x-ratelimit-reset": s}})
		require.NotEqual(t, None, w.Class)
	})
}

func FuzzWhen(f *testing.F) {
	for _, s := range []string{
		"2s", "in 3 hours", "15:00", "3pm (Europe/Berlin)", "Nov 18, 3:13am (UTC)", "2026-11-15T15:00:00Z", "1794708893",
		"Sun, 15 Nov 2026 14:01:33 GMT", "Monday", "10 de jul. de 2026, 11:52", "on 05/01", "15:00 GMT-03:30", "(Etc/GMT+5", "P1DT2H", "PT36.5S",
		"2h30", "half an hour", "an hour and a half", "à 15h30", "01.12.2026 um 09:00", "2026年8月25日 07:41", "下午3点30分", "через час", "3 hours ago", "15:00 UTC−03:30",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		reset, ok := noon.When(s)
		require.Equal(t, ok, reset.Stated())
		if ok {
			require.True(t, states(s), "%q was read as %v", s, reset.At)
			require.Less(t, reset.At.Sub(noon.At).Abs(), 250*366*24*time.Hour)
		}
	})
}
