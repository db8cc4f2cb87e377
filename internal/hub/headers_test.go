package hub

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"resumed/internal/fleet"
	"resumed/internal/fleet/natskv"
)

// headers are all headers that the server knows, with values for a message of a member. Those without a
// value are the server's own: a member may write anything in them.
var headers = map[string][]string{
	"Nats-Rollup":                                 {"all", "sub", "ALL"},
	"Nats-Expected-Stream":                        {"KV_resumed_accounts", "KV_resumed_leases"},
	"Nats-Expected-Last-Sequence":                 {"0", "1", "18446744073709551615"},
	"Nats-Expected-Last-Subject-Sequence":         {"0", "1"},
	"Nats-Expected-Last-Subject-Sequence-Subject": {"$KV.resumed_leases.host.alice", ">"},
	"Nats-Expected-Last-Msg-Id":                   {"a"},
	"Nats-Msg-Id":                                 {"a", "notice", "alice"},
	"Nats-TTL":                                    {"1", "never", "2540400h", "-1", "9223372036854775807"},
	"Nats-Marker-Reason":                          {"MaxAge", "Purge", "Remove"},
	"Nats-Incr":                                   {"+1", "-1"},
	"Nats-Counter-Sources":                        {`{"KV_resumed_leases":{"host.alice":"1"}}`},
	"Nats-Batch-Id":                               {"b"},
	"Nats-Batch-Sequence":                         {"1"},
	"Nats-Batch-Commit":                           {"1", "eob"},
	"Nats-Schedule":                               {"@at 2020-01-01T00:00:00Z", "@every 1s"},
	"Nats-Schedule-Time-Zone":                     {"UTC"},
	"Nats-Schedule-TTL":                           {"1s", "never"},
	"Nats-Schedule-Rollup":                        {"sub", "all"},
	"Nats-Schedule-Target":                        {"$KV.resumed_leases.host.alice", "$KV.resumed_view.alice.bot.1"},
	"Nats-Schedule-Source":                        {"$KV.resumed_leases.host.alice"},
	"Nats-Schedule-Next":                          {"purge", "2020-01-01T00:00:00Z"},
	"Nats-Scheduler":                              {"$KV.resumed_leases.host.alice", "$KV.resumed_view.alice.bot.1"},
	"Nats-Stream-Source":                          {"KV_resumed_view 1 > > $KV.resumed_view.alice.bot.1"},
	"KV-Operation":                                {"DEL", "PURGE"},
	"Nats-Trace-Dest":                             {"$KV.resumed_leases.host.alice", "$JS.API.STREAM.PURGE.KV_resumed_leases"},
	"Nats-Trace-Only":                             {"true"},
	"Nats-Trace-Hop":                              {"1"},
	"Nats-Trace-Origin-Account":                   {"$G"},
	"Nats-Request-Info":                           {`{"acc":"$G","svc":"$SYS","reply":"x.b.1.ok.1.2.$FI"}`},
	"Nats-Required-Api-Level":                     {"999"},
	"Nats-Pin-Id":                                 {"1"},
	"Nats-Pending-Messages":                       nil,
	"Nats-Pending-Bytes":                          nil,
	"Nats-Stream-Identity":                        nil,
	"Nats-Server-Xkey":                            nil,
	"Nats-Last-Consumer":                          nil,
	"Nats-Last-Stream":                            nil,
	"Nats-Consumer-Stalled":                       nil,
	"Nats-Msg-Size":                               nil,
	"Nats-Response-Type":                          nil,
	"Nats-Stream":                                 nil,
	"Nats-Sequence":                               nil,
	"Nats-Time-Stamp":                             nil,
	"Nats-Subject":                                nil,
	"Nats-Last-Sequence":                          nil,
	"Nats-Num-Pending":                            nil,
	"Nats-UpTo-Sequence":                          nil,
	"Nats-No-Masking":                             nil,
}

// A new version of the server may know a header that nobody has tried yet.
func TestEveryHeaderOfTheServerIsTried(t *testing.T) {
	t.Parallel()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/nats-io/nats-server/v2").Output()
	require.NoError(t, err)
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), "server", "*.go"))
	require.NoError(t, err)
	named := regexp.MustCompile(`"(Nats-[A-Za-z-]*[A-Za-z]|KV-[A-Za-z]+)"`)
	found := make(map[string]bool)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, match := range named.FindAllSubmatch(text, -1) {
			found[string(match[1])] = true
		}
	}
	require.Greater(t, len(found), 30)
	for header := range found {
		require.Contains(t, headers, header, "give it values here")
	}
}

// combined are headers that mean something together.
var combined = []nats.Header{
	{"Nats-Schedule": {"@at 2020-01-01T00:00:00Z"}, "Nats-Schedule-Target": {"$KV.resumed_leases.host.alice"}, "Nats-Schedule-TTL": {"never"}, "Nats-Rollup": {"all"}},
	{"Nats-Schedule-Next": {"purge"}, "Nats-Scheduler": {"$KV.resumed_leases.host.alice"}, "Nats-Rollup": {"all"}},
	{"Nats-Batch-Id": {"b"}, "Nats-Batch-Sequence": {"1"}, "Nats-Batch-Commit": {"1"}, "Nats-Rollup": {"all"}},
	{"Nats-Incr": {"+1"}, "Nats-Rollup": {"all"}},
	{"Nats-Trace-Dest": {"$KV.resumed_view.mallory.bot.9"}, "Nats-Trace-Only": {"true"}, "Nats-Rollup": {"all"}},
	{"Nats-Expected-Last-Subject-Sequence": {"0"}, "Nats-Expected-Last-Subject-Sequence-Subject": {"$KV.resumed_leases.none"}, "Nats-Rollup": {"all"}},
	{"KV-Operation": {"PURGE"}, "Nats-Rollup": {"sub"}},
	{"KV-Operation": {"PURGE"}, "Nats-Rollup": {"all"}},
}

