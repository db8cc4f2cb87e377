package hub

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"resumed/internal/fleet"
	"resumed/internal/fleet/natskv"
)

// ask publishes a request as a user of the hub, with a chosen reply subject, and waits until the server
// has processed it.
func ask(t *testing.T, nc *nats.Conn, subject, reply string, data []byte) {
	t.Helper()
	require.NoError(t, nc.PublishRequest(subject, reply, data))
	require.NoError(t, nc.FlushTimeout(limit))
}

// The server publishes an answer to any reply subject. The holder of a join line must not be able to
// delete a stream that way.
func TestAGuestCannotOrderByAReplySubject(t *testing.T) {
	t.Parallel()
	dir, invitation := newHub(t)
	serve(t, Options{Dir: dir})
	box := joined(t, invitation, "box")
	_, err := box.Update(t.Context(), fleet.Accounts, "a.x", []byte("kept"), 0, 0)
	require.NoError(t, err)

	o := guestOf(t, invitation, "mallory", invitation.URL)
	guest := dialGuest(t, o)
	for _, stream := range []string{"KV_resumed_accounts", "KV_resumed_leases", "KV_resumed_view", "RESUMED_NOTICES"} {
		request, err := json.Marshal(natskv.Request{Name: "mallory", Key: o.Credentials.Public()})
		require.NoError(t, err)
		ask(t, guest, "resumed.v1.join."+visitor(t, o).Credentials.Public(), "$JS.API.STREAM.DELETE."+stream, request)
	}
	require.NoError(t, natskv.Register(t.Context(), o), "the hub has answered all of them by now")
	_, err = box.Get(t.Context(), fleet.Accounts, "a.x")
	require.NoError(t, err, "the streams are there")
	for _, b := range []fleet.Bucket{fleet.Accounts, fleet.Leases, fleet.View} {
		_, err := box.List(t.Context(), b, "")
		require.NoError(t, err, b)
	}
}

// If a member reads its own view, the hub publishes the answer. With a chosen reply subject that must
// not write the keys of another host, nor send something in the hub's name, nor create a stream that
// receives everything.
func TestAMemberCannotWriteByAReplySubject(t *testing.T) {
	t.Parallel()
	dir, invitation := newHub(t)
	serve(t, Options{Dir: dir})
	alice := joined(t, invitation, "alice")
	rev, err := alice.Update(t.Context(), fleet.Leases, fleet.HostKey("alice"), []byte("alice's"), 0, 0)
	require.NoError(t, err)

	o := member(t, invitation, "mallory")
	mallory := open(t, o)
	stream := `{"name":"SPY","subjects":["resumed.v1.order.>"]}`
	_, err = mallory.Update(t.Context(), fleet.View, "mallory.x.1", []byte(stream), 0, 0)
	require.NoError(t, err)
	orders := make(chan string, 100)
	go func() {
		_ = alice.Orders(t.Context(), func(_ context.Context, from string, order []byte) []byte {
			orders <- fmt.Sprintf("%s: %s", from, order)
			return nil
		})
	}()
	until(t, "alice is asked", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second) // it may not be subscribed yet
		defer cancel()
		_, err := mallory.SendOrder(ctx, "alice", []byte("first"))
		return err == nil
	})
	nc, err := o.Dial()
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	const own = "$JS.API.DIRECT.GET.KV_resumed_view.$KV.resumed_view.mallory.x.1"
	for _, reply := range []string{
		"$KV.resumed_leases.host.alice", "$JS.API.STREAM.CREATE.SPY", "$JS.API.STREAM.PURGE.KV_resumed_leases",
		"resumed.v1.lease.host.alice", "$KV.resumed_orders.bob.alice.1.ask", "resumed.v1.order.bob.alice.1.ask",
	} {
		ask(t, nc, own, reply, nil)
	}
	_, err = mallory.SendOrder(t.Context(), "alice", []byte("last"))
	require.NoError(t, err)
	for said := range orders {
		if said == "mallory: last" {
			break
		}
		require.Equal(t, "mallory: first", said, "nothing was forged in between")
	}
	e, err := alice.Get(t.Context(), fleet.Leases, fleet.HostKey("alice"))
	require.NoError(t, err)
	require.Equal(t, "alice's", string(e.Value))
	require.Equal(t, rev, e.Rev)
	made, err := filepath.Glob(filepath.Join(dir, dataDir, "jetstream", "*", "streams", "SPY"))
	require.NoError(t, err)
	require.Empty(t, made, "no stream of its own")
}

// dialGuest connects with only the join line.
func dialGuest(t *testing.T, o natskv.Options) *nats.Conn {
	t.Helper()
	nc, err := visitor(t, o).Dial(nats.NoReconnect(), nats.Timeout(10*time.Second))
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	return nc
}

// visitor returns the options of the holder of a join line.
func visitor(t *testing.T, o natskv.Options) natskv.Options {
	t.Helper()
	guest, err := o.AsApplicant()
	require.NoError(t, err)
	return guest
}
