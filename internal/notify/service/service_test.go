package service

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/notify"
	"resumed/internal/notify/notifytest"
)

func open(t *testing.T, url string, timeout time.Duration) *Channel {
	t.Helper()
	s, err := New(Options{Common: notify.Common{Name: "phone"}, URL: url, Timeout: timeout})
	require.NoError(t, err)
	return s
}

func send(t *testing.T, s *Channel, n notify.Notice) error {
	t.Helper()
	_, err := s.Send(t.Context(), n)
	return err
}

func TestServiceIsAChannel(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer server.Close()
	defer close(release)
	notifytest.Conform(t, func(c notify.Common) (notify.Channel, error) {
		return New(Options{Common: c, URL: "generic+" + server.URL + "/hook"})
	})
}

// inbox is a server that keeps what it was sent.
type inbox struct {
	*httptest.Server
	mu      sync.Mutex
	status  int
	headers []http.Header
	bodies  []string
}

func newInbox(t *testing.T, status int) *inbox {
	in := &inbox{status: status}
	in.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		in.mu.Lock()
		defer in.mu.Unlock()
		in.headers = append(in.headers, r.Header)
		in.bodies = append(in.bodies, string(must(io.ReadAll(r.Body))))
		w.Header().Set("Retry-After", "42")
		w.WriteHeader(in.status)
		_, _ = io.WriteString(w, `{"code":1,"error":"asked for `+r.URL.Path+`"}`)
	}))
	t.Cleanup(in.Close)
	return in
}

func (in *inbox) host() string { return strings.TrimPrefix(in.URL, "http://") }

func TestNtfyShowsTheTitleOfEachNotice(t *testing.T) {
	in := newInbox(t, 200)
	s := open(t, "ntfy://"+in.host()+"/topic?scheme=http", 0)
	require.NoError(t, send(t, s, notifytest.Notice(notify.GaveUp, 1)))
	require.NoError(t, send(t, s, notifytest.Notice(notify.Parked, 2)))
	require.Equal(t, "1 sessions: gave_up", in.headers[0].Get("Title"))
	require.Equal(t, "2 sessions: parked", in.headers[1].Get("Title"))
	require.Contains(t, in.bodies[0], "To try again: resumed retry 0000")
}

func TestGenericServiceGetsTitleAndText(t *testing.T) {
	in := newInbox(t, 200)
	require.NoError(t, send(t, open(t, "generic://"+in.host()+"/hook?disabletls=yes", 0), notifytest.Notice(notify.GaveUp, 1)))
	require.True(t, strings.HasPrefix(in.bodies[0], "1 sessions: gave_up"), in.bodies[0])
	require.Contains(t, in.bodies[0], "resumed retry 0000")

	require.NoError(t, send(t, open(t, "generic://"+in.host()+"/hook?disabletls=yes&template=json", 0), notifytest.Notice(notify.GaveUp, 1)))
	var doc map[string]string
	require.NoError(t, json.Unmarshal([]byte(in.bodies[1]), &doc))
	require.Equal(t, notifytest.Notice(notify.GaveUp, 1).Title, doc["title"])
	require.Equal(t, notifytest.Notice(notify.GaveUp, 1).Text, doc["message"])
}

func TestServiceRefusalsAreFinalOnlyWhereTheyAreClear(t *testing.T) {
	for status, permanent := range map[int]bool{400: true, 403: true, 429: false, 500: false} {
		in := newInbox(t, status)
		err := send(t, open(t, "ntfy://"+in.host()+"/topic?scheme=http", 0), notifytest.Notice(notify.GaveUp, 1))
		require.Error(t, err, status)
		_, is := errors.AsType[*notify.PermanentError](err)
		require.Equal(t, permanent, is, "%d: %v", status, err)
		wait, asked := errors.AsType[*notify.RetryAfterError](err)
		require.Equal(t, !permanent, asked, "%d: %v", status, err)
		if asked {
			require.Equal(t, 42*time.Second, wait.After)
		}
	}
}

