package limit

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

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
			require.Less(t, v.Reset.At.Sub(noon.At).Abs(), 250*366*24*time.Hour)
		}
		w := noon.Refusal(Refusal{Status: 429, Code: s, Text: s, Headers: map[string]string{"retry-after": s, "x-ratelimit-reset": s}})
		require.NotEqual(t, None, w.Class)
	})
}