// malice are all these headers, alone and combined.
func malice() (all []nats.Header) {
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		for _, value := range append(headers[name], "", "x") {
			all = append(all, nats.Header{name: {value}})
		}
	}
	return append(all, combined...)
}

// all returns what alice and bob have stored, and the notices that wait.
func all(t *testing.T, s *natskv.Store, nc *nats.Conn) (stored map[string]string) {
	t.Helper()
	stored = make(map[string]string)
	for _, b := range []fleet.Bucket{fleet.Accounts, fleet.Leases, fleet.View} {
		entries, err := s.List(t.Context(), b, "")
		require.NoError(t, err)
		for _, e := range entries {
			if e.By != "mallory" && !strings.Contains(e.Key, "mallory") {
				stored[fmt.Sprint(b, "/", e.Key)] = fmt.Sprintf("%s of %s in %d at %s", e.Value, e.By, e.Rev, e.At)
			}
		}
	}
	var msg *nats.Msg
	err := nats.ErrTimeout
	for range 20 { // servers of a cluster may not know of a new connection yet
		if msg, err = nc.Request("$JS.API.DIRECT.GET."+natskv.NoticeStream, []byte(`{"last_by_subj":"`+natskv.NoticeSubject+`alice.*"}`), time.Second); err == nil {
			break
		}
	}
	require.NoError(t, err)
	stored["notices"] = string(msg.Data)
	return stored
}

// harmless tries every header in messages of a member, and requires that what others have stored stays.
func harmless(t *testing.T, machines map[string]natskv.Options, but ...string) {
	alice, bob := open(t, machines["alice"]), open(t, machines["bob"])
	for key, b := range map[string]fleet.Bucket{
		fleet.HostKey("alice"): fleet.Leases, fleet.SessionKey("s"): fleet.Leases, fleet.NotifierKey: fleet.Leases, fleet.ProbeKey("a.anthropic"): fleet.Leases,
		fleet.OwnerKey("s"): fleet.Accounts, "a.anthropic": fleet.Accounts, "alice.bot.1": fleet.View,
	} {
		_, err := alice.Update(t.Context(), b, key, []byte("alice's"), 0, 0)
		require.NoError(t, err, key)
	}
	_, err := bob.Update(t.Context(), fleet.View, "bob.bot.1", []byte("bob's"), 0, 0)
	require.NoError(t, err)
	_, err = alice.Publish(t.Context(), "alice", "first", []byte("alice's"))
	require.NoError(t, err)
	asks, err := machines["bob"].Dial()
	require.NoError(t, err)
	defer asks.Close()
	var before map[string]string
	until(t, "it is stored", func() bool {
		before = all(t, bob, asks)
		return len(before) == 9 && before["notices"] != ""
	})

	nc, err := machines["mallory"].Dial()
	require.NoError(t, err)
	defer nc.Close()
	for _, header := range malice() {
		if slices.ContainsFunc(but, func(name string) bool { return header[name] != nil }) {
			continue
		}
		for _, subject := range []string{
			"$KV.resumed_leases.host.mallory", "$KV.resumed_leases.sess.m.mallory", "$KV.resumed_leases.notifier.mallory", "$KV.resumed_leases.probe.m.x.mallory",
			"$KV.resumed_accounts.m.x.mallory", "$KV.resumed_accounts.owner.m.mallory", "$KV.resumed_view.mallory.bot.1", "$KV.resumed_orders.mallory.bob.1.ask",
			"resumed.v1.notice.mallory.1",
		} {
			for _, reply := range []string{nc.NewInbox(), nc.NewInbox() + ".b.10.ok.1.2.$FI"} {
				msg := &nats.Msg{Subject: subject, Reply: reply, Header: header, Data: []byte("{}")}
				require.NoError(t, nc.PublishMsg(msg))
			}
		}
		require.NoError(t, nc.FlushTimeout(limit))
		require.Equal(t, before, all(t, bob, asks), "after a message with %v", header)
	}
	for key, b := range map[string]fleet.Bucket{fleet.SessionKey("s"): fleet.Leases, fleet.OwnerKey("s"): fleet.Accounts, "a.anthropic": fleet.Accounts} {
		_, err := bob.Update(t.Context(), b, key, []byte("bob's"), 0, 0)
		require.ErrorIs(t, err, fleet.ErrConflict, "nobody gets what alice still has: %s", key)
	}
}

// Whatever a member writes with a message of its own, what others have stored stays.
func TestNoHeaderOfAMemberTouchesWhatIsOthers(t *testing.T) {
	t.Parallel()
	dir, invitation := newHub(t)
	serve(t, Options{Dir: dir})
	harmless(t, machinesOf(t, invitation))
}

// stopsACluster is a header that stops a replicated stream of nats-server 2.15 if it names another message:
// the servers give up what they cannot apply. docs/fleet.md says so; a hub has one server.
const stopsACluster = "Nats-Expected-Last-Msg-Id"

// Servers of a cluster read headers in another way.
func TestNoHeaderOfAMemberTouchesWhatIsOthersInACluster(t *testing.T) {
	t.Parallel()
	_, invitation, urls := three(t)
	invitation.URL = urls
	harmless(t, machinesOf(t, invitation), stopsACluster)
}

func machinesOf(t *testing.T, invitation natskv.Invitation) map[string]natskv.Options {
	machines := make(map[string]natskv.Options)
	for _, name := range []string{"alice", "bob", "mallory"} {
		machines[name] = member(t, invitation, name)
	}
	return machines
}
