package ownkey

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/config"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

type values map[string][]byte

func (v values) Value(key string) ([]byte, bool) { value, ok := v[key]; return value, ok }

func (v values) PutValue(key string, value []byte) { v[key] = value }

var session = resume.Session{Key: resume.Key{Agent: "claude-code", ID: "a"}}

// newBudget returns a budget of 5 USD a session and 8 USD a month, as it is stored.
func newBudget(t *testing.T, store values) *Budget {
	t.Helper()
	file := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(file, []byte("sk-secret\n"), 0o600))
	cfg := config.Default()
	cfg.Agents = []config.Agent{{Name: "claude-code", Enabled: true, OwnKeyFile: file, Budget: "5 USD a session, 8 USD a month"}}
	return New(Options{Config: func() config.Config { return cfg }, Store: store, Changed: func() {}, Log: slog.New(slog.DiscardHandler)})
}

func left(t *testing.T, b *Budget, s resume.Session) float64 {
	t.Helper()
	most, why := b.Remaining(s)
	require.Equal(t, most == 0, why != "", why)
	return most
}

func TestWhatARunMayCostIsSetAsideBeforeItBegins(t *testing.T) {
	store := make(values)
	b := newBudget(t, store)
	other := resume.Session{Key: resume.Key{Agent: "claude-code", ID: "b"}}
	require.EqualValues(t, 5, left(t, b, session))
	require.Empty(t, b.Reserve(session, "m1", 5, resume.Cost{USD: 2, Read: 10}))
	require.Zero(t, left(t, b, session))
	require.EqualValues(t, 3, left(t, b, other), "all sessions together have 8 USD")
	require.NotEmpty(t, b.Reserve(other, "m2", 4, resume.Cost{}))

	again := newBudget(t, store)
	require.Zero(t, left(t, again, session), "a restart forgets nothing")
	again.Cancel("m1")
	require.EqualValues(t, 5, left(t, again, session), "the run never began")
}

func TestWhatARunHasCost(t *testing.T) {
	for name, c := range map[string]struct {
		has           resume.Cost
		known, failed bool
		left          float64
		stopped       bool
	}{
		"counted":                        {has: resume.Cost{USD: 3.5, Read: 20}, known: true, left: 3.5},
		"not known":                      {has: resume.Cost{USD: 3.5, Read: 20}, left: 0},
		"not counted since it began":     {has: resume.Cost{USD: 3.5, Read: 10}, known: true, left: 0},
		"all that it may":                {has: resume.Cost{USD: 7, Read: 20}, known: true, failed: true, left: 0, stopped: true},
		"failed for a reason of its own": {has: resume.Cost{USD: 2.5, Read: 20}, known: true, failed: true, left: 4.5},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBudget(t, make(values))
			require.Empty(t, b.Reserve(session, "m1", 5, resume.Cost{USD: 2, Read: 10}))
			why := b.Commit(session, "m1", c.has, c.known, c.failed)
			require.Equal(t, c.stopped, why != "", why)
			require.InDelta(t, c.left, left(t, b, session), 0.001)
			require.Empty(t, b.Commit(session, "unknown", c.has, true, true))
		})
	}
}

// The run, its end and its bound may be in the lives of three daemons.
func TestWhatARunHasCostIsKnownToTheNextDaemon(t *testing.T) {
	store := make(values)
	shown := 0
	daemon := func() *Budget {
		b := newBudget(t, store)
		b.opts.Changed = func() { shown++ }
		return b
	}
	require.Empty(t, daemon().Reserve(session, "m1", 5, resume.Cost{USD: 2, Read: 10}))
	require.Empty(t, daemon().Commit(session, "m1", resume.Cost{USD: 3.5, Read: 20}, true, false), "it began at 2 USD")
	require.InDelta(t, 3.5, left(t, daemon(), session), 0.001)
	require.Empty(t, daemon().Commit(session, "m1", resume.Cost{USD: 7, Read: 30}, true, false))
	require.InDelta(t, 3.5, left(t, daemon(), session), 0.001, "its end counts once")

	require.Empty(t, daemon().Reserve(session, "m2", 3, resume.Cost{USD: 3.5, Read: 30}))
	require.Empty(t, daemon().Commit(session, "m2", resume.Cost{USD: 3.6, Read: 30}, true, false), "nothing was recorded since")
	require.InDelta(t, 0.5, left(t, daemon(), session), 0.001)
	require.Empty(t, daemon().Reserve(session, "m3", 0.5, resume.Cost{}))
	daemon().Cancel("m3")
	require.InDelta(t, 0.5, left(t, daemon(), session), 0.001)
	require.Equal(t, 7, shown, "people see each of these")
}

