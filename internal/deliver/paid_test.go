package deliver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

// payer is a fakeAgent that records its cost: a dollar for each call.
type payer struct {
	*fakeAgent
	cost   resume.Cost
	counts bool
	shows  string // to whom it would show a key
}

func (p *payer) Cost(context.Context, resume.Session) (resume.Cost, bool, error) {
	p.cost.USD++
	p.cost.Read++
	return p.cost, p.counts, nil
}

func (p *payer) WhyNotOwnKey(resume.Session, string, []string) string { return p.shows }

// purse records the calls of its methods.
type purse struct {
	*diary
	left   float64
	taken  bool // the money is spent before it is reserved
	keyErr error
	ends   string
	offers bool
	had    resume.Cost // what the session had cost before the reservation
}

func (p *purse) Remaining(resume.Session) (float64, string) {
	if p.left == 0 {
		return 0, "nothing is left"
	}
	return p.left, ""
}

func (p *purse) Reserve(_ resume.Session, mark string, most float64, had resume.Cost) string {
	p.had = had
	if p.taken {
		return "it is gone"
	}
	p.add(fmt.Sprintf("set aside %g for %s", most, mark))
	return ""
}

func (p *purse) Commit(_ resume.Session, mark string, _ resume.Cost, known, failed bool) string {
	p.add(fmt.Sprintf("settled %s known=%t failed=%t", mark, known, failed))
	return p.ends
}

func (p *purse) Cancel(mark string) { p.add("returned " + mark) }

func (p *purse) Offers(string) bool { return p.offers }

func (p *purse) Key(string) (string, string, error) { return "BOT_KEY", "sk-mine", p.keyErr }

// payingWorld is a session that is due, and whose user pays for it.
type payingWorld struct {
	*world
	payer *payer
	purse *purse
	seen  string // the command writes its environment to this file; it fails if the file with .fails exists
}

func newPayingWorld(t *testing.T) payingWorld {
	purse := &purse{left: 4}
	w := newWorld(t, func(o *Options) { o.Budget = purse })
	purse.diary = &w.diary
	paying := &payer{fakeAgent: w.agent, counts: true}
	w.settings.Agent = func(string) agent.Agent { return paying }
	stopped := resume.Session{Key: w.session.Key, Cwd: w.session.Cwd, Transcript: w.session.Transcript, Kind: resume.Headless}
	met := resume.Limited{At: time.Now(), Verdict: limit.Verdict{
		Class: limit.UsageLimit, WaitHelps: true, Reset: limit.Reset{At: time.Now().Add(time.Hour), Source: limit.Structured},
	}}
	for _, ev := range []resume.Event{met, resume.Pay{}, resume.Due{Mark: w.mark}} {
		stopped = stopped.Next(ev, rules, time.Now(), 0.5)
	}
	require.Equal(t, resume.Resuming, stopped.State)
	w.session = stopped
	seen := filepath.Join(t.TempDir(), "env")
	w.agent.plan.Run.Argv = []string{"sh", "-c", "env > " + seen + "; test ! -e " + seen + ".fails"}
	return payingWorld{w, paying, purse, seen}
}

func TestWhatARunMayCostIsSetAsideBeforeItBegins(t *testing.T) {
	w := newPayingWorld(t)
	w.d.Act(t.Context(), w.now())
	require.Equal(t, []string{
		"on disk", "set aside 4 for " + w.mark, "on disk", "sending", "started", "on disk", "settled " + w.mark + " known=true failed=false", "delivered",
	}, w.diary.all())
	env, err := os.ReadFile(w.seen)
	require.NoError(t, err)
	require.Contains(t, string(env), "BOT_KEY=sk-mine\n")
	require.Contains(t, string(env), resume.OwnKeyVariable+"=1\n")
	require.InDelta(t, 1, w.purse.had.USD, 0, "only what comes after that counts")
	require.InDelta(t, 4, w.agent.most, 0, "the agent is told as well")
}

