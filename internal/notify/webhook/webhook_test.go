package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/notify"
	"resumed/internal/notify/notifytest"
)

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

func open(t *testing.T, url string, change ...func(*Options)) *notify.Channel {
	t.Helper()
	o := Options{Common: notify.Common{Name: "ops"}, URL: url, Secret: secret}
	for _, f := range change {
		f(&o)
	}
	w, err := New(o)
	require.NoError(t, err)
	return w
}

func send(t *testing.T, w *notify.Channel, n notify.Notice) error {
	t.Helper()
	return w.Send(t.Context(), n).Err
}

func TestWebhookIsAChannel(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer server.Close()
	defer close(release)
	notifytest.Conform(t, func(c notify.Common) (*notify.Channel, error) { return New(Options{Common: c, URL: server.URL}) })
}

func TestSignatureIsTheOneOfTheSpecification(t *testing.T) {
	// The example of the specification's own libraries.
	h := http.Header{}
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	require.NoError(t, err)
	(&sender{key: key}).sign(h, "msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`))
	require.Equal(t, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=", h.Get("webhook-signature"))
}

func TestWebhookPostsTheSignedNotice(t *testing.T) {
	var header http.Header
	var body []byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header, body = r.Header, must(io.ReadAll(r.Body))
		if r.Method != http.MethodPost {
			w.WriteHeader(http.StatusMethodNotAllowed)
		}
	}))
	defer server.Close()
	require.NoError(t, send(t, open(t, server.URL), notifytest.Notice(notify.GaveUp, 2)))

	require.Equal(t, "application/json", header.Get("Content-Type"))
	require.Equal(t, "ntc_SAMPLE", header.Get("Webhook-Id"))
	key := must(base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_")))
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(header.Get("Webhook-Id") + "." + header.Get("Webhook-Timestamp") + "." + string(body)))
	require.Equal(t, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)), header.Get("Webhook-Signature"))

	var doc map[string]any
	require.NoError(t, json.Unmarshal(body, &doc))
	for _, field := range []string{"version", "id", "event", "at", "host", "title", "text", "account", "sessions", "retry_command"} {
		require.Contains(t, doc, field)
	}
	require.Len(t, doc, 10)
	require.Equal(t, "2026-03-01T02:20:00Z", doc["at"])
	require.Equal(t, "resumed retry 0000", doc["retry_command"])
	require.Len(t, doc["sessions"], 2)
}

func TestWebhookAnswersMeanWhatTheContractSays(t *testing.T) {
	const delivered, again, final = "delivered", "again", "final"
	for status, want := range map[int]string{
		200: delivered, 202: delivered, 204: delivered,
		301: final, 302: final, 304: final,
		400: final, 401: final, 403: final, 404: final, 410: final, 422: final,
		408: again, 425: again, 429: again,
		500: again, 502: again, 503: again, 504: again,
	} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(status)
			}))
			defer server.Close()
			err := send(t, open(t, server.URL), notifytest.Notice(notify.GaveUp, 1))
			permanent := notify.IsFinal(err)
			switch want {
			case delivered:
				require.NoError(t, err)
			case final:
				require.True(t, permanent, "%v", err)
			case again:
				require.Error(t, err)
				require.False(t, permanent, "%v", err)
			}
		})
	}
}

func TestWebhookIsSentAgainWhenTheServerAsksForIt(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "77")
		w.WriteHeader(http.StatusTooManyRequests)
	}))
	defer server.Close()
	err := send(t, open(t, server.URL), notifytest.Notice(notify.GaveUp, 1))
	wait, ok := errors.AsType[*notify.SendError](err)
	require.True(t, ok)
	require.Equal(t, 77*time.Second, wait.After)
}

func TestWebhookThatHangsEndsWithTheTimeoutAsCause(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer server.Close()
	defer close(release)
	w := open(t, server.URL, func(o *Options) { o.Timeout = 50 * time.Millisecond })
	err := send(t, w, notifytest.Notice(notify.GaveUp, 1))
	require.ErrorContains(t, err, "no answer within 50ms")
	permanent := notify.IsFinal(err)
	require.False(t, permanent)
}

