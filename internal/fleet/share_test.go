package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

// However often its sessions ask, a host starts only its share of a step, and asks again in the next
// one.
func TestAHostHasOneShareOfAStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := NewMemory(time.Now)
		stagger := 20 * time.Second
		f := New(Filled(Options{
			Store: store, Host: "h0", Life: "1", Rand: func() float64 { return 0.5 },
			Rules:   func() Rules { return Rules{Stagger: stagger} },
			Account: func(resume.Session) string { return "a1.anthropic" }, Stir: func(context.Context) {},
		}))

		for i := 1; i < 32; i++ {
			_, err := store.Update(t.Context(), Leases, HostKey(fmt.Sprint("h", i)), fmt.Appendf(nil, `{"host":"h%d"}`, i), 0, time.Hour)
			require.NoError(t, err)
		}
		data, err := json.Marshal(Account{State: resume.Closed, Ramp: &Ramp{From: time.Now(), Size: counted}})
		require.NoError(t, err)
		_, err = store.Update(t.Context(), Accounts, "a1.anthropic", data, 0, 0)
		require.NoError(t, err)
		f.tick(t.Context())
		for _, share := range []int{0, 1, 2, 4} { // of 16 that have started, 32, 64, 128
			started := 0
			for range stagger / time.Second {
				if why, _ := f.Ask(resume.Session{}, time.Now().Round(0)); why == "" {
					started++
				}
				time.Sleep(time.Second)
				f.tick(t.Context())
			}
			require.Equal(t, share, started)
		}
	})
}

// unheard is a store that sends no changes: the host's own changes would make it ask again.
type unheard struct{ *Memory }

func (u unheard) Watch(ctx context.Context) (<-chan Entry, error) {
	none := make(chan Entry)
	context.AfterFunc(ctx, func() { close(none) })
	return none, nil
}

// A session that asks while another one gets permission is not forgotten.
func TestWhoAsksWhileAnotherIsServedIsServedNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := NewMemory(time.Now)
		var f *Fleet
		started := 0
		walk := func(context.Context) { // two sessions; each that the gate lets through asks no more
			for range 2 - started {
				if why, _ := f.Ask(resume.Session{}, time.Now().Round(0)); why == "" {
					started++
				}
			}
		}
		f = New(Filled(Options{
			Store: unheard{store}, Host: "h0", Life: "1", Rand: func() float64 { return 0.5 },
			Rules:   func() Rules { return Rules{Stagger: 20 * time.Second} },
			Account: func(resume.Session) string { return "a1.anthropic" }, Stir: walk,
		}))

		data, err := json.Marshal(Account{State: resume.Closed, Ramp: &Ramp{From: time.Now(), Size: 8, Left: 8}})
		require.NoError(t, err)
		_, err = store.Update(t.Context(), Accounts, "a1.anthropic", data, 0, 0)
		require.NoError(t, err)
		walk(t.Context())
		go func() { _ = f.Run(t.Context()) }()
		time.Sleep(time.Second)
		synctest.Wait()
		require.Equal(t, 2, started)
	})
}

// metrics are the counters that a test asks for.
type metrics struct {
	noMetrics
	probed, dropped func(string)
}

func (m metrics) Probed(how string) {
	if m.probed != nil {
		m.probed(how)
	}
}

func (m metrics) Dropped(why string) {
	if m.dropped != nil {
		m.dropped(why)
	}
}

// hurried is a store in which another host finds out that the limit is over just when the probe's lease
// is taken.
type hurried struct{ *Memory }

func (h hurried) Update(ctx context.Context, b Bucket, key string, value []byte, rev uint64, lasts time.Duration) (uint64, error) {
	rev, err := h.Memory.Update(ctx, b, key, value, rev, lasts)
	if e, missing := h.Memory.Get(ctx, Accounts, "a1.anthropic"); key == ProbeKey("a1.anthropic") && missing == nil {
		_, err = h.Memory.Update(ctx, Accounts, e.Key, []byte(`{"state":"closed"}`), e.Rev, 0)
	}
	return rev, err
}

func TestWhoWasTooLateToTryHasNotTried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := NewMemory(time.Now)
		var tries []string
		f := New(Filled(Options{
			Store: hurried{store}, Host: "h0", Life: "1", Rand: func() float64 { return 0.5 },
			Rules:   func() Rules { return Rules{Stagger: 20 * time.Second} },
			Account: func(resume.Session) string { return "a1.anthropic" }, Stir: func(context.Context) {},
			Metrics: metrics{probed: func(how string) { tries = append(tries, how) }},
		}))

		_, err := store.Update(t.Context(), Accounts, "a1.anthropic", []byte(`{"state":"open"}`), 0, 0)
		require.NoError(t, err)
		_, _ = f.Ask(resume.Session{}, time.Now().Round(0))
		go func() { _ = f.Run(t.Context()) }()
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		why, _ := f.Ask(resume.Session{}, time.Now().Round(0))
		require.NotEmpty(t, why, "it asks anew")
		time.Sleep(time.Second)
		synctest.Wait()
		why, _ = f.Ask(resume.Session{}, time.Now().Round(0))
		require.Empty(t, why)
		require.Empty(t, tries)
		_, err = store.Get(t.Context(), Leases, ProbeKey("a1.anthropic"))
		require.ErrorIs(t, err, ErrMissing, "and its lease is given back")
	})
}
