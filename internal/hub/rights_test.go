package hub

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"resumed/internal/fleet"
	"resumed/internal/fleet/natskv"
)

// A compromised host can make others wait, and nothing else.
func TestAHostCannotDoWhatIsNotItsOwn(t *testing.T) {
	t.Parallel()
	dir, invitation := newHub(t)
	serve(t, Options{Dir: dir})
	refused := make(chan error, 100)
	o := guestOf(t, invitation, "mallory", invitation.URL)
	o.Refused = func(err error) { refused <- err }
	require.NoError(t, natskv.Register(t.Context(), o))
	mallory, alice := open(t, o), joined(t, invitation, "alice")

	write := func(s *natskv.Store, b fleet.Bucket, key string) error {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		done := make(chan error, 1)
		go func() { _, err := s.Update(ctx, b, key, []byte("x"), 0, 0); done <- err }()
		select {
		case err := <-done:
			return err
		case err := <-refused:
			cancel()
			<-done
			return err
		}
	}
	for key, b := range map[string]fleet.Bucket{
		fleet.HostKey("mallory"): fleet.Leases, fleet.ProbeKey("acct.anthropic"): fleet.Leases, fleet.SessionKey("hash"): fleet.Leases,
		fleet.NotifierKey: fleet.Leases, "acct.anthropic": fleet.Accounts, "mallory.claude-code.s-1": fleet.View,
	} {
		require.NoError(t, write(mallory, b, key), key)
	}
	require.NoError(t, write(alice, fleet.View, "alice.claude-code.s-1"))
	for key, b := range map[string]fleet.Bucket{
		fleet.HostKey("alice"): fleet.Leases, "alice.claude-code.s-2": fleet.View, "other": fleet.Leases, "malloryx.claude-code.s-1": fleet.View,
	} {
		require.ErrorIs(t, write(mallory, b, key), nats.ErrPermissionViolation, key)
	}
	seen, err := mallory.Get(t.Context(), fleet.View, "alice.claude-code.s-1")
	require.NoError(t, err, "what is shared is seen")
	require.Equal(t, "x", string(seen.Value))

	for _, subject := range []string{
		"$JS.API.STREAM.DELETE.KV_resumed_accounts", "$JS.API.STREAM.PURGE.KV_resumed_accounts", "$JS.API.STREAM.UPDATE.KV_resumed_accounts",
		"$JS.API.STREAM.CREATE.OTHER", "$JS.API.STREAM.MSG.DELETE.KV_resumed_view", "$JS.API.CONSUMER.CREATE.KV_resumed_view",
		"$JS.API.CONSUMER.DELETE.RESUMED_NOTICES.notifier", "resumed.v1.acct.acct.anthropic", "resumed.v1.view.alice.x", "_INBOX_alice.x", "$SYS.REQ.SERVER.PING",
		"$KV.resumed_orders.alice.bob.1.ask", "resumed.v1.order.alice.bob.1.ask", "resumed.v1.notice.alice.1", "resumed.v1.notice.mallory",
		"$KV.resumed_accounts.acct.anthropic", "$KV.resumed_accounts.acct.anthropic.alice", "$KV.resumed_accounts.owner.h.alice",
	} {
		require.ErrorIs(t, trespass(t, o, subject, false), nats.ErrPermissionViolation, subject)
	}
	for _, subject := range []string{">", "_INBOX_alice.>", "resumed.v1.order.>", "resumed.v1.order.*.alice.>", "resumed.v1.notice.alice", "resumed.v1.join", "$KV.>", "_R_.>"} {
		require.ErrorIs(t, trespass(t, o, subject, true), nats.ErrPermissionViolation, subject)
	}
}

// trespass tries a subject and returns what the server says.
func trespass(t *testing.T, o natskv.Options, subject string, listen bool) error {
	t.Helper()
	said := make(chan error, 10)
	nc, err := o.Dial(nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { said <- err }))
	require.NoError(t, err)
	defer nc.Close()
	if listen {
		_, err = nc.SubscribeSync(subject)
	} else {
		err = nc.Publish(subject, []byte("{}"))
	}
	require.NoError(t, err)
	select {
	case err := <-said:
		return err
	case <-time.After(limit):
		return errors.New("nothing was said")
	}
}

