package hub

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"resumed/internal/fleet"
	"resumed/internal/fleet/natskv"
)

// stockEnv makes this test binary run as nats-server, with that configuration.
const stockEnv = "HUB_TEST_STOCK"

// runStock does what the main function of nats-server does.
func runStock(file string) int {
	options, err := server.ConfigureOptions(flag.NewFlagSet("nats-server", flag.ExitOnError), []string{"-c", file}, nil, nil, nil)
	if err == nil {
		var s *server.Server
		if s, err = server.NewServer(options); err == nil {
			s.ConfigureLogger()
			err = server.Run(s)
			s.WaitForShutdown()
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// runsStock runs nats-server with the configuration in a hub's directory.
func runsStock(t *testing.T, dir, address string) {
	t.Helper()
	stock := exec.Command(os.Args[0])
	stock.Env = append(os.Environ(), stockEnv+"="+filepath.Join(dir, stockFile))
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	require.NoError(t, err)
	defer log.Close()
	stock.Stderr = log
	require.NoError(t, stock.Start())
	t.Cleanup(func() {
		_ = stock.Process.Kill()
		_ = stock.Wait()
		if text, err := os.ReadFile(log.Name()); err == nil && t.Failed() {
			t.Log(string(text))
		}
	})
	until(t, "it listens", func() bool {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
}

// A stock server also serves machines that have joined with the hub.
func TestAStockServerServesTheFleet(t *testing.T) {
	t.Parallel()
	dir, invitation := newHub(t)
	hub := serve(t, Options{Dir: dir})
	machines := machinesOf(t, invitation)
	require.NoError(t, Remove(dir, "mallory"))
	hub.stop()

	runsStock(t, dir, hub.address)
	require.NoError(t, MakeStreams(t.Context(), dir))
	require.NoError(t, MakeStreams(t.Context(), dir), "it can be asked for again")

	alice, bob := open(t, machines["alice"]), open(t, machines["bob"])
	for range 50 {
		now, err := alice.Now(t.Context())
		require.NoError(t, err, "each heartbeat asks for the time")
		require.WithinDuration(t, time.Now(), now, limit)
	}
	key := fleet.ProbeKey("acct.anthropic")
	rev, err := alice.Update(t.Context(), fleet.Leases, key, []byte("alice"), 0, time.Minute)
	require.NoError(t, err)
	_, err = bob.Update(t.Context(), fleet.Leases, key, []byte("bob"), 0, time.Minute)
	require.ErrorIs(t, err, fleet.ErrConflict, "one has the lease")
	_, err = alice.Update(t.Context(), fleet.Leases, key, []byte("alice"), rev, time.Minute)
	require.NoError(t, err, "who has it renews it")

	for _, subject := range []string{
		"$KV.resumed_view.bob.claude-code.s-1", "$KV.resumed_leases.host.bob", "$KV.resumed_orders.bob.alice.1.ask", "$JS.API.STREAM.DELETE.KV_resumed_accounts",
	} {
		require.ErrorIs(t, trespass(t, machines["alice"], subject, false), nats.ErrPermissionViolation, subject)
	}
	require.ErrorIs(t, trespass(t, machines["alice"], "_INBOX_bob.>", true), nats.ErrPermissionViolation)
	for _, stranger := range []natskv.Options{machines["mallory"], guestOf(t, invitation, "carol", invitation.URL)} {
		_, err = stranger.Dial()
		require.ErrorIs(t, err, nats.ErrAuthorization, stranger.Host)
	}
}

// A stock server protects machines from each other as the hub does: its configuration is read back.
func TestAStockServerProtectsLikeTheHub(t *testing.T) {
	t.Parallel()
	dir, invitation := newHub(t)
	hub := serve(t, Options{Dir: dir})
	machines := machinesOf(t, invitation)
	permitsNothing(t, machines["alice"])
	hub.stop()
	runsStock(t, dir, hub.address)
	guarded, done := make(chan string, 1), make(chan error, 1)
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		done <- Guard(ctx, Options{Dir: dir, Log: slog.New(slog.DiscardHandler), Ready: func(at string) { guarded <- at }})
	}()
	defer func() {
		stop()
		require.NoError(t, <-done)
	}()
	select {
	case <-guarded:
	case err := <-done:
		t.Fatal(err)
	}
	permitsNothing(t, machines["alice"])
	harmless(t, machines)
	flooded(t, machines)

	nc, err := dialStock(dir)
	require.NoError(t, err)
	defer nc.Close()
	js, err := jetstream.New(nc)
	require.NoError(t, err)
	_, err = natskv.Check(t.Context(), machines["alice"])
	require.NoError(t, err)
	views := streams()[2]
	views.AllowRollup = true
	_, err = js.UpdateStream(t.Context(), views)
	require.NoError(t, err)
	_, err = natskv.Check(t.Context(), machines["alice"])
	require.ErrorIs(t, err, natskv.ErrRollup, "a machine sees how its fleet's own server is set up")
	require.NoError(t, makeStreams(t.Context(), nc), "and it is put right")
	permitsNothing(t, machines["alice"])
	cfg := jetstream.StreamConfig{Name: "MARKED", Subjects: []string{"marked"}, SubjectDeleteMarkerTTL: time.Minute, AllowMsgTTL: true}
	_, err = js.CreateStream(t.Context(), cfg)
	require.NoError(t, err)
	require.ErrorContains(t, asAsked(t.Context(), nc, cfg), "allow_rollup_hdrs", "what the server adds by itself is not accepted")
	expires(t, nc, machines)
}

// permitsNothing reads back the streams of a server, as a machine sees them.
func permitsNothing(t *testing.T, o natskv.Options) {
	t.Helper()
	nc, err := o.Dial()
	require.NoError(t, err)
	defer nc.Close()
	js, err := jetstream.New(nc)
	require.NoError(t, err)
	for _, name := range readStreams() {
		stream, err := js.Stream(t.Context(), name)
		require.NoError(t, err)
		is := stream.CachedInfo().Config
		require.False(t, is.AllowRollup || is.AllowAtomicPublish || is.AllowBatchPublish || is.AllowMsgCounter || is.AllowMsgSchedules, "%+v", is)
		require.True(t, is.Mirror == nil && is.Sources == nil && is.SubjectTransform == nil && is.SubjectDeleteMarkerTTL == 0 && !is.MirrorDirect, "%+v", is)
		require.True(t, is.DenyDelete)
		require.Equal(t, jetstream.DiscardNew, is.Discard)
		require.Equal(t, jetstream.LimitsPolicy, is.Retention)
		require.Equal(t, shortestWindow, is.Duplicates)
		require.Positive(t, is.MaxAge)
		require.Positive(t, is.MaxBytes)
		require.Positive(t, is.MaxMsgSize)
	}
}

// expires writes entries that are to be stored without end: no machine reads them, and they are removed
// when everything else of that age is.
func expires(t *testing.T, nc *nats.Conn, machines map[string]natskv.Options) {
	t.Helper()
	js, err := jetstream.New(nc)
	require.NoError(t, err)
	_, err = purge(nc, natskv.StreamOf(fleet.Leases), map[string]any{})
	require.NoError(t, err)
	evil, err := machines["mallory"].Dial()
	require.NoError(t, err)
	defer evil.Close()
	for _, subject := range []string{"$KV.resumed_leases.host.mallory", "$KV.resumed_leases.sess.free.mallory"} {
		_, err := evil.RequestMsg(&nats.Msg{Subject: subject, Header: nats.Header{"Nats-TTL": {"Never"}}, Data: []byte(`{"host":"mallory"}`)}, limit)
		require.NoError(t, err)
	}
	alice := open(t, machines["alice"])
	_, err = alice.Update(t.Context(), fleet.Leases, fleet.SessionKey("free"), []byte("alice's"), 0, 0)
	require.NoError(t, err, "nobody has it")
	hosts, err := alice.List(t.Context(), fleet.Leases, fleet.HostKey(""))
	require.NoError(t, err)
	require.Empty(t, hosts)
	left := func() uint64 {
		stream, err := js.Stream(t.Context(), natskv.StreamOf(fleet.Leases))
		require.NoError(t, err)
		return stream.CachedInfo().State.Msgs
	}
	require.EqualValues(t, 3, left())
	require.NoError(t, sweep(nc, time.Now()))
	require.EqualValues(t, 3, left())
	require.NoError(t, sweep(nc, time.Now().Add(fleet.TTL[fleet.Leases]+time.Minute)))
	require.Zero(t, left())
}
