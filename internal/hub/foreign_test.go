package hub

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/require"

	"resumed/internal/fleet"
	"resumed/internal/fleet/natskv"
)

// mallory is a compromised host: it sends what no daemon would send.
func mallory(t *testing.T, invitation natskv.Invitation) *nats.Conn {
	t.Helper()
	o := member(t, invitation, "mallory")
	nc, err := o.Dial()
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	return nc
}

// Only what the server adds to an entry counts, not what its writer added.
func TestAHeaderOfAHostIsNotTheServers(t *testing.T) {
	t.Parallel()
	dir, invitation := newHub(t)
	serve(t, Options{Dir: dir})
	alice, nc := joined(t, invitation, "alice"), mallory(t, invitation)
	for _, key := range []string{"alice.bot.1", "alice.bot.3"} {
		_, err := alice.Update(t.Context(), fleet.View, key, []byte("{}"), 0, 0)
		require.NoError(t, err)
	}
	for name, header := range map[string]nats.Header{
		"a revision":            {"Nats-Sequence": {"x"}},
		"an error":              {"Status": {"503"}},
		"the end":               {"Status": {"204"}, "Nats-Last-Sequence": {"9"}, "Nats-Num-Pending": {"0"}},
		"that nothing is there": {"Status": {"404"}},
		"another host's key":    {"Nats-Subject": {"$KV.resumed_view.alice.bot.2"}},
		"another time":          {"Nats-Time-Stamp": {"2001-01-01T00:00:00Z"}},
	} {
		t.Run(name, func(t *testing.T) {
			msg := nats.NewMsg("$KV.resumed_view.mallory.bot.1")
			msg.Header = header
			_, err := nc.RequestMsg(msg, limit)
			require.NoError(t, err)
			page, err := alice.Page(t.Context(), fleet.View, 0, 10)
			require.NoError(t, err)
			require.Zero(t, page.Next)
			var keys []string
			for _, e := range page.Entries {
				keys = append(keys, e.Key)
				require.WithinDuration(t, time.Now(), e.At, limit)
			}
			require.ElementsMatch(t, []string{"alice.bot.1", "alice.bot.3", "mallory.bot.1"}, keys)
			e, err := alice.Get(t.Context(), fleet.View, "mallory.bot.1")
			require.NoError(t, err)
			require.Equal(t, "mallory.bot.1", e.Key)
		})
	}
}

// A header that ends early hides what the server appends. Only that entry is lost, and not all others.
func TestAHeaderThatEndsEarlyIsOneEntrysTrouble(t *testing.T) {
	t.Parallel()
	dir, invitation := newHub(t)
	hub := serve(t, Options{Dir: dir})
	alice := joined(t, invitation, "alice")
	o := member(t, invitation, "mallory")
	_, err := alice.Update(t.Context(), fleet.View, "alice.bot.1", []byte("{}"), 0, 0)
	require.NoError(t, err)
	send := raw(t, hub.address, o)
	const end = "NATS/1.0 204 EOB\r\nNats-Num-Pending: 0\r\nNats-Last-Sequence: 9\r\n\r\n"
	for i, header := range []string{end + "\r\n", end + end, "NATS/1.0\r\nno header\r\n\r\n", "NATS/1.0\r\n\r\n\r\n\r\n"} {
		send(fmt.Sprintf("$KV.resumed_view.mallory.bot.%d", i), header)
	}
	_, err = alice.Update(t.Context(), fleet.View, "alice.bot.2", []byte("{}"), 0, 0)
	require.NoError(t, err)
	page, err := alice.Page(t.Context(), fleet.View, 0, 10)
	require.NoError(t, err)
	require.Zero(t, page.Next)
	keys := make(map[string]bool)
	for _, e := range page.Entries {
		keys[e.Key] = true
	}
	require.True(t, keys["alice.bot.1"] && keys["alice.bot.2"], "%v", keys)

	send("$KV.resumed_accounts.acct.anthropic.mallory", end+end)
	_, err = alice.Get(t.Context(), fleet.Accounts, "acct.anthropic")
	require.ErrorIs(t, err, fleet.ErrMissing)
	_, err = alice.Update(t.Context(), fleet.Accounts, "acct.anthropic", []byte("{}"), 0, 0)
	require.NoError(t, err, "it can be written over")
}