func TestWebhookIsTriedAgainAfterNetworkErrors(t *testing.T) {
	reset, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer reset.Close()
	go func() {
		for {
			c, err := reset.Accept()
			if err != nil {
				return
			}
			_ = c.(*net.TCPConn).SetLinger(0) // close with a reset
			c.Close()
		}
	}()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	closed.Close()

	for name, address := range map[string]string{"reset": reset.Addr().String(), "refused": closed.Addr().String()} {
		err := send(t, open(t, "http://"+address+"/hook/t0ps3cr3t"), notifytest.Notice(notify.GaveUp, 1))
		require.Error(t, err, name)
		permanent := notify.IsFinal(err)
		require.False(t, permanent, name)
		require.NotContains(t, err.Error(), "t0ps3cr3t", name)
	}
}

func TestRedirectIsFollowedToTheSameHostOnly(t *testing.T) {
	var stolen, taken int
	thief := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { stolen++ }))
	defer thief.Close()
	mux := http.NewServeMux()
	mux.HandleFunc("/away", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, thief.URL, http.StatusTemporaryRedirect)
	})
	mux.HandleFunc("/moved", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/here", http.StatusPermanentRedirect)
	})
	mux.HandleFunc("/login", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/here", http.StatusFound) // would become a GET without the notice
	})
	mux.HandleFunc("/here", func(_ http.ResponseWriter, r *http.Request) {
		if body := must(io.ReadAll(r.Body)); len(body) > 0 {
			taken++
		}
	})
	server := httptest.NewServer(mux)
	defer server.Close()

	require.ErrorContains(t, send(t, open(t, server.URL+"/away"), notifytest.Notice(notify.GaveUp, 1)), "redirect is not followed")
	require.Zero(t, stolen)
	require.NoError(t, send(t, open(t, server.URL+"/moved"), notifytest.Notice(notify.GaveUp, 1)))
	require.Equal(t, 1, taken)
	require.Error(t, send(t, open(t, server.URL+"/login"), notifytest.Notice(notify.GaveUp, 1)))
}

func TestSecretsOfAWebhookNeverShow(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, "no such hook "+r.URL.String()+"\x1b[31m")
	}))
	defer server.Close()
	address := strings.Replace(server.URL, "http://", "http://us3rname:passw0rd@", 1) + "/services/T0KEN123?key=qu3rysecret"
	w := open(t, address)
	err := send(t, w, notifytest.Notice(notify.GaveUp, 1))
	for _, hidden := range []string{"us3rname", "passw0rd", "T0KEN123", "qu3rysecret", "\x1b", "MfKQ9r8"} {
		require.NotContains(t, err.Error(), hidden)
		require.NotContains(t, w.To, hidden)
	}
	require.Contains(t, err.Error(), "403 Forbidden")

	for _, bad := range []Options{
		{URL: "ftp://h0st/T0KEN123"},
		{URL: "http://[T0KEN123"},
		{URL: "https://h0st/T0KEN123", Secret: "whsec_T0KEN123!"},
	} {
		bad.Common.Name = "x"
		_, err := New(bad)
		require.Error(t, err)
		require.NotContains(t, err.Error(), "T0KEN123")
	}
}

// The environment's proxies are read once per process, so this test runs itself in another process.
func TestWebhookHonoursTheProxyOfTheEnvironment(t *testing.T) {
	if os.Getenv("NOTIFY_TEST_PROXIED") != "" {
		require.NoError(t, send(t, open(t, "http://hooks.invalid/x"), notifytest.Notice(notify.GaveUp, 1)))
		return
	}
	var asked string
	proxy := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked = r.URL.Host }))
	defer proxy.Close()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestWebhookHonoursTheProxyOfTheEnvironment$")
	cmd.Env = append(os.Environ(), "NOTIFY_TEST_PROXIED=1", "HTTP_PROXY="+proxy.URL, "NO_PROXY=", "no_proxy=")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	require.Equal(t, "hooks.invalid", asked)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
