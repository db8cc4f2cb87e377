package ntfy

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/notify"
	"resumed/internal/notify/notifytest"
	"resumed/internal/resume"
)

// diary is a log that is read while it is written.
type diary struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (d *diary) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.text.Write(p)
}

func (d *diary) count(words string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return strings.Count(d.text.String(), words)
}

const (
	dropped  = "a reply was dropped"
	notHeard = "replies are not heard"
	again    = "replies are heard again"
)

// phone is a channel to a server, and the orders of its buttons.
type phone struct {
	*Service
	server string
	orders pressed
	log    diary
}

// newPhone listens until the test ends; login is the part before the host, if any.
func newPhone(t *testing.T, server, login string) *phone {
	t.Helper()
	p := &phone{server: server}
	p.Service = open(t, "ntfy://"+login+strings.TrimPrefix(server, "http://")+"/alerts?scheme=http", nil)
	require.NoError(t, p.AnswerBy("answers", "phone", notify.Orders{Order: p.orders.order, Memory: &memory{}}))
	ctx, cancel := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() { p.Listen(ctx, slog.New(slog.NewTextHandler(&p.log, nil))) })
	t.Cleanup(func() { cancel(); done.Wait() })
	return p
}

// shows sends a notice, and returns the message that the phone gets.
func (p *phone) shows(t *testing.T, n notify.Notice, token string) notifytest.NtfyMessage {
	t.Helper()
	require.NoError(t, p.send(t.Context(), n))
	all := notifytest.Poll(t, p.server, "alerts", token)
	return all[len(all)-1]
}

func (p *phone) ordered(t *testing.T, want ...string) {
	t.Helper()
	eventually(t, want[len(want)-1], func() bool { return len(p.orders.all()) >= len(want) })
	require.Equal(t, want, p.orders.all())
}

// What the daemon relies on is true for the server of the tests, and for the real one.
func TestNtfyShowsANoticeWhoseButtonsCountOnce(t *testing.T) {
	for name, start := range map[string]func(*testing.T) string{
		"stand-in": func(t *testing.T) string { return notifytest.NewNtfy(t).Server.URL },
		"ntfy":     func(t *testing.T) string { return notifytest.NewRealNtfy(t).URL },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPhone(t, start(t), "")
			n := notifytest.Notice(notify.GaveUp, 1)
			n.Title = `sköp: "Claude Code" gave up; 2 tries, ✂ · =`
			n.Text = strings.Repeat("ÿ", 5000)
			seen := p.shows(t, n, "")
			require.Equal(t, n.Title, seen.Title)
			require.Equal(t, strings.Repeat("ÿ", 1998)+"…", seen.Message, "a long text is cut, not refused")
			require.Len(t, seen.Actions, 3)
			for i, label := range []string{"Retry now", "Cancel", "Pause"} {
				b := seen.Actions[i]
				require.Equal(t, []string{label, "http", http.MethodPost, p.server + "/answers"}, []string{b.Label, b.Action, b.Method, b.URL})
			}
			seen.Actions[0].Press(t)
			p.ordered(t, "retry 0000-9c1e")

			seen.Actions[0].Press(t) // again
			for _, forged := range []string{"retry 0000-9c1e", strings.ToLower(seen.Actions[1].Body), `{"order":"retry"}`} {
				notifytest.Post(t, p.server+"/answers", forged)
			}
			seen.Actions[2].Press(t)
			p.ordered(t, "retry 0000-9c1e", "pause 0000-9c1e")
			require.Equal(t, 4, p.log.count(dropped), "each is told")

			n.ID, n.Sessions = "ntc_SECOND", notifytest.Notice(notify.Parked, 2).Sessions
			p.shows(t, n, "").Actions[1].Press(t)
			p.ordered(t, "retry 0000-9c1e", "pause 0000-9c1e", "cancel 0000-9c1e", "cancel 0001-9c1e")
		})
	}
}

