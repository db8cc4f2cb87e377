package notify

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
)

func service(t *testing.T, url string, timeout time.Duration) *Service {
	t.Helper()
	s, err := NewService(ServiceOptions{Common: Common{Name: "phone"}, URL: url, Timeout: timeout})
	require.NoError(t, err)
	return s
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
	s := service(t, "ntfy://"+in.host()+"/topic?scheme=http", 0)
	require.NoError(t, s.Send(t.Context(), sample(GaveUp, 1)))
	require.NoError(t, s.Send(t.Context(), sample(Parked, 2)))
	require.Equal(t, "api0: Claude Code gave up after 1 try (usage limit)", in.headers[0].Get("Title"))
	require.Equal(t, "2 sessions: Claude Code needs you (usage limit)", in.headers[1].Get("Title"))
	require.Contains(t, in.bodies[0], "To try again: resumed retry 0000")
}

func TestGenericServiceGetsTitleAndText(t *testing.T) {
	in := newInbox(t, 200)
	require.NoError(t, service(t, "generic://"+in.host()+"/hook?disabletls=yes", 0).Send(t.Context(), sample(GaveUp, 1)))
	require.True(t, strings.HasPrefix(in.bodies[0], "api0: Claude Code gave up"), in.bodies[0])
	require.Contains(t, in.bodies[0], "resumed retry 0000")

	require.NoError(t, service(t, "generic://"+in.host()+"/hook?disabletls=yes&template=json", 0).Send(t.Context(), sample(GaveUp, 1)))
	var doc map[string]string
	require.NoError(t, json.Unmarshal([]byte(in.bodies[1]), &doc))
	require.Equal(t, sample(GaveUp, 1).Title, doc["title"])
	require.Equal(t, sample(GaveUp, 1).Text, doc["message"])
}

func TestServiceRefusalsAreFinalOnlyWhereTheyAreClear(t *testing.T) {
	for status, permanent := range map[int]bool{400: true, 403: true, 429: false, 500: false} {
		in := newInbox(t, status)
		err := service(t, "ntfy://"+in.host()+"/topic?scheme=http", 0).Send(t.Context(), sample(GaveUp, 1))
		require.Error(t, err, status)
		_, is := errors.AsType[*PermanentError](err)
		require.Equal(t, permanent, is, "%d: %v", status, err)
		wait, asked := errors.AsType[*RetryAfterError](err)
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
	s := service(t, "generic+"+server.URL+"/hook", 100*time.Millisecond)
	require.ErrorContains(t, s.Send(t.Context(), sample(GaveUp, 1)), "no answer within 100ms")
	close(release)
	s.timeout = 10 * time.Second
	require.NoError(t, s.Send(t.Context(), sample(GaveUp, 1)))
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
		s := service(t, u, 0)
		err := s.Send(t.Context(), sample(GaveUp, 1))
		require.Error(t, err)
		for _, secret := range secrets {
			require.NotContains(t, err.Error(), secret, u)
			require.NotContains(t, s.To(), secret)
		}
	}
	for _, bad := range []string{"", "passw0rd", "nosuch://passw0rd@host/p4thtoken", "discord://passw0rd", "ntfy://us3rname:passw0rd@host", "slack://passw0rd", "telegram://passw0rd@telegram"} {
		_, err := NewService(ServiceOptions{Common: Common{Name: "x"}, URL: bad})
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
		_, err := NewService(ServiceOptions{Common: Common{Name: "x"}, URL: u})
		require.NoError(t, err, u)
	}
}