func TestANameBelongsToWhoCameFirst(t *testing.T) {
	t.Parallel()
	dir, invitation := newHub(t)
	serve(t, Options{Dir: dir})
	first, second := guestOf(t, invitation, "box", invitation.URL), guestOf(t, invitation, "box", invitation.URL)
	require.NoError(t, natskv.Register(t.Context(), first))
	require.NoError(t, natskv.Register(t.Context(), first), "asking again changes nothing")
	err := natskv.Register(t.Context(), second)
	_, why := errors.AsType[*natskv.RefusedError](err)
	require.True(t, why, err)
	require.ErrorContains(t, err, "--name")
	second.Host = "a/b"
	require.ErrorContains(t, natskv.Register(t.Context(), second), "letters")
	second.Credentials.Invitation = make([]byte, keySize)
	second.Host = "other"
	require.ErrorContains(t, natskv.Register(t.Context(), second), "the line no longer works")
}

// A removed host still has its line, and tries to join again.
func TestAHostThatIsRemovedStaysOut(t *testing.T) {
	t.Parallel()
	dir, invitation := newHub(t)
	hub := serve(t, Options{Dir: dir})
	mine := guestOf(t, invitation, "box", invitation.URL)
	mine.Within = 10 * time.Millisecond
	require.NoError(t, natskv.Register(t.Context(), mine))
	box, other := open(t, mine), joined(t, invitation, "other")

	require.ErrorContains(t, Remove(dir, "nobody"), "box, other")
	require.ErrorContains(t, Remove(dir, "../"+strings.TrimSuffix(settingsFile, ".json")), "no host")
	require.NoError(t, Remove(dir, "box"))
	refused := func() bool { return !box.Connected() && errors.Is(box.LastError(), natskv.ErrUnknownHost) }
	until(t, "it is disconnected and refused", refused)
	require.ErrorContains(t, natskv.Register(t.Context(), mine), "the line no longer works")
	require.True(t, other.Connected(), "the others stay")

	hub.stop()
	serve(t, Options{Dir: dir})
	until(t, "the others come back", other.Connected)
	next, err := Init(dir, "", Line{})
	require.NoError(t, err)
	require.NoError(t, natskv.Register(t.Context(), guestOf(t, next, "box", next.URL)), "its name is free")
	until(t, "it is refused by a hub that begins anew", refused)
	again, err := Init(dir, "", Line{})
	require.NoError(t, err)
	require.Equal(t, next, again, "the line of now is printed")
	again, err = Renew(dir, Line{Uses: 1})
	require.NoError(t, err)
	require.ErrorContains(t, natskv.Register(t.Context(), guestOf(t, next, "late", next.URL)), "the line no longer works")
	require.NoError(t, natskv.Register(t.Context(), guestOf(t, again, "late", again.URL)))
}

// A line admits the hosts that the operator allowed, and not more.
func TestALineIsUsedUp(t *testing.T) {
	t.Parallel()
	dir, _ := newHub(t)
	serve(t, Options{Dir: dir})
	register := func(i natskv.Invitation, name string) error {
		return natskv.Register(t.Context(), guestOf(t, i, name, i.URL))
	}
	named, err := Invite(dir, Line{Names: []string{"laptop", "desk"}})
	require.NoError(t, err)
	twice, err := Invite(dir, Line{Uses: 2})
	require.NoError(t, err)
	require.ErrorContains(t, register(named, "other"), "hub invite other")
	require.NoError(t, register(named, "laptop"))
	require.NoError(t, register(twice, "desk"))
	require.ErrorContains(t, register(named, "desk"), "is there already")

	host := guestOf(t, twice, "last", twice.URL)
	require.NoError(t, natskv.Register(t.Context(), host))
	require.ErrorContains(t, register(twice, "more"), "the line no longer works")
	open(t, host) // a host that was admitted needs no line

	known, err := Known(dir)
	require.NoError(t, err)
	var names []string
	for _, m := range known.Machines {
		names = append(names, m.Name)
	}
	require.Equal(t, []string{"desk", "laptop", "last"}, names)
	require.Equal(t, []Line{{Uses: 200}, {Names: []string{"desk"}}}, known.Lines)
	_, err = Invite(dir, Line{Names: []string{"a/b"}})
	require.ErrorContains(t, err, "letters")
	_, err = Invite(dir, Line{Uses: -1})
	require.ErrorContains(t, err, "--uses 1")
}

