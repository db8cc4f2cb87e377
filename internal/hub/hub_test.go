package hub

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/fleet"
	"resumed/internal/fleet/fleettest"
	"resumed/internal/fleet/natskv"
)

// limit is how long anything may take on a busy machine.
const limit = time.Minute

// served is a running hub of a test.
type served struct {
	address string
	stop    func()
}

func serve(t *testing.T, o Options) *served {
	t.Helper()
	s := start(t, o)
	s.ready(t)
	return s.served
}

type starting struct {
	*served
	options Options
	name    string
	up      chan string
	ended   chan error
}

func start(t *testing.T, o Options) *starting {
	o.Log = slog.New(slog.DiscardHandler)
	up, ended := make(chan string, 1), make(chan error, 1)
	o.Ready = func(address string) { up <- address }
	ctx, cancel := context.WithCancel(context.Background())
	go func() { ended <- Serve(ctx, o); close(ended) }()
	stop := func() {
		cancel()
		for err := range ended {
			require.NoError(t, err)
		}
	}
	t.Cleanup(stop)
	return &starting{&served{stop: stop}, o, "", up, ended}
}

func (s *starting) ready(t *testing.T) {
	t.Helper()
	select {
	case s.address = <-s.up:
	case err := <-s.ended:
		t.Fatal(err)
	case <-time.After(limit):
		t.Fatal("the hub is not ready")
	}
}

// newHub makes the directory of a hub.
func newHub(t *testing.T) (string, natskv.Invitation) {
	dir := t.TempDir()
	invitation, err := Init(dir, fleettest.Addresses(t, 1)[0], Line{Uses: 200})
	require.NoError(t, err)
	parsed, err := natskv.ParseLine("resumed fleet join " + invitation.Line())
	require.NoError(t, err)
	require.Equal(t, invitation, parsed)
	return dir, invitation
}

// guestOf returns the options of a host that has the join line.
func guestOf(t *testing.T, invitation natskv.Invitation, name, url string) natskv.Options {
	ca := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(ca, invitation.CAText(), 0o600))
	c, err := natskv.NewCredentials()
	require.NoError(t, err)
	c.Key, c.Invitation = invitation.Key, invitation.Seed
	file := filepath.Join(t.TempDir(), "credentials")
	require.NoError(t, os.WriteFile(file, c.Text(), 0o600))
	read, err := natskv.ReadCredentials(file)
	require.NoError(t, err)
	require.Equal(t, c, read)
	return natskv.Options{
		URL: url, CAFile: ca, Host: name, Credentials: c,
		Log: slog.New(slog.DiscardHandler), Within: 30 * time.Second, Changed: func() {}, Refused: func(error) {},
	}
}

// open returns the store of a host that was admitted.
func open(t *testing.T, o natskv.Options) *natskv.Store {
	t.Helper()
	s, err := natskv.Open(o)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	until(t, "it is connected", s.Connected)
	return s
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	require.Eventually(t, ok, limit, 10*time.Millisecond, what)
}

// member returns the options of a host that was admitted.
func member(t *testing.T, invitation natskv.Invitation, name string) natskv.Options {
	t.Helper()
	o := guestOf(t, invitation, name, invitation.URL)
	require.NoError(t, natskv.Register(t.Context(), o))
	return o
}

func joined(t *testing.T, invitation natskv.Invitation, name string) *natskv.Store {
	t.Helper()
	return open(t, member(t, invitation, name))
}

func TestAHubIsAStore(t *testing.T) {
	t.Parallel()
	dir, invitation := newHub(t)
	serve(t, Options{Dir: dir})
	fleettest.Store(t, anyKey{joined(t, invitation, "box")})
}

// anyKey maps the keys of the common tests to names that a host called box may write.
type anyKey struct{ *natskv.Store }

// mine returns where a key is stored: a host may not write any lease that it likes.
func mine(b fleet.Bucket, key string) (fleet.Bucket, string) {
	if b == fleet.Leases {
		return fleet.View, "box." + key
	}
	return b, key
}

