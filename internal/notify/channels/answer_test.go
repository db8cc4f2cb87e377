package channels

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/notify"
	"resumed/internal/notify/notifytest"
	"resumed/internal/notify/remote"
)

// world is the internet: every host is the same server, which answers in one way. Users' own servers
// are reached at its address, without TLS.
type world struct {
	host      string
	transport http.RoundTripper
	answer    atomic.Pointer[http.HandlerFunc]
	requests  chan request
}

type request struct {
	host, path string
	header     http.Header
	body       string
}

func newWorld(t *testing.T) *world {
	w := &world{requests: make(chan request, 10_000)}
	handler := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.requests <- request{r.Host, r.URL.RequestURI(), r.Header, string(body)}
		(*w.answer.Load())(rw, r)
	})
	secret, open := httptest.NewTLSServer(handler), httptest.NewServer(handler)
	t.Cleanup(secret.Close)
	t.Cleanup(open.Close)
	w.host = open.Listener.Addr().String()
	w.transport = &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true},
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			if w.answer.Load() == nil {
				address = "127.0.0.1:1" // refused
			} else if !strings.HasPrefix(address, "127.0.0.1:") {
				address = secret.Listener.Addr().String()
			}
			return new(net.Dialer).DialContext(ctx, network, address)
		},
	}
	return w
}

// send sends one notice while the world answers like that; nil: no connection is accepted.
func (w *world) send(ctx context.Context, t *testing.T, u string, answer http.HandlerFunc) error {
	t.Helper()
	w.answer.Store(nil)
	if answer != nil {
		w.answer.Store(&answer)
	}
	ch, err := newService(serviceOptions{Common: notify.Common{Name: "phone"}, URL: strings.ReplaceAll(u, "HOST", w.host), Transport: w.transport})
	require.NoError(t, err)
	return ch.Send(ctx, notifytest.Notice(notify.GaveUp, 1)).Err
}

// sent returns the request to a server that accepts it.
func (w *world) sent(t *testing.T, u string, n notify.Notice) request {
	t.Helper()
	yes := says(200, "", accepted(u))
	w.answer.Store(&yes)
	ch, err := newService(serviceOptions{Common: notify.Common{Name: "phone"}, URL: strings.ReplaceAll(u, "HOST", w.host), Transport: w.transport})
	require.NoError(t, err)
	err = ch.Send(t.Context(), n).Err
	require.NoError(t, err)
	return <-w.requests
}

