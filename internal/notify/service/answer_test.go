package service

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
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/notify"
	"resumed/internal/notify/notifytest"
)

// world is the internet: every host of it is one server that answers as it is told
// to. Services of one's own are reached at its address, without TLS.
type world struct {
	host   string
	answer atomic.Pointer[func(http.ResponseWriter, *http.Request)]
	bodies chan string
}

func newWorld(t *testing.T) *world {
	w := &world{bodies: make(chan string, 10_000)}
	handler := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.bodies <- string(body)
		(*w.answer.Load())(rw, r)
	})
	secret, open := httptest.NewTLSServer(handler), httptest.NewServer(handler)
	t.Cleanup(secret.Close)
	t.Cleanup(open.Close)
	w.host = open.Listener.Addr().String()
	everywhere := &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true},
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			if !strings.HasPrefix(address, "127.0.0.1:") {
				address = secret.Listener.Addr().String()
				if w.answer.Load() == nil {
					address = "127.0.0.1:1" // refused
				}
			}
			return new(net.Dialer).DialContext(ctx, network, address)
		},
	}
	before := notify.Machine
	notify.Machine = everywhere
	t.Cleanup(func() { notify.Machine = before })
	return w
}

// ask sends one notice while the world answers like that; nil: it refuses to be
// reached.
func (w *world) ask(t *testing.T, u string, answer func(http.ResponseWriter, *http.Request)) (string, error) {
	t.Helper()
	host := w.host
	w.answer.Store(nil)
	if answer == nil {
		host = "127.0.0.1:1"
	} else {
		w.answer.Store(&answer)
	}
	return open(t, strings.ReplaceAll(u, "HOST", host), 0).Send(t.Context(), notifytest.Notice(notify.GaveUp, 1))
}