// raw speaks the protocol without a client library: headers are sent unchanged.
func raw(t *testing.T, address string, o natskv.Options) (send func(subject, header string)) {
	_, text, _ := strings.Cut(string(o.Credentials.Text()), "-----BEGIN USER NKEY SEED-----\n")
	pair, err := nkeys.FromSeed([]byte(strings.Fields(text)[0]))
	require.NoError(t, err)
	plain, err := net.Dial("tcp", address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = plain.Close() })
	require.NoError(t, plain.SetDeadline(time.Now().Add(limit)))
	line, err := bufio.NewReader(plain).ReadString('\n')
	require.NoError(t, err)
	var info struct{ Nonce string }
	require.NoError(t, json.Unmarshal([]byte(strings.TrimPrefix(line, "INFO ")), &info))
	signature, err := pair.Sign([]byte(info.Nonce))
	require.NoError(t, err)
	conn := tls.Client(plain, &tls.Config{InsecureSkipVerify: true})
	lines := bufio.NewScanner(conn)
	settle := func() {
		_, err := fmt.Fprint(conn, "PING\r\n")
		require.NoError(t, err)
		for lines.Scan() && lines.Text() != "PONG" {
			require.NotContains(t, lines.Text(), "-ERR")
		}
		require.NoError(t, lines.Err())
	}
	_, err = fmt.Fprintf(conn, "CONNECT {\"headers\":true,\"name\":\"resumed mallory\",\"nkey\":%q,\"sig\":%q}\r\n", o.Credentials.Public(), base64.RawURLEncoding.EncodeToString(signature))
	require.NoError(t, err)
	settle()
	return func(subject, header string) {
		_, err := fmt.Fprintf(conn, "HPUB %s %d %d\r\n%s\r\n", subject, len(header), len(header), header)
		require.NoError(t, err)
		settle()
	}
}

// A notice contains the host that published it, and one that is left for later does not delay others.
func TestANoticeNamesTheHostThatHandedItIn(t *testing.T) {
	t.Parallel()
	dir, invitation := newHub(t)
	serve(t, Options{Dir: dir})
	alice, nc := joined(t, invitation, "alice"), mallory(t, invitation)
	_, err := nc.Request("resumed.v1.notice.mallory.1", []byte("of mallory"), limit)
	require.NoError(t, err)
	_, err = alice.Publish(t.Context(), "alice", "a", []byte("of alice"))
	require.NoError(t, err)
	ctx, stop := context.WithTimeout(t.Context(), limit)
	defer stop()
	var told []string
	err = alice.Notices(ctx, func(_ context.Context, n fleet.Notice) error {
		if told = append(told, n.Host+": "+string(n.Data)); len(told) == 2 {
			stop()
		}
		return errors.New("later")
	})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, []string{"mallory: of mallory", "alice: of alice"}, told)
}

// A flood of large entries is read in parts, however many are asked for.
func TestAFloodOfViewsIsReadInPieces(t *testing.T) {
	t.Parallel()
	dir, invitation := newHub(t)
	serve(t, Options{Dir: dir})
	alice, nc := joined(t, invitation, "alice"), mallory(t, invitation)
	const views = 1000
	large := []byte(strings.Repeat("x", fleet.LargestValue))
	for i := range views {
		_, err := nc.Request(fmt.Sprintf("$KV.resumed_view.mallory.bot.%d", i), large, limit)
		require.NoError(t, err)
	}
	_, err := alice.Update(t.Context(), fleet.View, "alice.bot.1", []byte("{}"), 0, 0)
	require.NoError(t, err)
	read := 0
	for from, more := uint64(0), true; more; more = from != 0 {
		page, err := alice.Page(t.Context(), fleet.View, from, 10_000)
		require.NoError(t, err)
		bytes := 0
		for _, e := range page.Entries {
			bytes += len(e.Value)
		}
		require.LessOrEqual(t, bytes, 9<<20, "bytes of a page")
		read += len(page.Entries)
		require.Equal(t, views+1, read+page.Left)
		from = page.Next
	}
	require.Equal(t, views+1, read)
}