func says(status int, retryAfter, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if retryAfter != "" {
			w.Header().Set("Retry-After", retryAfter)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func cutOff(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "100")
	_, _ = io.WriteString(w, `{"ok":true,`)
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// huge is an answer without an end.
func huge(w http.ResponseWriter, _ *http.Request) {
	for chunk := bytes.Repeat([]byte("x"), 1<<16); ; {
		if _, err := w.Write(chunk); err != nil {
			return
		}
	}
}

func elsewhere(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Host == "elsewhere.example" {
			panic("it was redirected to another host")
		}
		http.Redirect(w, r, "https://elsewhere.example/", status)
	}
}

// reading is how the notifier interprets a response.
func reading(err error) string {
	if errors.Is(err, remote.ErrCredentials) {
		return "credentials"
	}
	if notify.IsFinal(err) {
		return "final"
	}
	if wait, asked := errors.AsType[*notify.SendError](err); asked {
		return "again in " + wait.After.Round(time.Minute).String()
	}
	if err != nil {
		return "again"
	}
	return "accepted"
}

// services has a URL of each form of service, and the response of the service to an accepted notice.
var services = map[string]string{
	"discord://token@123456789":                                                        ``,
	"https://discord.com/api/webhooks/123456789/tok-en_1":                              ``,
	"https://hooks.slack.com/services/AAAAAAAAA/BBBBBBBBB/cccccccccccccccccccccccc":    `ok`,
	"discord://token@123456789/raw":                                                    `{"id":"1"}`,
	"gotify://HOST/Aabcdefghijklmn?disabletls=yes":                                     `{"id":1}`,
	"ntfy://HOST/topic?scheme=http":                                                    `{"id":"x"}`,
	"pushover://resumed:apiToken@userKey":                                              `{"status":1}`,
	"slack://hook:AAAAAAAAA-BBBBBBBBB-cccccccccccccccccccccccc@webhook":                `ok`,
	"slack://xoxb:123456789012-1234567890123-abcdefghijklmnopqrstuvwx@C001CHANNEL":     `{"ok":true}`,
	"telegram://123456789:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa@telegram?chats=@channel": `{"ok":true,"result":{"message_id":1}}`,
}

func accepted(u string) string {
	if strings.Contains(u, "://discord.com/") {
		return ""
	}
	for service, yes := range services {
		if kind, _, _ := strings.Cut(service, "://"); strings.HasPrefix(u, kind+"://") && (yes == "ok") == strings.Contains(u, "hook") {
			return yes
		}
	}
	return ""
}

// A notice that the network or the service refused is never treated as delivered, and temporary
// refusals are tried again.
func TestEachAnswerOfEachService(t *testing.T) {
	w := newWorld(t)
	date := time.Now().Add(10 * time.Minute).UTC().Format(http.TimeFormat)
	no := func(status int) string {
		return fmt.Sprintf(`{"ok":false,"error_code":%d,"description":"no","status":0,"error":"no"}`, status)
	}
	type answer struct {
		name string
		by   http.HandlerFunc
		want string
	}
	for service, yes := range services {
		for _, a := range []answer{
			{"no network", nil, "again"},
			{"200", says(200, "", yes), "accepted"},
			{"401", says(401, "", no(401)), "credentials"},
			{"403", says(403, "", no(403)), "credentials"},
			{"404", says(404, "", no(404)), "final"},
			{"429", says(429, "", no(429)), "again"},
			{"429 with seconds", says(429, "120", no(429)), "again in 2m0s"},
			{"429 with a date", says(429, date, no(429)), "again in 10m0s"},
			{"429 with nonsense", says(429, "soon", "<html>"), "again"},
			{"500", says(500, "", "oops"), "again"},
			{"503", says(503, "120", ""), "again in 2m0s"},
			{"204", says(204, "", ""), map[bool]string{true: "accepted", false: "again"}[yes == "" || yes == "ok" || strings.HasSuffix(service, "/raw")]},
			{"huge", huge, "again"},
			{"huge refusal", func(rw http.ResponseWriter, r *http.Request) { rw.WriteHeader(404); huge(rw, r) }, "final"},
			{"cut off", cutOff, "again"},
			{"301", elsewhere(301), "final"},
			{"307", elsewhere(307), "final"},
			{"garbage", says(200, "", "<html>Please sign in to the network</html>"), "again"},
			{"other JSON", says(200, "", "[1]"), "again"},
		} {
			err := w.send(t.Context(), t, service, a.by)
			require.Equal(t, a.want, reading(err), "%s: %s: %v", service, a.name, err)
			if err != nil {
				require.LessOrEqual(t, len(err.Error()), 500)
				for _, secret := range []string{"token@", "cccccc", "aaaaaa", "apiToken", "userKey", "Aabcdef"} {
					require.NotContains(t, err.Error(), secret)
				}
			}
		}
	}
}

// A try ends at once with its context.
func TestAServerThatHangsIsLeft(t *testing.T) {
	for service := range services {
		w := newWorld(t)
		ctx, cancel := context.WithCancelCause(t.Context())
		release := make(chan struct{})
		err := w.send(ctx, t, service, func(http.ResponseWriter, *http.Request) {
			cancel(errors.New("the daemon stops"))
			<-release
		})
		close(release)
		require.ErrorContains(t, err, "the daemon stops", service)
		require.Equal(t, "again", reading(err), service)
	}
}

// A refusal with status 200 is still a refusal.
func TestRefusalsInWords(t *testing.T) {
	w := newWorld(t)
	const bot, chat = "slack://xoxb:123456789012-1234567890123-abcdefghijklmnopqrstuvwx@C001CHANNEL", telegramURL + "1"
	for _, c := range []struct{ url, said, want, words string }{
		{bot, `{"ok":false,"error":"invalid_auth"}`, "credentials", "invalid_auth"},
		{bot, `{"ok":false,"error":"channel_not_found"}`, "final", "channel_not_found"},
		{bot, `{"ok":false,"error":"ratelimited"}`, "again", "ratelimited"},
		{bot, `{"ok":false}`, "final", "slack answered 200 OK"},
		{chat, `{"ok":false,"error_code":400,"description":"chat not found"}`, "final", "chat not found"},
		{chat, `{"ok":false,"error_code":429,"parameters":{"retry_after":180}}`, "again in 3m0s", "telegram answered 200 OK"},
		{"pushover://resumed:apiToken@userKey", `{"status":0,"errors":["user key is invalid"]}`, "final", "user key is invalid"},
	} {
		err := w.send(t.Context(), t, c.url, says(200, "", c.said))
		require.Equal(t, c.want, reading(err), c.said)
		require.ErrorContains(t, err, c.words)
	}
}

const telegramURL = "telegram://123456789:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa@telegram?chats="

func TestTelegramAsksForItsOwnPause(t *testing.T) {
	w := newWorld(t)
	err := w.send(t.Context(), t, telegramURL+"1", says(429, "", `{"ok":false,"error_code":429,"description":"Too Many Requests","parameters":{"retry_after":420}}`))
	require.Equal(t, "again in 7m0s", reading(err))
	require.ErrorContains(t, err, "telegram answered 429 Too Many Requests: Too Many Requests")
}

func TestTelegramGetsTitleTextAndThread(t *testing.T) {
	w := newWorld(t)
	n := notifytest.Notice(notify.GaveUp, 1)
	n.Title, n.Text = "a<b", strings.Repeat("long & ", 1000)
	sent := w.sent(t, telegramURL+"-100:7&notification=no", n)
	require.Equal(t, "/bot123456789:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/sendMessage", sent.path)
	got := decoded(t, sent)
	require.Equal(t, "-100", got["chat_id"])
	require.EqualValues(t, 7, got["message_thread_id"])
	require.Equal(t, true, got["disable_notification"])
	require.Equal(t, "HTML", got["parse_mode"])
	require.True(t, strings.HasPrefix(got["text"].(string), "<b>a&lt;b</b>\nlong &amp; "), got["text"])
	got = decoded(t, w.sent(t, telegramURL+"1&parsemode=MarkdownV2", n))
	require.Equal(t, "MarkdownV2", got["parse_mode"])
	require.True(t, strings.HasPrefix(got["text"].(string), "long & "), got["text"])
}

// If a chat is gone, the other chats still get the notice, and the error is reported.
func TestTelegramChatThatRefusesKeepsItFromNoOther(t *testing.T) {
	w := newWorld(t)
	err := w.send(t.Context(), t, telegramURL+"1,2", func(rw http.ResponseWriter, _ *http.Request) {
		if len(w.requests) == 1 {
			says(400, "", `{"ok":false,"error_code":400,"description":"Bad Request: chat not found"}`)(rw, nil)
			return
		}
		says(200, "", `{"ok":true}`)(rw, nil)
	})
	require.Len(t, w.requests, 2)
	require.Equal(t, "final", reading(err))
	require.ErrorContains(t, err, "chat not found")
}

func decoded(t *testing.T, r request) map[string]any {
	t.Helper()
	var got map[string]any
	require.NoError(t, json.Unmarshal([]byte(r.body), &got), r.body)
	return got
}

func TestNtfyGetsTheOptionsOfItsURL(t *testing.T) {
	w := newWorld(t)
	n := notifytest.Notice(notify.GaveUp, 1)
	sent := w.sent(t, "ntfy://ann:pw@HOST/topic?scheme=http&priority=Urgent&tags=a,b&cache=no&delay=5m&actions=view, Open, https://x.example/;view, B, https://y.example/", n)
	require.Equal(t, "/topic", sent.path)
	require.Equal(t, n.Text, sent.body)
	for name, want := range map[string]string{
		"Title": n.Title, "Priority": "urgent", "Tags": "a,b", "Cache": "no", "Firebase": "", "Delay": "5m",
		"Authorization": "Basic YW5uOnB3", "Actions": "view, Open, https://x.example/;view, B, https://y.example/",
	} {
		require.Equal(t, want, sent.header.Get(name), name)
	}
	sent = w.sent(t, "ntfy://HOST/topic?scheme=http", notifytest.Notice(notify.Parked, 2))
	require.Equal(t, "2 sessions: parked", sent.header.Get("Title"))
	require.Empty(t, sent.header.Get("Authorization"))
}

// The URLs that services show to people lead where they say, whatever form they have inside.
func TestAWebhookIsUsedAsItsServiceHandsItOut(t *testing.T) {
	w := newWorld(t)
	n := notifytest.Notice(notify.GaveUp, 1)
	for _, address := range []string{
		"hooks.slack.com/services/AAAAAAAAA/BBBBBBBBB/cccccccccccccccccccccccc",
		"discord.com/api/webhooks/123456789/tok-en_1",
	} {
		sent := w.sent(t, "https://"+address, n)
		require.Equal(t, address, sent.host+sent.path)
	}
	sent := w.sent(t, "https://discord.com/api/webhooks/1/abc?thread_id=9", n)
	require.Equal(t, "/api/webhooks/1/abc?thread_id=9", sent.path)
}

func TestSlackGetsItsMessages(t *testing.T) {
	w := newWorld(t)
	n := notifytest.Notice(notify.GaveUp, 1)
	sent := w.sent(t, "slack://hook:AAAAAAAAA-BBBBBBBBB-cccccccccccccccccccccccc@webhook?botname=r&color=good&icon=:zap:", n)
	require.Equal(t, "hooks.slack.com/services/AAAAAAAAA/BBBBBBBBB/cccccccccccccccccccccccc", sent.host+sent.path)
	require.Equal(t, map[string]any{"text": n.Title, "username": "r", "icon_emoji": ":zap:", "attachments": []any{
		map[string]any{"text": "It happened.", "color": "good"}, map[string]any{"text": "To try again: resumed retry 0000", "color": "good"},
	}}, decoded(t, sent))

	sent = w.sent(t, "slack://xoxb:123456789012-1234567890123-abcdefghijklmnopqrstuvwx@C001CHANNEL?thread_ts=1.2", n)
	require.Equal(t, "slack.com/api/chat.postMessage", sent.host+sent.path)
	require.Equal(t, "Bearer xoxb-123456789012-1234567890123-abcdefghijklmnopqrstuvwx", sent.header.Get("Authorization"))
	require.Equal(t, "C001CHANNEL", decoded(t, sent)["channel"])
	require.Equal(t, "1.2", decoded(t, sent)["thread_ts"])
}

func TestDiscordGetsItsMessages(t *testing.T) {
	w := newWorld(t)
	n := notifytest.Notice(notify.GaveUp, 1)
	sent := w.sent(t, "discord://token@123?thread_id=9&username=u", n)
	require.Equal(t, "discord.com/api/webhooks/123/token?thread_id=9", sent.host+sent.path)
	require.Equal(t, map[string]any{"username": "u", "embeds": []any{
		map[string]any{"title": n.Title, "description": "It happened.", "color": float64(0x50d9ff)},
		map[string]any{"description": "To try again: resumed retry 0000", "color": float64(0x50d9ff)},
	}}, decoded(t, sent))
	n.Text = strings.Repeat("line\n", 30)
	require.Len(t, decoded(t, w.sent(t, "discord://token@123", n))["embeds"], 10, "all of it is one message")
	require.Len(t, decoded(t, w.sent(t, "discord://token@123?splitlines=no", n))["embeds"], 1)
	n.Text = `{"content":"mine"}`
	require.Equal(t, n.Text, w.sent(t, "discord://token@123/raw", n).body)
}

func TestGotifyAndPushoverGetTheirMessages(t *testing.T) {
	w := newWorld(t)
	n := notifytest.Notice(notify.GaveUp, 1)
	sent := w.sent(t, `gotify://HOST/sub/Aabcdefghijklmn?disabletls=yes&priority=5&extras={"a":1}`, n)
	require.Equal(t, "/sub/message", sent.path)
	require.Equal(t, "Aabcdefghijklmn", sent.header.Get("X-Gotify-Key"))
	require.Equal(t, map[string]any{"title": n.Title, "message": n.Text, "priority": 5.0, "extras": map[string]any{"a": 1.0}}, decoded(t, sent))

	sent = w.sent(t, "pushover://resumed:apiToken@userKey?devices=a,b&priority=1", n)
	form, err := url.ParseQuery(sent.body)
	require.NoError(t, err)
	require.Equal(t, "api.pushover.net/1/messages.json", sent.host+sent.path)
	require.Equal(t, url.Values{"user": {"userKey"}, "token": {"apiToken"}, "device": {"a,b"}, "priority": {"1"}, "title": {n.Title}, "message": {n.Text}}, form)
}