// After a restart the server's stream is read again, and buttons that were pressed count.
func TestButtonsOutliveARestartOfNtfy(t *testing.T) {
	t.Parallel()
	server := notifytest.NewRealNtfy(t)
	p := newPhone(t, server.URL, "")
	seen := p.shows(t, notifytest.Notice(notify.GaveUp, 1), "")
	seen.Actions[2].Press(t)
	p.ordered(t, "pause 0000-9c1e")
	server.Stop()
	eventually(t, "it is told that nothing is heard", func() bool { return p.log.count(notHeard) == 1 })
	require.Error(t, p.send(t.Context(), notifytest.Notice(notify.Parked, 1)))
	server.Start(t)
	seen.Actions[0].Press(t) // the stream is not open yet
	p.ordered(t, "pause 0000-9c1e", "retry 0000-9c1e")
	require.Equal(t, 1, p.log.count(again))
	require.Zero(t, p.log.count(dropped), "what was heard before is not heard again")
}

// A private server allows only what the phone must write. A token is used as a password without a user.
func TestNtfyWithAccessControl(t *testing.T) {
	t.Parallel()
	const token, hash = "tk_3gd7d2yftt4b8ixyfe9mnmro88o76", "$2a$10$rVOl2Hr/tt.pGbc5K1qPvOtJRr19lGXu8QTJzn7qCdLavxeaV5XVa"
	server := notifytest.NewRealNtfy(t, "--auth-file", t.TempDir()+"/auth.db", "--auth-default-access", "deny-all",
		"--auth-users", "ann:"+hash+":user", "--auth-tokens", "ann:"+token,
		"--auth-access", "ann:alerts:read-write,ann:answers:read-only,everyone:answers:write-only")
	for _, login := range []string{"ann:pw-of-ann@", ":" + token + "@"} {
		p := newPhone(t, server.URL, login)
		seen := p.shows(t, notifytest.Notice(notify.GaveUp, 1), token)
		require.Equal(t, server.URL+"/answers", seen.Actions[0].URL, "without what opens the server")
		seen.Actions[0].Press(t)
		p.ordered(t, "retry 0000-9c1e")
	}
	for _, login := range []string{"", "ann:wrong@", ":tk_wrong@"} {
		p := newPhone(t, server.URL, login)
		err := p.send(t.Context(), notifytest.Notice(notify.GaveUp, 1))
		final := notify.IsFinal(err)
		require.True(t, final, "%q is refused, not: %v", login, err)
		eventually(t, "that nothing is heard is told", func() bool { return p.log.count(notHeard) == 1 })
	}
}

// asked is a server without a network.
type asked func(*http.Request) *http.Response

func (a asked) RoundTrip(r *http.Request) (*http.Response, error) { return a(r), nil }

func answering(status int, retryAfter, body string) *http.Response {
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Header: http.Header{"Retry-After": {retryAfter}}, Body: io.NopCloser(strings.NewReader(body))}
}

// listenFor makes a phone listen to such a server for a time.
func listenFor(t *testing.T, lasts time.Duration, server asked) *phone {
	t.Helper()
	var m memory
	m.PutValue("notify/service/phone/buttons/last", []byte("ofAnother"))
	return listenWith(t, &m, lasts, server)
}

func listenWith(t *testing.T, m *memory, lasts time.Duration, server asked) *phone {
	t.Helper()
	p := &phone{Service: open(t, "ntfy://ntfy.sh/alerts", server)}
	require.NoError(t, p.AnswerBy("answers", "phone", notify.Orders{Order: p.orders.order, Memory: m}))
	ctx, cancel := context.WithTimeout(t.Context(), lasts)
	defer cancel()
	p.Listen(ctx, slog.New(slog.NewTextHandler(&p.log, nil)))
	return p
}

const opened = `{"id":"abcdefghijkl","time":1,"event":"open","topic":"answers"}` + "\n"

// A server that refuses is tried less and less often, and not before it allows it.
func TestAServerThatRefusesIsNotPressed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		requests := 0
		p := listenFor(t, 24*time.Hour, func(*http.Request) *http.Response { requests++; return answering(429, "", "") })
		require.InDelta(t, 24*12, requests, 80)
		require.Equal(t, 1, p.log.count(notHeard))
	})
	synctest.Test(t, func(t *testing.T) {
		requests := 0
		listenFor(t, 100*time.Minute, func(*http.Request) *http.Response { requests++; return answering(429, "1800", "") })
		require.Equal(t, 4, requests)
	})
}