func theirs(b fleet.Bucket, e fleet.Entry) fleet.Entry {
	_, prefix := mine(b, "")
	e.Key = strings.TrimPrefix(e.Key, prefix)
	return e
}

func (a anyKey) Get(ctx context.Context, b fleet.Bucket, key string) (fleet.Entry, error) {
	in, own := mine(b, key)
	e, err := a.Store.Get(ctx, in, own)
	if err == nil {
		e = theirs(b, e)
	}
	return e, err
}

func (a anyKey) List(ctx context.Context, b fleet.Bucket, prefix string) ([]fleet.Entry, error) {
	in, own := mine(b, prefix)
	all, err := a.Store.List(ctx, in, own)
	for i := range all {
		all[i] = theirs(b, all[i])
	}
	return all, err
}

func (a anyKey) Update(ctx context.Context, b fleet.Bucket, key string, value []byte, rev uint64, lasts time.Duration) (uint64, error) {
	in, own := mine(b, key)
	return a.Store.Update(ctx, in, own, value, rev, lasts)
}

func (a anyKey) Delete(ctx context.Context, b fleet.Bucket, key string, rev uint64) error {
	in, own := mine(b, key)
	return a.Store.Delete(ctx, in, own, rev)
}

func (a anyKey) Watch(ctx context.Context) (<-chan fleet.Entry, error) {
	in, err := a.Store.Watch(ctx)
	out := make(chan fleet.Entry)
	go func() {
		defer close(out)
		for e := range in {
			select {
			case out <- theirs(fleet.Accounts, e):
			case <-ctx.Done():
			}
		}
	}()
	return out, err
}

func TestWhatIsInitialisedTwiceStays(t *testing.T) {
	t.Parallel()
	dir, first := newHub(t)
	again, err := Init(dir, "", Line{})
	require.NoError(t, err)
	require.Equal(t, first.Line(), again.Line())
	_, err = Init(dir, "127.0.0.1:1", Line{})
	require.ErrorContains(t, err, "choose another directory")
	for _, secret := range []string{settingsFile, caKeyFile} {
		info, err := os.Stat(filepath.Join(dir, secret))
		require.NoError(t, err)
		require.Zero(t, info.Mode().Perm()&0o077, secret)
	}
	require.ErrorContains(t, Serve(t.Context(), Options{Dir: t.TempDir()}), "hub init")
	_, err = Init(t.TempDir(), "nowhere", Line{})
	require.ErrorContains(t, err, "host:port")
}

func TestManyKeysAreListedInPages(t *testing.T) {
	t.Parallel()
	dir, invitation := newHub(t)
	serve(t, Options{Dir: dir})
	s := joined(t, invitation, "box")
	const n = 2500
	for i := range n {
		_, err := s.Update(t.Context(), fleet.View, fmt.Sprintf("box.agent.%d", i), []byte("x"), 0, 0)
		require.NoError(t, err)
	}
	all, err := s.List(t.Context(), fleet.View, "box.")
	require.NoError(t, err)
	require.Len(t, all, n)
	all, err = s.List(t.Context(), fleet.View, "box.agent.24")
	require.NoError(t, err)
	require.Len(t, all, 111, "24, 240…249 and 2400…2499")
}

// A lease expires if it is not written again.
func TestALeaseEnds(t *testing.T) {
	t.Parallel()
	const lasts = 2 * time.Second
	dir, invitation := newHub(t)
	serve(t, Options{Dir: dir})
	s := joined(t, invitation, "box")
	rev, err := s.Update(t.Context(), fleet.Leases, fleet.HostKey("box"), []byte("here"), 0, lasts)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 2*limit)
	defer cancel()
	for err = nil; err == nil; {
		_, err = s.Get(ctx, fleet.Leases, fleet.HostKey("box"))
	}
	require.ErrorIs(t, err, fleet.ErrMissing)
	_, err = s.Update(t.Context(), fleet.Leases, fleet.HostKey("box"), []byte("late"), rev, 0)
	require.ErrorIs(t, err, fleet.ErrConflict)
	_, err = s.Update(t.Context(), fleet.Leases, fleet.HostKey("box"), []byte("again"), 0, 0)
	require.NoError(t, err)
}