func TestARunThatCostTooMuchEndsThePayment(t *testing.T) {
	w := newPayingWorld(t)
	w.purse.ends = "it cost too much"
	require.NoError(t, os.WriteFile(w.seen+".fails", nil, 0o600))
	w.look = func(ctx context.Context) error { // the last lines are read late
		if w.now().Run.Process.PID != 0 {
			_, err := w.Apply(ctx, w.now().Key, resume.Progressed{At: time.Now()})
			return err
		}
		return nil
	}
	w.act()
	require.Nil(t, w.now().Paid)
	require.Equal(t, resume.Waiting, w.now().State)
	require.Contains(t, w.now().Reason, "it cost too much")
}

func TestNoKeyIsUsedWhere(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(payingWorld)
		why   string
		stays bool // the order to pay is kept: it may still be carried out
	}{
		"nothing is left":                   {func(w payingWorld) { w.purse.left = 0 }, "nothing is left", false},
		"it is gone in the last moment":     {func(w payingWorld) { w.purse.taken = true }, "it is gone", false},
		"the key cannot be read":            {func(w payingWorld) { w.purse.keyErr = errors.New("mode 0644") }, "mode 0644", false},
		"the agent has no costs":            {func(w payingWorld) { w.settings.Agent = func(string) agent.Agent { return w.agent } }, "so no budget would hold", false},
		"the agent does not count":          {func(w payingWorld) { w.payer.counts = false }, "does not record what a session costs", false},
		"somebody else would see it":        {func(w payingWorld) { w.payer.shows = "a gateway would see it" }, "a gateway would see it", false},
		"a process holds the session":       {func(w payingWorld) { w.agent.owner = &resume.Owner{PID: 7, Kind: resume.Interactive} }, "quit it there first", true},
		"it cannot be kept that it is used": {func(w payingWorld) { w.d.opts.Sync = failsSecond() }, notOnDisk, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newPayingWorld(t)
			c.spoil(w)
			w.act()
			require.NoFileExists(t, w.seen)
			require.Contains(t, w.now().Reason, c.why)
			require.Equal(t, c.stays, w.now().Paid != nil)
			if !c.stays {
				require.True(t, w.now().Reported)
			}
		})
	}
}

// failsSecond is a disk that is full after the reservation.
func failsSecond() func(context.Context, ...resume.Key) error {
	n := 0
	return func(context.Context, ...resume.Key) error {
		if n++; n > 1 {
			return errors.New("no space left on device")
		}
		return nil
	}
}

// What was reserved for a command that is not started is released.
func TestACommandThatIsNotStartedCostsNothing(t *testing.T) {
	for name, spoil := range map[string]func(payingWorld){
		"its program is gone": func(w payingWorld) { w.agent.plan.Run.Argv = []string{filepath.Join(w.session.Cwd, "gone")} },
		"others can write its program": func(w payingWorld) {
			program := filepath.Join(w.session.Cwd, "program")
			require.NoError(w.t, os.WriteFile(program, []byte("#!/bin/sh\n"), 0o700))
			require.NoError(w.t, os.Chmod(program, 0o777))
			w.agent.plan.Run.Argv = []string{program}
		},
		"the reservation is not on disk": func(w payingWorld) { w.d.opts.Sync = failsSecond() },
		"another host may have it": func(w payingWorld) {
			sharing(&otherHosts{w: w.world, confirmed: errors.New("nobody answers")})(&w.d.opts)
		},
		"it is withdrawn": func(w payingWorld) {
			w.settings.Env = func(string) ([]string, error) {
				w.mu.Lock()
				defer w.mu.Unlock()
				w.session = w.session.Next(resume.Forget{}, rules, w.session.LimitedAt, 0.5)
				return nil, nil
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newPayingWorld(t)
			spoil(w)
			w.act()
			require.Contains(t, w.diary.all(), "set aside 4 for "+w.mark)
			require.Contains(t, w.diary.all(), "returned "+w.mark)
			require.NotContains(t, w.diary.all(), "started")
		})
	}
}