func says(status int, body string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		if status >= 400 {
			w.Header().Set("Retry-After", "42")
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

// reading says what the notifier is told of an answer.
func reading(said string, err error) string {
	if _, final := errors.AsType[*notify.PermanentError](err); final {
		return "final"
	}
	if wait, asked := errors.AsType[*notify.RetryAfterError](err); asked {
		return "retry in " + wait.After.String()
	}
	if err != nil {
		return "retry"
	}
	if said != "accepted" {
		return "unsure"
	}
	return "taken"
}

// offered is a URL of each service, and what it says to what it takes.
var offered = []struct{ url, ok string }{
	{"bark://devicekey@HOST?scheme=http", `{"code":200}`},
	{"discord://token@123456789", ``},
	{"generic://HOST/hook?disabletls=yes", ``},
	{"googlechat://chat.googleapis.com/v1/spaces/FOO/messages?key=bar&token=baz", `{}`},
	{"gotify://HOST/Aabcdefghijklmn?disabletls=yes", `{"id":1}`},
	{"ifttt://key@host?events=limits", `Congratulations!`},
	{"join://shoutrrr:apikey@join/?devices=d1", `{"success":true}`},
	{"lark://open.larksuite.com/token?secret=x", `{"code":0}`},
	{"logger://", ``},
	{"matrix://user:pass@HOST?disableTLS=yes&rooms=!abc:x", `{"flows":[{"type":"m.login.password"}],"access_token":"t","room_id":"!abc:x","joined_rooms":["!abc:x"]}`},
	{"mattermost://HOST/token?disabletls=yes", `ok`},
	{"notifiarr://apikey?channel=123456789012345678", `{"result":"success"}`},
	{"ntfy://HOST/topic?scheme=http", `{"id":"x"}`},
	{"opsgenie://api.opsgenie.com/apikey", `{"result":"Request will be processed"}`},
	{"pagerduty://events.pagerduty.com/eb243592faa24ba2a5511afdf565c889", `{"status":"success"}`},
	{"pushbullet://o.abcdefghijklmnopqrstuvwxyz123456/device", `{"type":"note","body":"It happened.\nTo try again: resumed retry 0000","title":"1 sessions: gave_up","active":true}`},
	{"pushover://shoutrrr:apiToken@userKey", `{"status":1}`},
	{"rocketchat://chat.example.com/tokenA/tokenB/channel", `{"success":true}`},
	{"signal://HOST/+15551234567/+15557654321?disabletls=yes", `{"timestamp":"1"}`},
	{"slack://hook:AAAAAAAAA-BBBBBBBBB-cccccccccccccccccccccccc@webhook", `ok`},
	{"slack://xoxb:123456789012-1234567890123-abcdefghijklmnopqrstuvwx@C001CHANNEL", `{"ok":true}`},
	{"teams://00000000-0000-4000-8000-000000000001@00000000-0000-4000-8000-000000000002/00000000000000000000000000000003/00000000-0000-4000-8000-000000000004/V2aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa?host=example.webhook.office.com", `1`},
	{"telegram://123456789:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa@telegram?chats=@channel", `{"ok":true,"result":{"message_id":1}}`},
	{"wecom://693axxx6-7aoc-4bc4-97a0-0ec2sifa5aaa", `{"errcode":0}`},
	{"zulip://bot-mail%40zulipchat.com:key@example.zulipchat.com?stream=s&topic=t", `{"result":"success"}`},
}

// What each service answers is known as what it is: nothing that was refused, by the
// network or by the service, is taken for delivered, and what passes is tried again.
func TestWhatEachServiceAnsweredIsKnown(t *testing.T) {
	w := newWorld(t)
	refusal := `{"ok":false,"error_code":%d,"description":"no","status":0,"errcode":93000,"code":19001,"success":false,"errorCode":%d}`
	var table bytes.Buffer
	columns := []string{"no network", "401", "404", "429", "500", "ok:false", "no JSON", "cut off", "its yes"}
	tab := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tab, "\t"+strings.Join(columns, "\t"))
	for _, service := range offered {
		kind, _, _ := strings.Cut(service.url, "://")
		known := map[string]string{"no network": reading(w.ask(t, service.url, nil))}
		for _, status := range []int{401, 404, 429, 500} {
			known[strconv.Itoa(status)] = reading(w.ask(t, service.url, says(status, fmt.Sprintf(refusal, status, status))))
		}
		known["ok:false"] = reading(w.ask(t, service.url, says(200, fmt.Sprintf(refusal, 400, 400))))
		known["no JSON"] = reading(w.ask(t, service.url, says(200, "<html>Please sign in to the network</html>")))
		known["cut off"] = reading(w.ask(t, service.url, cutOff))
		known["its yes"] = reading(w.ask(t, service.url, says(200, service.ok)))
		fmt.Fprint(tab, kind)
		for _, column := range columns {
			fmt.Fprint(tab, "\t", known[column])
		}
		fmt.Fprintln(tab)

		if kind == "logger" {
			require.Equal(t, "unsure", known["its yes"])
			continue
		}
		for column, want := range map[string]string{
			"no network": "retry", "401": "final", "404": "final", "429": "retry in 42s", "500": "retry in 42s", "its yes": "taken",
		} {
			require.Equal(t, want, known[column], "%s: %s", kind, column)
		}
		if kind == "telegram" {
			require.Equal(t, map[string]string{
				"no network": "retry", "401": "final", "404": "final", "429": "retry in 42s", "500": "retry in 42s",
				"ok:false": "final", "no JSON": "retry", "cut off": "retry", "its yes": "taken",
			}, known)
		}
	}
	require.NoError(t, tab.Flush())
	t.Log("\n" + table.String())
}

const telegramURL = "telegram://123456789:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa@telegram?chats="

func TestTelegramAsksForItsOwnPause(t *testing.T) {
	w := newWorld(t)
	said, err := w.ask(t, telegramURL+"1", says(429, `{"ok":false,"error_code":429,"description":"Too Many Requests","parameters":{"retry_after":7}}`))
	require.Equal(t, "retry in 7s", reading(said, err))
	require.ErrorContains(t, err, "telegram: it answered 429 Too Many Requests: Too Many Requests")
	said, err = w.ask(t, telegramURL+"1", nil)
	require.Equal(t, "retry", reading(said, err))
	require.ErrorContains(t, err, "connection refused")
	require.NotContains(t, err.Error(), "aaaa")
}

func TestTelegramGetsTitleTextAndThread(t *testing.T) {
	w := newWorld(t)
	n := notifytest.Notice(notify.GaveUp, 1)
	n.Title, n.Text = "a<b", strings.Repeat("long & ", 1000)
	yes := says(200, `{"ok":true}`)
	w.answer.Store(&yes)
	_, err := open(t, telegramURL+"-100:7&notification=no", 0).Send(t.Context(), n)
	require.NoError(t, err)
	var got map[string]any
	require.NoError(t, json.Unmarshal([]byte(<-w.bodies), &got))
	require.Equal(t, "-100", got["chat_id"])
	require.EqualValues(t, 7, got["message_thread_id"])
	require.Equal(t, true, got["disable_notification"])
	require.Equal(t, "HTML", got["parse_mode"])
	require.True(t, strings.HasPrefix(got["text"].(string), "<b>a&lt;b</b>\nlong &amp; "), got["text"])
}

// A chat that is gone keeps the notice from no other, and the person hears of it.
func TestTelegramChatThatRefusesKeepsItFromNoOther(t *testing.T) {
	w := newWorld(t)
	said, err := w.ask(t, telegramURL+"1,2", func(rw http.ResponseWriter, _ *http.Request) {
		if len(w.bodies) == 1 {
			says(400, `{"ok":false,"error_code":400,"description":"Bad Request: chat not found"}`)(rw, nil)
			return
		}
		says(200, `{"ok":true}`)(rw, nil)
	})
	require.Len(t, w.bodies, 2)
	require.Equal(t, "final", reading(said, err))
	require.ErrorContains(t, err, "chat not found")
}

// Trying again is the notifier's: a service that would do it by itself answers at
// once.
func TestDiscordDoesNotWaitByItself(t *testing.T) {
	w := newWorld(t)
	began := time.Now()
	for _, status := range []int{429, 500} {
		said, err := w.ask(t, "discord://token@123456789", says(status, ""))
		require.Equal(t, "retry in 42s", reading(said, err))
	}
	require.Len(t, w.bodies, 2)
	require.Less(t, time.Since(began), 20*time.Second)
}

// A service that answers 200 to everything says in words what it did.
func TestWordsThatRefuseAreRead(t *testing.T) {
	w := newWorld(t)
	teams, join := "", ""
	for _, service := range offered {
		if strings.HasPrefix(service.url, "teams:") {
			teams = service.url
		} else if strings.HasPrefix(service.url, "join:") {
			join = service.url
		}
	}
	said, err := w.ask(t, teams, says(200, "Webhook message delivery failed with error: Microsoft Teams endpoint returned HTTP error 413 with ContextId x."))
	require.Equal(t, "final", reading(said, err))
	require.ErrorContains(t, err, "HTTP error 413")
	said, err = w.ask(t, teams, says(200, "Microsoft Teams endpoint returned HTTP error 429 with ContextId x."))
	require.Equal(t, "retry", reading(said, err))
	_, err = w.ask(t, join, says(200, `{"success":false,"errorMessage":"No devices to send to"}`))
	require.ErrorContains(t, err, "No devices to send to")
}

// An answer without an end is not read without an end.
func TestAnAnswerWithoutAnEndIsCutOff(t *testing.T) {
	w := newWorld(t)
	endless := func(rw http.ResponseWriter, _ *http.Request) {
		for chunk := bytes.Repeat([]byte("x"), 1<<16); ; {
			if _, err := rw.Write(chunk); err != nil {
				return
			}
		}
	}
	for _, service := range offered {
		if strings.HasPrefix(service.url, "logger") {
			continue
		}
		said, err := w.ask(t, service.url, endless) // that it ends is what counts
		if err != nil {
			require.Equal(t, "retry", reading(said, err), service.url)
		}
	}
}

// A redirect does not take a notice, and what opens the service, to another host.
func TestARedirectOfAServiceStaysOnItsHost(t *testing.T) {
	w := newWorld(t)
	for _, service := range offered {
		if strings.HasPrefix(service.url, "logger") {
			continue
		}
		_, err := w.ask(t, service.url, func(rw http.ResponseWriter, r *http.Request) {
			if r.Host == "elsewhere.example" {
				t.Errorf("%s was led elsewhere", service.url)
			}
			http.Redirect(rw, r, "https://elsewhere.example/", http.StatusTemporaryRedirect)
		})
		require.Error(t, err, service.url)
	}
}

// Whoever is no service asks as before, and a flight that is over hears nothing more.
func TestOnlyFlightsAreHeard(t *testing.T) {
	w := newWorld(t)
	_, err := w.ask(t, "generic://HOST/hook?disabletls=yes", says(200, ""))
	require.NoError(t, err)
	require.Empty(t, listening.of)
	long := says(200, strings.Repeat("x", longestAnswer+10))
	w.answer.Store(&long)
	resp, err := http.Get("http://" + w.host)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Len(t, body, longestAnswer+10)
}
