package hub

import (
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
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

// A stock server also serves machines that have joined with the hub.
func TestAStockServerServesTheFleet(t *testing.T) {
	t.Parallel()
	dir, invitation := newHub(t)
	hub := serve(t, Options{Dir: dir})
	machines := make(map[string]natskv.Options)
	for _, name := range []string{"alice", "bob", "gone"} {
		machines[name] = guestOf(t, invitation, name, invitation.URL)
		require.NoError(t, natskv.Register(t.Context(), machines[name]))
	}
	require.NoError(t, Remove(dir, "gone"))
	hub.stop()

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
		conn, err := net.Dial("tcp", hub.address)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
	require.NoError(t, MakeStreams(t.Context(), dir))
	require.NoError(t, MakeStreams(t.Context(), dir), "it can be asked for again")

	alice, bob := open(t, machines["alice"]), open(t, machines["bob"])
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
	for _, stranger := range []natskv.Options{machines["gone"], guestOf(t, invitation, "carol", invitation.URL)} {
		_, err = stranger.Dial()
		require.ErrorIs(t, err, nats.ErrAuthorization, stranger.Host)
	}
}