// If a daemon died after the reservation and before the run began, the reservation is released.
func TestWhatWasSetAsideForARunThatNeverBeganIsReturned(t *testing.T) {
	w := newPayingWorld(t)
	require.Equal(t, []string{"all was read", "returned " + w.mark, "lost"}, w.recovered())
	require.NotNil(t, w.now().Paid, "the answer is carried out all the same")
	w2 := newPayingWorld(t)
	w2.session.Run.Process = resume.Process{PID: 1 << 30, Start: 7}
	require.Contains(t, w2.recovered(), "settled "+w2.mark+" known=true failed=false")
}

// Before a person is asked whether to pay, it is checked whether that would help, and nothing else happens.
func TestWhetherAKeyCanBeUsedIsKnownBeforeAPersonIsAsked(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(payingWorld)
		why   string // empty: it can be used
	}{
		"it can":                     {func(payingWorld) {}, ""},
		"somebody else would see it": {func(w payingWorld) { w.payer.shows = "a gateway would see it" }, "a gateway would see it"},
		"nothing is left":            {func(w payingWorld) { w.purse.left = 0 }, "nothing is left"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newPayingWorld(t)
			w.session.Paid = nil
			c.spoil(w)
			most, why := w.d.WhyNotOwnKey(t.Context(), w.now())
			if c.why == "" {
				require.Empty(t, why)
				require.InDelta(t, 4, most, 0)
			} else {
				require.Contains(t, why, c.why)
				require.Zero(t, most)
			}
			require.Empty(t, w.diary.all(), "nothing is reserved")
		})
	}
}

// What a session has cost is read when it is stopped, if its user has offered a key for it.
func TestWhatASessionHasCostIsStored(t *testing.T) {
	for _, c := range []struct {
		offers, counts bool
		want           float64
	}{{true, true, 1}, {true, false, 0}, {false, true, 0}} {
		w := newPayingWorld(t)
		w.purse.offers, w.payer.counts = c.offers, c.counts
		w.d.Price(t.Context(), w.payer, w.now())
		require.InDelta(t, c.want, w.now().Cost.USD, 0)
		if known := w.now(); c.want > 0 {
			w.payer.cost = resume.Cost{}
			w.diary.lines = nil
			w.d.Price(t.Context(), w.payer, known)
			require.Empty(t, w.diary.all(), "what is known is not stored again")
		}
	}
}

// The cost of a session is recorded after its limit: it is read again until then, but not forever.
func TestTheCostOfASessionIsReadUntilItIsRecorded(t *testing.T) {
	const limited = 10 // where the limit is in the transcript
	for _, c := range []struct {
		read   int64
		missed int
		want   bool
	}{{limited + 1, 0, true}, {limited, 0, false}, {limited, costLooks - 1, false}, {limited, costLooks, true}} {
		w := newPayingWorld(t)
		w.purse.offers, w.agent.owner = true, &resume.Owner{PID: 42, Kind: resume.Headless}
		w.session.Seen.Offset = limited
		w.payer.cost.Read = c.read - 1 // each call adds one
		require.Equal(t, c.want, w.d.lookAt(t.Context(), w.payer, new(w.now()), search{missed: c.missed}), "%+v", c)
	}
}

// What a run wrote whose cost ended it is read at once: it must not count as a person's work later.
func TestWhatARunThatCostTooMuchWroteIsReadAtOnce(t *testing.T) {
	for ends, want := range map[string]int{"": 0, "it cost too much": 1} {
		w := newPayingWorld(t)
		w.purse.ends = ends
		settled, looks := "settled "+w.mark+" known=true failed=false", 0
		w.look = func(context.Context) error {
			if slices.Contains(w.diary.all(), settled) {
				looks++
				return errors.New("gone")
			}
			return nil
		}
		w.act()
		require.Equal(t, want, looks)
		require.Equal(t, want == 1, strings.Contains(w.log.String(), "the transcript could not be read again"))
	}
}
