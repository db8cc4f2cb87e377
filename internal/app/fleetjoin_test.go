package app

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/control"
	"resumed/internal/fleet/fleettest"
	"resumed/internal/fleet/natskv"
	"resumed/internal/hub"
	"resumed/internal/resume"
)

// serveHub serves a hub, and writes the files that a host needs to join: ca.pem and credentials.
func (h house) serveHub(t *testing.T) (url string) {
	t.Helper()
	invitation, err := hub.Init(h.path("hub"), fleettest.Addresses(t, 1)[0], hub.Line{})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	ready, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- hub.Serve(ctx, hub.Options{Dir: h.path("hub"), Log: slog.New(slog.DiscardHandler), Ready: func(string) { close(ready) }})
	}()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-ended)
	})
	<-ready
	credentials, err := natskv.NewCredentials()
	require.NoError(t, err)
	credentials.Key, credentials.Invitation = invitation.Key, invitation.Seed
	require.NoError(t, os.WriteFile(h.path("ca.pem"), invitation.CAText(), 0o600))
	require.NoError(t, os.WriteFile(h.path("credentials"), credentials.Text(), 0o600))
	require.NoError(t, natskv.Register(t.Context(), natskv.Options{URL: invitation.URL, Credentials: credentials, CAFile: h.path("ca.pem"), Host: "here"}))
	return invitation.URL
}

// join configures the house as a host of a fleet, with those files in it.
func (h house) join(t *testing.T, url, credentials, ca string) {
	t.Helper()
	h.configure(t, "10ms", "on")
	f, err := os.OpenFile(h.path("config.toml"), os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(t, err)
	_, err = fmt.Fprintf(f, "[resume]\nstagger = \"0s\"\n[fleet]\nurl = %q\ncredentials_file = %q\nca_file = %q\nname = \"here\"\nheartbeat = \"1s\"\n",
		url, h.path(credentials), h.path(ca))
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

// Other machines see a shared home, too. If their fleet is configured and cannot be joined, it is not
// known whether one of them continues a session there: the session waits, and its reason says why.
// Sessions of only this machine continue.
func TestASessionInASharedHomeWaitsUntilItsFleetIsJoined(t *testing.T) {
	h := newHouse(t)
	h.network = func(path string) string {
		if strings.Contains(path, "shared") {
			return "nfs4"
		}
		return ""
	}
	url := h.serveHub(t)
	h.join(t, url, "missing", "ca.pem")
	d := h.run(t)
	stands := func(state, why string) {
		t.Helper()
		d.until(t, func(d control.Daemon) bool {
			return d.Fleet != nil && d.Fleet.State == state && strings.Contains(d.Fleet.Why, why)
		})
	}
	waits := func(session, why string) {
		t.Helper()
		h.write(t, session, "step 1\nrate limited\n")
		held := d.awaitStep(t, session, func(c resume.Change) bool {
			_, notSent := c.Event.(resume.NotSent)
			return notSent || c.After.State == resume.Settling || len(c.After.Past) > 0
		}).After
		require.Equal(t, resume.Waiting, held.State, "it is not resumed")
		require.Contains(t, held.Reason.Text, "other machines can see it too, and this host is not in its fleet: ")
		require.Contains(t, held.Reason.Text, why)
		require.Contains(t, held.Reason.Text, "tried again each minute")
		require.NotContains(t, h.transcript(t, session), "step on")
	}
	continues := func(session string) {
		t.Helper()
		_, err := d.client.Do(t.Context(), session, control.Retry)
		require.NoError(t, err)
		d.awaitStep(t, session, resume.Change.Given)
		d.await(t, session, resume.Watching)
		require.Contains(t, h.transcript(t, session), "step on")
	}
	stands("alone", h.path("missing")+" does not exist")
	waits("shared-1", h.path("missing")+" does not exist")
	h.write(t, "local-1", "step 1\nrate limited\n")
	d.await(t, "local-1", resume.Watching)

	require.NoError(t, os.Link(h.path("credentials"), h.path("missing")))
	d.reload <- syscall.SIGHUP
	stands("connected", "")
	continues("shared-1")

	h.join(t, url, "missing", "nonsense.pem")
	d.reload <- syscall.SIGHUP
	stands("alone", "nonsense.pem does not exist")
	waits("shared-2", "nonsense.pem does not exist")
	h.write(t, "local-2", "step 1\nrate limited\n")
	d.await(t, "local-2", resume.Watching)

	h.join(t, url, "credentials", "ca.pem")
	d.reload <- syscall.SIGHUP
	stands("connected", "")
	continues("shared-2")
}

// Files that do not answer, for example on a network that is down, are not waited for forever: sessions
// of only this machine would wait too, and the daemon could not stop.
func TestKeysThatDoNotAnswerHoldUpNothing(t *testing.T) {
	h := newHouse(t)
	require.NoError(t, syscall.Mkfifo(h.path("ca.pem"), 0o600))
	h.join(t, "tls://127.0.0.1:1", "credentials", "ca.pem")
	d := h.run(t)
	h.write(t, "local-1", "step 1\nrate limited\n")
	d.awaitStep(t, "local-1", func(c resume.Change) bool { return strings.Contains(c.After.Reason.Text, "still joining its fleet") })
	d.stop()
	writer, err := os.OpenFile(h.path("ca.pem"), os.O_RDWR, 0) // ends the reads that still wait, and does not wait for one itself
	require.NoError(t, err)
	require.NoError(t, writer.Close())
}