// A proxy that ends every stream does not cause a flood of warnings, and an outage after one that was
// logged is logged again.
func TestAStreamThatEndsOftenIsToldNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := listenFor(t, time.Hour, func(*http.Request) *http.Response { return answering(200, "", opened) })
		require.LessOrEqual(t, p.log.count(notHeard), 6)
		require.LessOrEqual(t, p.log.count(again), 6)
		require.NotZero(t, p.log.count(again))
	})
	synctest.Test(t, func(t *testing.T) {
		requests := 0
		p := listenFor(t, 5*time.Minute, func(*http.Request) *http.Response {
			if requests++; requests <= 2 {
				return answering(200, "", opened)
			}
			return answering(503, "", "")
		})
		require.Equal(t, 2, p.log.count(notHeard))
	})
}

// Another server does not know the ids of the first one: it is asked for all its messages.
func TestAnotherServerIsAskedAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var since []string
		listenFor(t, 5*time.Second, func(r *http.Request) *http.Response {
			if since = append(since, r.URL.Query().Get("since")); len(since) == 1 {
				return answering(400, "", "")
			}
			return answering(200, "", opened)
		})
		require.Equal(t, []string{"ofAnother", "all"}, since[:2])
	})
}

// A flood of invalid replies is logged, and does not fill the log.
func TestAFloodOfRepliesDoesNotFillTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := listenFor(t, 90*time.Minute, func(*http.Request) *http.Response {
			return answering(200, "", strings.Repeat(`{"id":"","event":"message","message":"let me in"}`+"\n", 10))
		})
		require.Equal(t, 2*dropsLogged, p.log.count(dropped))
		require.Equal(t, 2, p.log.count("more replies were dropped"))
		require.Empty(t, p.orders.all())
	})
}

// A button press behind thousands of invalid replies is handled at once. They cause no write each, and
// are not read again when the stream restarts.
func TestAFloodOfRepliesDoesNotDelayATap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const junk = 3000
		var m memory
		var body strings.Builder
		for i := range junk {
			fmt.Fprintf(&body, `{"id":"junk%08d","event":"message","message":"JUNKJUNKJUNKJUNKJUNKJUNKJU"}`+"\n", i)
		}
		b := buttons{memory: &m, key: "notify/service/phone/buttons"}
		fmt.Fprintf(&body, `{"id":"aaaaaaaaaaaa","event":"message","message":%q}`+"\n", b.offer(notify.Hold, []resume.Key{{ID: "s"}}, time.Now()))
		fmt.Fprintf(&body, `{"id":"bbbbbbbbbbbb","event":"message","message":"junk"}`+"\n")
		m.puts.Store(0)

		var since []string
		began := time.Now()
		p := listenWith(t, &m, time.Minute+30*time.Second, func(r *http.Request) *http.Response {
			if since = append(since, r.URL.Query().Get("since")); len(since) > 1 {
				return answering(503, "", "")
			}
			return answering(200, "", body.String())
		})
		require.Equal(t, []string{"pause s"}, p.orders.all(), "the tap alone is obeyed")
		require.Less(t, p.orders.at.Sub(began), time.Second)
		require.LessOrEqual(t, m.puts.Load(), int64(3), "the button that was used, how far was read with it, and at the end of the stream")
		require.Equal(t, []string{"all", "bbbbbbbbbbbb"}, since[:2])
	})
}

// ntfy sends messages twice that arrive while a stream begins: that is not an error.
func TestAReplyThatIsToldTwiceIsOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := listenFor(t, time.Minute, func(*http.Request) *http.Response {
			return answering(200, "", strings.Repeat(`{"id":"abcdefghijkl","event":"message","message":"let me in"}`+"\n", 2))
		})
		require.Equal(t, 1, p.log.count(dropped))
	})
}

// If a server is down for long, the buttons of earlier notices stay valid, and a notice that is sent
// again has the buttons of its first try.
func TestTriesOfANoticeShareItsButtons(t *testing.T) {
	server := notifytest.NewNtfy(t)
	p := newPhone(t, server.Server.URL, "")
	first := p.shows(t, notifytest.Notice(notify.GaveUp, 1), "")

	n := notifytest.Notice(notify.Parked, 1)
	n.ID = "ntc_SECOND"
	offered := make(map[string]bool)
	down := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		offered[r.Header.Get("Actions")] = true
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer down.Close()
	p.Service.server.Host = down.Listener.Addr().String()
	for range maxOffers {
		require.Error(t, p.send(t.Context(), n))
	}
	kinds := len(offered) // otherwise all of them would be printed
	require.Equal(t, 1, kinds)
	first.Actions[0].Press(t)
	p.ordered(t, "retry 0000-9c1e")
}