// A host may join before there is a hub, and is admitted when the hub starts.
func TestAHostThatWasEarlyIsLetIn(t *testing.T) {
	t.Parallel()
	dir, invitation := newHub(t)
	o := guestOf(t, invitation, "box", invitation.URL)
	o.Within = 10 * time.Millisecond
	require.Error(t, natskv.Register(t.Context(), o))
	s, err := natskv.Open(o)
	require.NoError(t, err)
	defer s.Close()
	_, err = s.Update(t.Context(), fleet.Accounts, "a.x", nil, 0, 0)
	require.Error(t, err)
	require.NotErrorIs(t, err, fleet.ErrConflict)
	hub := serve(t, Options{Dir: dir})
	until(t, "it is let in", s.Connected)
	rev, err := s.Update(t.Context(), fleet.Accounts, "a.x", []byte("kept"), 0, 0)
	require.NoError(t, err)

	hub.stop()
	until(t, "the loss is seen", func() bool { return !s.Connected() })
	serve(t, Options{Dir: dir})
	until(t, "it comes back", s.Connected)
	e, err := s.Get(t.Context(), fleet.Accounts, "a.x")
	require.NoError(t, err, "accounts outlive the hub")
	require.Equal(t, rev, e.Rev)
}

func TestAHostAsksAnother(t *testing.T) {
	t.Parallel()
	dir, invitation := newHub(t)
	serve(t, Options{Dir: dir})
	alice, bob := joined(t, invitation, "alice"), joined(t, invitation, "bob")
	_, err := alice.SendOrder(t.Context(), "bob", []byte("x"))
	require.ErrorIs(t, err, natskv.ErrNobody)
	_, err = bob.Update(t.Context(), fleet.Leases, fleet.HostKey("bob"), nil, 0, 0)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- bob.Orders(ctx, func(_ context.Context, from string, order []byte) []byte {
			return fmt.Appendf(nil, "done for %s: %s", from, order)
		})
	}()
	until(t, "it answers", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second) // it may not be subscribed yet
		defer cancel()
		answer, err := alice.SendOrder(ctx, "bob", []byte("retry"))
		return err == nil && string(answer) == "done for alice: retry"
	})
	_, err = alice.SendOrder(t.Context(), "bob.x", []byte("retry"))
	require.ErrorIs(t, err, natskv.ErrNobody)
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
}

// A client that connects again and again must not cause a read of the files of all machines.
func TestAConnectionCostsNoLookAtOtherHosts(t *testing.T) {
	t.Parallel()
	dir, invitation := newHub(t)
	serve(t, Options{Dir: dir})
	box := member(t, invitation, "box")
	require.NoError(t, syscall.Mkfifo(hostFile(dir, "other"), 0o600)) // reading it would block forever
	open(t, box)
	stranger := guestOf(t, invitation, "stranger", invitation.URL)
	_, err := stranger.Dial(nats.NoReconnect())
	require.ErrorIs(t, err, nats.ErrAuthorization)
}

// The hub counts a machine while the operator creates a line, and neither change is lost.
func TestLinesAreChangedOneAfterTheOther(t *testing.T) {
	t.Parallel()
	dir, invitation := newHub(t)
	serve(t, Options{Dir: dir})
	const n = 20
	var (
		both  sync.WaitGroup
		all   atomic.Bool // all have joined
		lines int
	)
	both.Go(func() {
		defer all.Store(true)
		for i := range n {
			if err := natskv.Register(t.Context(), guestOf(t, invitation, fmt.Sprint("h", i), invitation.URL)); err != nil {
				t.Error(err)
			}
		}
	})
	both.Go(func() {
		for ; !all.Load() && lines < 1000; lines++ {
			if _, err := Invite(dir, Line{Uses: 1}); err != nil {
				t.Error(err)
			}
		}
	})
	both.Wait()
	known, err := Known(dir)
	require.NoError(t, err)
	require.Len(t, known.Machines, n)
	require.Len(t, known.Lines, 1+lines)
	require.Equal(t, 200-n, known.Lines[0].Uses)
}
