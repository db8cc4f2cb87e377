package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

// nonsense is what a compromised host may write as any value.
var nonsense = map[string]string{
	"nothing":           ``,
	"no JSON":           `{"host":`,
	"a list":            `[[[]]]`,
	"a number":          `7`,
	"another kind":      `{"host":7,"waiting":"many","shows":[1]}`,
	"another name":      `{"host":"alice","waiting":3}`,
	"more than is read": `{"host":"` + strings.Repeat("m", LargestValue) + `"}`,
}

// A host with an unreadable record still counts, and does not affect the others.
func TestAHostThatSpeaksNonsenseIsThere(t *testing.T) {
	for name, value := range nonsense {
		t.Run(name, func(t *testing.T) {
			f := New(Filled(Options{Host: "here"}))
			f.updateHosts([]Entry{
				{Key: HostKey("alice"), Value: []byte(`{"host":"alice","waiting":2}`), Rev: 1, At: time.Now()},
				{Key: HostKey("mallory"), Value: []byte(`{"host":"mallory","waiting":5}`), Rev: 2, At: time.Now()},
			})
			f.updateHosts([]Entry{
				{Key: HostKey("alice"), Value: []byte(`{"host":"alice","waiting":2}`), Rev: 1},
				{Key: HostKey("mallory"), Value: []byte(value), Rev: 3},
				{Key: HostKey("\x1b[2J"), Value: []byte(`{}`), Rev: 4},
			})
			require.Len(t, f.Hosts(), 2)
			require.Empty(t, f.missing, "nobody is told that it is gone")
			require.True(t, f.hosts["mallory"].Unreadable)
			require.Equal(t, 2, f.hosts["alice"].Waiting)
			require.Equal(t, holder{}, f.holder(Entry{Value: []byte(nonsense["another kind"])}), "and holds nothing")
		})
	}
}

func TestWhatAHostSaysOfItselfIsBounded(t *testing.T) {
	shows := make(map[string]int)
	for i := range 300 {
		shows[fmt.Sprint("a", i)] = 1 << 40
	}
	shows["\x1b[2J"] = 1
	data, err := json.Marshal(Host{Host: "mallory", Version: "\x1b]0;evil\x07" + strings.Repeat("9", 1000), Waiting: -5, Shows: shows})
	require.NoError(t, err)
	h := readHost(Entry{Key: HostKey("mallory"), Value: data})
	require.False(t, h.Unreadable)
	require.Zero(t, h.Waiting)
	require.LessOrEqual(t, len(h.Shows), mostItems)
	require.NotContains(t, h.Shows, "\x1b[2J")
	for _, n := range h.Shows {
		require.Equal(t, largestCount, n)
	}
	require.NotContains(t, h.Version, "\x1b")
	require.LessOrEqual(t, len(h.Version), longestText+len("…"))
}

// What is decoded can be shown, and encoded again.
func FuzzDecode(f *testing.F) {
	for _, value := range nonsense {
		f.Add([]byte(value))
	}
	f.Add([]byte(`{"state":"open","reset":"9999-12-31T23:59:59-23:59","limited_at":"0000-01-01T00:00:00+23:59","probe":{"at":"9999-12-31T23:59:59-01:00"},"ramp":{"size":-1}}`))
	f.Add([]byte(`{"host":"h","skew":9223372036854775807,"shows":{"a":-1}}`))
	f.Add([]byte(`{"id":"s","agent":"b","state":"waiting","attempts":[{"started_at":"9999-12-31T23:59:59-23:59"}],"started_with":{"argv":["\u001b[2J"]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		for _, into := range []any{new(Account), new(Host), new(holder), new(view.Session)} {
			if Decode(data, into) != nil {
				continue
			}
			text, err := json.Marshal(into)
			require.NoError(t, err)
			require.NotContains(t, string(text), `\u001b`)
		}
		readHost(Entry{Key: HostKey("h"), Value: data})
		a, err := ReadAccount(Entry{Value: data, At: now})
		if err == nil {
			rules := Rules{Margin: time.Minute, Stagger: time.Second, MaxWait: time.Hour}
			_ = a.Lifts(rules).UTC().Format(time.RFC3339)
			require.False(t, a.Lifts(rules).After(now.Add(rules.MaxWait)), "it is believed for max_wait")
			a.Started(rules, 3, 0.5, now)
		}
	})
}

// A notice that no host can report does not delay others, and is dropped after an hour.
func TestANoticeThatNobodyCanTellIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		store := &counting{Memory: NewMemory(time.Now)}
		var told []string
		dropped := 0
		f := New(Filled(Options{
			Store: store, Host: "here", Life: "1", Rand: rand.Float64, Rules: func() Rules { return Rules{} },
			Account: func(resume.Session) string { return "" }, Stir: func(context.Context) {},
			Deliver: func(_ context.Context, n Notice) error {
				if n.ID == "unwanted" {
					return errors.New("no channel wants it")
				}
				told = append(told, n.Host+"/"+n.ID)
				return nil
			},
			Metrics: metrics{dropped: func(string) { dropped++ }},
		}))

		ended := make(chan error, 1)
		go func() { ended <- f.Run(ctx) }()
		for _, n := range []Notice{{Host: "mallory", ID: "unwanted"}, {Host: "alice", ID: "a"}} {
			_, err := store.Publish(ctx, n.Host, n.ID, nil)
			require.NoError(t, err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, []string{"alice/a"}, told)
		require.Equal(t, 1, store.left)
		require.Zero(t, dropped)
		stop()
		require.NoError(t, <-ended)

		time.Sleep(wantedFor)
		ctx, stop = context.WithCancel(t.Context())
		go func() { ended <- f.Run(ctx) }() // another host becomes the notifier
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, 1, dropped)
		require.Empty(t, store.notices, "nobody is given it again")
		stop()
		require.NoError(t, <-ended)
	})
}

// counting counts the notices that are left for later.
type counting struct {
	*Memory
	left int
}

func (c *counting) Notices(ctx context.Context, tell func(context.Context, Notice) error) error {
	return c.Memory.Notices(ctx, func(ctx context.Context, n Notice) error {
		err := tell(ctx, n)
		if err != nil {
			c.left++
		}
		return err
	})
}

// However much a host writes about itself, others store little of it.
func TestAFloodOfHostRecordsLeavesLittleBehind(t *testing.T) {
	store, f := NewMemory(time.Now), New(Filled(Options{Host: "here"}))
	f.opts.Store = store
	var shows strings.Builder
	for i := range 4000 {
		fmt.Fprintf(&shows, `"%d.x":1,`, i)
	}
	const hosts = 1000
	for i := range hosts {
		large := fmt.Sprintf(`{"host":"m%d","version":%q,"shows":{%s"z":1}}`, i, strings.Repeat("v", 1000), shows.String())
		_, err := store.Update(t.Context(), Leases, HostKey(fmt.Sprint("m", i)), []byte(large), 0, 0)
		require.NoError(t, err)
	}
	beat := func() {
		entries, err := f.list(t.Context(), Leases, hostPrefix)
		require.NoError(t, err)
		f.updateHosts(entries)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	beat()
	runtime.GC()
	runtime.ReadMemStats(&after)
	require.Len(t, f.Hosts(), hosts)
	require.Less(t, after.HeapAlloc, before.HeapAlloc+(2<<20), "bytes that are kept")
	runtime.KeepAlive(store)
}
