package ntfy

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/notify"
	"resumed/internal/notify/notifytest"
	"resumed/internal/notify/remote"
	"resumed/internal/resume"
)

// memory stores values, like the daemon's state.
type memory struct {
	values sync.Map
	puts   atomic.Int64
}

func (m *memory) PutValue(key string, value []byte) {
	m.puts.Add(1)
	if value == nil {
		m.values.Delete(key)
		return
	}
	m.values.Store(key, value)
}

func (m *memory) Value(key string) ([]byte, bool) {
	value, found := m.values.Load(key)
	if !found {
		return nil, false
	}
	return value.([]byte), true
}

// pressed records the orders.
type pressed struct {
	mu     sync.Mutex
	orders []string
	at     time.Time // of the last one
}

func (p *pressed) order(_ context.Context, order notify.Action, key resume.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.at = time.Now()
	p.orders = append(p.orders, fmt.Sprintf("%s %s", order, key.ID))
}

func (p *pressed) all() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string{}, p.orders...)
}

// open creates the service of a URL; transport nil: the default one.
func open(t *testing.T, address string, transport http.RoundTripper) *Service {
	t.Helper()
	u, err := url.Parse(address)
	require.NoError(t, err)
	s, err := New(u, remote.OptionsOf(u), remote.NewClient("ntfy", remote.NewRedactor(u, true), transport))
	require.NoError(t, err)
	return s.(*Service)
}

func withButtons(t *testing.T, server *notifytest.Ntfy, orders *pressed, m *memory) *Service {
	t.Helper()
	s := open(t, server.Topic("alerts"), nil)
	require.NoError(t, s.AnswerBy("answers", "phone", notify.Orders{Order: orders.order, Memory: m}))
	return s
}

// hears makes a channel listen to replies until stop is called.
func hears(t *testing.T, server *notifytest.Ntfy, ch *Service) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() { ch.Listen(ctx, slog.New(slog.DiscardHandler)) })
	stop = sync.OnceFunc(func() { cancel(); done.Wait() })
	t.Cleanup(stop)
	eventually(t, "it listens", func() bool { return server.Listeners("answers") > 0 })
	return stop
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	require.Eventually(t, is, time.Minute, 10*time.Millisecond, what)
}

func TestAButtonSaysThatItIsAPersonsWord(t *testing.T) {
	server := notifytest.NewNtfy(t)
	ch := withButtons(t, server, &pressed{}, &memory{})
	require.NoError(t, ch.send(t.Context(), notifytest.WithoutStart(notify.Parked)))
	require.Equal(t, "Continue with your settings as they are now", server.Got("alerts")[0].Actions[0].Label)
}

func TestAButtonOnThePhoneOrdersOnce(t *testing.T) {
	server, orders := notifytest.NewNtfy(t), &pressed{}
	ch := withButtons(t, server, orders, &memory{})
	hears(t, server, ch)
	require.NoError(t, ch.send(t.Context(), notifytest.Notice(notify.GaveUp, 2)))
	buttons := server.Got("alerts")[0].Actions
	require.Len(t, buttons, 3)
	for i, label := range []string{"Retry now", "Cancel", "Pause"} {
		require.Equal(t, label, buttons[i].Label)
		require.Equal(t, "http", buttons[i].Action)
		require.Equal(t, server.URL+"/answers", buttons[i].URL)
		buttons[i].Press(t)
	}
	want := []string{"retry 0000-9c1e", "retry 0001-9c1e", "cancel 0000-9c1e", "cancel 0001-9c1e", "pause 0000-9c1e", "pause 0001-9c1e"}
	eventually(t, "all is ordered", func() bool { return len(orders.all()) == len(want) })
	require.Equal(t, want, orders.all())

	for _, hostile := range []string{buttons[0].Body, "retry 0000-9c1e", "stop", "", "{}", strings.Repeat("x", 4096), "\x00", strings.ToLower(buttons[1].Body)} {
		notifytest.Post(t, server.URL+"/answers", hostile)
	}
	for range 200 { // a flood
		notifytest.Post(t, server.URL+"/answers", "let me in")
	}
	second := notifytest.Notice(notify.Parked, 1)
	second.ID = "ntc_SECOND"
	require.NoError(t, ch.send(t.Context(), second))
	server.Got("alerts")[1].Actions[2].Press(t)
	eventually(t, "a button is heard behind a flood", func() bool { return len(orders.all()) > len(want) })
	require.Equal(t, append(want, "pause 0000-9c1e"), orders.all(), "nothing else was obeyed")
}

func TestAButtonIsHeardByTheNextDaemon(t *testing.T) {
	server, orders, m := notifytest.NewNtfy(t), &pressed{}, &memory{}
	ch := withButtons(t, server, orders, m)
	stop := hears(t, server, ch)
	require.NoError(t, ch.send(t.Context(), notifytest.Notice(notify.GaveUp, 1)))
	buttons := server.Got("alerts")[0].Actions
	buttons[0].Press(t)
	eventually(t, "it is ordered", func() bool { return len(orders.all()) == 1 })
	stop()
	buttons[1].Press(t)
	hears(t, server, withButtons(t, server, orders, m))
	eventually(t, "what was pressed meanwhile is ordered", func() bool { return len(orders.all()) == 2 })
	require.Equal(t, []string{"retry 0000-9c1e", "cancel 0000-9c1e"}, orders.all(), "and what was ordered before is not ordered again")
	kept, _ := m.Value("notify/service/phone/buttons")
	require.NotContains(t, string(kept), buttons[2].Body, "no token is kept")
}

func TestAStreamThatBreaksIsOpenedAgain(t *testing.T) {
	t.Parallel()
	server, orders := notifytest.NewNtfy(t), &pressed{}
	ch := withButtons(t, server, orders, &memory{})
	hears(t, server, ch)
	require.NoError(t, ch.send(t.Context(), notifytest.Notice(notify.GaveUp, 1)))
	server.CloseClientConnections()
	server.Got("alerts")[0].Actions[0].Press(t)
	eventually(t, "it is ordered all the same", func() bool { return len(orders.all()) == 1 })
}

func TestAButtonThatIsOldOrdersNothing(t *testing.T) {
	b := buttons{memory: &memory{}, key: "k"}
	now := time.Now()
	token := b.offer(notify.RetryNow, []resume.Key{{Agent: "a", ID: "x"}}, now)
	_, open := b.take(token, now.Add(offerLasts+time.Second))
	require.False(t, open)
	for range maxOffers + 10 {
		token = b.offer(notify.Hold, nil, now)
	}
	require.Len(t, b.open(now), maxOffers)
	_, open = b.take(token, now)
	require.True(t, open)
	_, open = b.take(token, now)
	require.False(t, open)
}

func TestButtonsAreOffUntilAskedFor(t *testing.T) {
	server := notifytest.NewNtfy(t)
	s := open(t, server.Topic("alerts"), nil)
	require.NoError(t, s.send(t.Context(), notifytest.Notice(notify.GaveUp, 1)))
	require.Empty(t, server.Got("alerts")[0].Actions)
	s.Listen(t.Context(), slog.New(slog.DiscardHandler)) // returns
}
