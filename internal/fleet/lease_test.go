package fleet

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

func TestASessionIsConfirmedOnlyWithAFreshAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFaulty()
		f := aheadBy(store, 0)
		held, err := f.Hold(t.Context(), "s", false)
		require.NoError(t, err)
		store.takes = f.pace.goodFor() - 1
		require.NoError(t, held.Confirm(t.Context()))
		store.takes = f.pace.goodFor()
		require.ErrorContains(t, held.Confirm(t.Context()), "too late")
	})
}

// What an earlier daemon of this host owned is given back two minutes after the start, and tried again
// with each heartbeat until that has worked.
func TestOldOwnersAreDeletedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFaulty()
		f := aheadBy(store, 0)
		owner := func() error {
			_, err := store.Memory.Get(t.Context(), Accounts, OwnerKey("s"))
			return err
		}
		store.put(t, Accounts, OwnerKey("s"), `{"host":"a","life":"before"}`)
		store.listless = true
		time.Sleep(oldOwnersAfter - 1)
		f.deleteOldOwners(t.Context())
		require.Zero(t, store.asked("list "+OwnerKey("")), "a resume may still be found that needs it")
		time.Sleep(time.Nanosecond)
		f.deleteOldOwners(t.Context())
		require.Equal(t, 1, store.asked("list "+OwnerKey("")))
		require.NoError(t, owner())
		store.listless = false
		f.deleteOldOwners(t.Context())
		require.ErrorIs(t, owner(), ErrMissing)
		f.deleteOldOwners(t.Context())
		require.Equal(t, 2, store.asked("list "+OwnerKey("")), "there can be no more of them")
	})
}

// The write of a lease may succeed without an answer.
func TestALeaseBelongsToTheDaemonWhoseNameItHas(t *testing.T) {
	for name, c := range map[string]struct {
		value string
		mine  bool // a lease of an earlier daemon is not taken over
		held  bool
	}{
		"its own":                                {`{"host":"a","life":"1"}`, true, false},
		"of an earlier daemon":                   {`{"host":"a","life":"0"}`, true, true},
		"of an earlier daemon, and transferable": {`{"host":"a","life":"0"}`, false, false},
		"of another host":                        {`{"host":"b","life":"1"}`, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			store := newFaulty()
			f := aheadBy(store, 0)
			store.put(t, Leases, "k", c.value)
			l := lease{key: "k", lasts: time.Minute, mine: c.mine}
			err := f.acquire(t.Context(), &l, f.me())
			if c.held {
				require.ErrorContains(t, err, "it is held by host")
				require.Zero(t, l.rev)
				return
			}
			require.NoError(t, err)
			e, err := store.Memory.Get(t.Context(), Leases, "k")
			require.NoError(t, err)
			require.Equal(t, f.me(), f.holder(e))
			require.Equal(t, e.Rev, l.rev)
		})
	}
}

func TestAHostAsksForAProbeOnlyIfNoOtherHostProbes(t *testing.T) {
	probes := stored{Account{State: resume.HalfOpen, Probe: &Probe{Host: "b", Mark: "m", At: noon}}, 1}
	for name, c := range map[string]struct {
		account stored
		lease   string // "": none
		since   time.Duration
		taken   bool
	}{
		"another host probes":                     {probes, `{"host":"b","life":"1"}`, time.Minute, true},
		"another host has probed for long":        {probes, `{"host":"b","life":"1"}`, longestProbe - 1, true},
		"another host has probed for too long":    {probes, `{"host":"b","life":"1"}`, longestProbe, false},
		"its lease has expired":                   {probes, "", time.Minute, false},
		"it was this host: the answer was lost":   {probes, `{"host":"a","life":"1"}`, time.Minute, false},
		"it was an earlier daemon of this host":   {probes, `{"host":"a","life":"0"}`, time.Minute, true},
		"no host probes, though it has the lease": {stored{Account{State: resume.Open}, 1}, `{"host":"b","life":"1"}`, time.Minute, false},
	} {
		t.Run(name, func(t *testing.T) {
			store := newFaulty()
			f := aheadBy(store, 0)
			if c.lease != "" {
				store.put(t, Leases, ProbeKey("x"), c.lease)
			}
			taken, err := f.probedElsewhere(t.Context(), "x", c.account, noon.Add(c.since))
			require.NoError(t, err)
			require.Equal(t, c.taken, taken)
		})
	}
	store := newFaulty()
	store.err = errSilence
	_, err := aheadBy(store, 0).probedElsewhere(t.Context(), "x", probes, noon)
	require.ErrorIs(t, err, errSilence)
}