func TestLateAnswerOfAServiceIsNoReasonToSendAgain(t *testing.T) {
	var requests atomic.Int32
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		requests.Add(1)
		<-release
	}))
	defer server.Close()
	s := open(t, "generic+"+server.URL+"/hook", 100*time.Millisecond)
	require.ErrorContains(t, send(t, s, notifytest.Notice(notify.GaveUp, 1)), "no answer within 100ms")
	close(release)
	s.timeout = 10 * time.Second
	require.NoError(t, send(t, s, notifytest.Notice(notify.GaveUp, 1)))
	require.EqualValues(t, 1, requests.Load())
	require.Empty(t, s.flying)
}

func TestSecretsOfAServiceNeverShow(t *testing.T) {
	in := newInbox(t, 500)
	secrets := []string{"us3rname", "passw0rd", "t0picname", "AT0kenT0kenT0k", "p4thtoken"}
	for _, u := range []string{
		"ntfy://us3rname:passw0rd@" + in.host() + "/t0picname?scheme=http",
		"gotify://" + in.host() + "/AT0kenT0kenT0k?disabletls=yes",
		"generic://" + in.host() + "/p4thtoken?disabletls=yes",
		"ntfy://us3rname:passw0rd@127.0.0.1:1/t0picname?scheme=http",
		"gotify://127.0.0.1:1/AT0kenT0kenT0k?disabletls=yes",
	} {
		s := open(t, u, 0)
		err := send(t, s, notifytest.Notice(notify.GaveUp, 1))
		require.Error(t, err)
		for _, secret := range secrets {
			require.NotContains(t, err.Error(), secret, u)
			require.NotContains(t, s.To(), secret)
		}
	}
	for _, bad := range []string{"", "passw0rd", "nosuch://passw0rd@host/p4thtoken", "discord://passw0rd", "ntfy://us3rname:passw0rd@host", "slack://passw0rd", "telegram://passw0rd@telegram"} {
		_, err := New(Options{Common: notify.Common{Name: "x"}, URL: bad})
		require.Error(t, err, bad)
		require.NotContains(t, err.Error(), "passw0rd", bad)
		require.NotContains(t, err.Error(), "p4thtoken", bad)
	}
}

func TestWellKnownServicesAreCheckedWithoutANetwork(t *testing.T) {
	for _, u := range []string{
		"ntfy://ntfy.sh/topic",
		"slack://hook:AAAAAAAAA-BBBBBBBBB-cccccccccccccccccccccccc@webhook",
		"discord://token@123456789",
		"telegram://123456789:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa@telegram?chats=@channel",
		"gotify://gotify.example.com/Aabcdefghijklmn",
		"pushover://shoutrrr:apiToken@userKey",
		"smtp://user:pass@mail.example.com:587/?from=a@example.com&to=b@example.com",
		"matrix://user:pass@matrix.example.com",
		"teams://00000000-0000-4000-8000-000000000001@00000000-0000-4000-8000-000000000002/00000000000000000000000000000003/00000000-0000-4000-8000-000000000004/V2aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa?host=example.webhook.office.com",
	} {
		_, err := New(Options{Common: notify.Common{Name: "x"}, URL: u})
		require.NoError(t, err, u)
	}
}

// Who pastes the address of a topic, or misspells a service, is told what to write.
func TestAServiceThatThereIsNot(t *testing.T) {
	for url, want := range map[string]string{
		"https://ntfy.sh/secret-topic": "for ntfy write ntfy://ntfy.sh/TOPIC; a plain https URL is for [[notify.webhook]]",
		"nfty://ntfy.sh/secret-topic":  `there is no service "nfty"; valid here: bark, discord, `,
	} {
		_, err := New(Options{Common: notify.Common{Name: "x"}, URL: url})
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "secret-topic")
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