func TestTheKeyIsInNoLog(t *testing.T) {
	var lines strings.Builder
	store := make(values)
	b := newBudget(t, store)
	b.opts.Log = slog.New(slog.NewTextHandler(&lines, &slog.HandlerOptions{Level: slog.LevelDebug}))
	_, key, err := b.Key("claude-code")
	require.NoError(t, err)
	require.Empty(t, b.Reserve(session, "m1", 5, resume.Cost{}))
	_ = b.Commit(session, "m1", resume.Cost{}, false, true)
	require.NotEmpty(t, lines.String())
	require.NotContains(t, lines.String()+string(store[ledgerKey]), key)
}

// A run that ended well has reached its bound only by chance.
func TestARunThatEndedWellIsNotStoppedByItsCost(t *testing.T) {
	b := newBudget(t, make(values))
	require.Empty(t, b.Reserve(session, "m1", 5, resume.Cost{}))
	require.Empty(t, b.Commit(session, "m1", resume.Cost{USD: 5, Read: 20}, true, false))
}

// If the ledger cannot be read, what was spent is not known: no run may begin.
func TestABrokenLedgerAllowsNothing(t *testing.T) {
	b := newBudget(t, values{ledgerKey: []byte("{")})
	require.Zero(t, left(t, b, session))
	_, why := b.Remaining(session)
	require.Contains(t, why, "cannot read what was spent")
}

func TestAnAgentWithoutAKeyFileIsNotOffered(t *testing.T) {
	b := newBudget(t, make(values))
	require.True(t, b.Offers("claude-code"))
	require.False(t, b.Offers("codex"))
	off := b.opts.Config()
	off.Agents = slices.Clone(off.Agents)
	off.Agents[0].Enabled = false
	b.opts.Config = func() config.Config { return off }
	require.False(t, b.Offers("claude-code"), "it is switched off")
	b = newBudget(t, make(values))
	require.Zero(t, left(t, b, resume.Session{Key: resume.Key{Agent: "codex", ID: "a"}}))

	variable, key, err := b.Key("claude-code")
	require.NoError(t, err)
	require.Equal(t, "ANTHROPIC_API_KEY", variable)
	require.Equal(t, "sk-secret", key)
	_, _, err = b.Key("codex")
	require.ErrorContains(t, err, "takes no key")

	require.NoError(t, os.Chmod(b.opts.Config().Agents[0].OwnKeyFile, 0o644))
	_, why := b.Remaining(session)
	require.Contains(t, why, "others may read it")
}

func TestWhatIsOfferedToAStoppedSession(t *testing.T) {
	b := newBudget(t, make(values))
	now := time.Now()
	require.Nil(t, b.Offer(session, now), "it is not stopped")

	stopped := session
	stopped.State = resume.Waiting
	stopped.Limit = limit.Verdict{Class: limit.UsageLimit, Reset: limit.Reset{At: now.Add(time.Hour)}}
	stopped.Cost = resume.Cost{USD: 6, Work: 2 * time.Hour, Read: 1}
	offer := b.Offer(stopped, now)
	require.Equal(t, "resumed retry a --own-key", offer.Command)
	require.EqualValues(t, 5, offer.Left)
	require.EqualValues(t, 3, *offer.AnHour)

	stopped.Paid = &resume.Paid{Until: now.Add(2 * time.Hour)}
	offer = b.Offer(stopped, now)
	require.True(t, offer.Active && offer.Command == "" && offer.Until.Equal(stopped.Paid.Until))
}