// A probe that never ends does not make the other hosts wait for longer than longestProbe, even if its
// host renews its lease.
func TestAnEndlessProbeIsTakenOver(t *testing.T) {
	for name, c := range map[string]struct {
		since time.Duration
		by    holder
	}{
		"a moment before": {longestProbe - 1, holder{"b", "7"}},
		"then":            {longestProbe, holder{"a", "1"}},
		"long after":      {2 * longestProbe, holder{"a", "1"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := newFaulty()
				f := aheadBy(store, 0)
				data, err := time.Now().Round(0).MarshalText()
				require.NoError(t, err)
				store.put(t, Accounts, "x", `{"state":"half_open","probe":{"host":"b","mark":"m","at":"`+string(data)+`"}}`)
				time.Sleep(c.since)
				store.put(t, Leases, ProbeKey("x"), `{"host":"b","life":"7"}`)
				why, _ := f.Ask(resume.Session{}, f.now())
				require.Equal(t, inTurn, why)
				f.tick(t.Context())
				e, err := store.Memory.Get(t.Context(), Leases, ProbeKey("x"))
				require.NoError(t, err)
				require.Equal(t, c.by, f.holder(e))
				require.Equal(t, c.by.Host, f.Known()["x"].Probe.Host)
				why, _ = f.Ask(resume.Session{}, f.now())
				require.Equal(t, c.by.Host == "a", why == "")
			})
		})
	}
}

func TestAProbeWithoutAResultEnds(t *testing.T) {
	p := pace{Heartbeat}
	asks := probing{}
	granted := probing{granted: noon}
	begun := probing{granted: noon, begun: noon}
	ended := begun
	ended.outcome = moved
	for name, c := range map[string]struct {
		probe  probing
		after  time.Duration
		wanted bool
		how    outcome
	}{
		"it is asked for":                            {asks, time.Hour, true, running},
		"no session asks for it any longer":          {asks, 0, false, released},
		"a permission":                               {granted, p.goodFor(), false, running},
		"a permission that was not used":             {granted, p.goodFor() + 1, true, released},
		"a permission from before the clock was set": {granted, -p.goodFor() - 1, true, released},
		"it runs": {begun, longestProbe - p.lease() - 1, false, running},
		"it runs for so long that others wait for it": {begun, longestProbe - p.lease(), true, released},
		"it has a result": {ended, 2 * longestProbe, false, moved},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.how, c.probe.ended(noon.Add(c.after), c.wanted, p)) })
	}
}

// While a host probes, a session of another host may be refused until a later time. No second host
// probes then before the session of the first one has a result.
func TestAProbeThatStillRunsIsTheOnlyOne(t *testing.T) {
	for name, begun := range map[string]bool{"its session runs": true, "its permission was not used": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := newFaulty()
				a := aheadBy(store, 0)
				b := New(Filled(Options{
					Store: store, Host: "b", Life: "1", Rules: a.opts.Rules, Account: a.opts.Account, Rand: a.opts.Rand, Stir: a.opts.Stir,
				}))
				store.put(t, Accounts, "x", `{"state":"open","epoch":1}`)
				s := resume.Session{Key: resume.Key{Agent: "bot", ID: "s"}, State: resume.Resuming}
				_, _ = a.Ask(s, a.now())
				a.tick(t.Context())
				if begun {
					why, _ := a.Ask(s, a.now())
					require.Empty(t, why, "it probes")
				}
				other := told("other", b.now(), time.Now().Add(time.Minute))
				b.Changed(refusal(other))
				mayProbe := func() bool {
					for range 4 * Heartbeat / time.Second {
						a.tick(t.Context())
						b.tick(t.Context())
						if why, _ := b.Ask(other, b.now()); why == "" {
							return true
						}
						time.Sleep(time.Second)
					}
					return false
				}
				require.False(t, mayProbe(), "the limit lasts")
				time.Sleep(rules.Margin)
				require.Equal(t, !begun, mayProbe())
				a.Changed(resume.Change{Event: resume.NotSent{}, After: resume.Session{Key: s.Key, State: resume.Waiting}})
				require.Equal(t, begun, mayProbe(), "then it is the turn of another host")
			})
		})
	}
}
