package resume

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/limit"
)

// paying is a session that a usage limit stopped for three hours, and that continues with the user's
// own key.
func paying() *walk {
	w := newWalk().do(limitedUntil(noon, limit.UsageLimit, noon.Add(3*time.Hour)))
	w.Account = "claude-code:default"
	return w.after(time.Minute).do(Pay{})
}

func TestAPersonPaysForASession(t *testing.T) {
	w := paying()
	require.Equal(t, Waiting, w.State)
	require.Equal(t, w.now, w.NextAt, "it is due now")
	require.Equal(t, "due now, with your own key as you asked; from 2026-11-15T15:00:00Z on with its account again", w.Reason)
	require.Equal(t, AccountKey{"claude-code:default", ownKey}, w.AccountKey(), "what it meets there is not its account's")

	kept, err := json.Marshal(w.Session)
	require.NoError(t, err)
	var restored Session
	require.NoError(t, json.Unmarshal(kept, &restored))
	require.Equal(t, w.Paid, restored.Paid, "it survives a restart")

	w.resume().do(Progressed{At: w.now})
	require.Equal(t, Watching, w.State)
	require.Equal(t, "works again after 1 resume, with your own key", w.Reason)
	require.True(t, w.Past[0].OwnKey)

	// It waits out an overload, and uses the key again.
	w.after(time.Minute).do(limited(w.now, limit.Overloaded)).end(Failed)
	w.resume()
	require.True(t, w.Attempts[0].OwnKey)
	w.end(Delivered)

	// When the limit is over the account is used again.
	w.do(Progressed{At: w.now})
	w.now = noon.Add(4 * time.Hour)
	w.do(limited(w.now, limit.Overloaded))
	require.Nil(t, w.Paid)
	require.False(t, w.resume().Attempts[0].OwnKey)
}

func TestAWaitThatOutlastsTheLimitEndsWithTheAccount(t *testing.T) {
	w := paying().resume().do(Progressed{At: noon}).end(Delivered)
	w.now = noon.Add(3*time.Hour - time.Second)
	w.do(limited(w.now, limit.Overloaded))
	require.NotNil(t, w.Paid)
	w.now = w.NextAt
	w.Reason = "held back"
	w.do(Due{Mark: "m9"})
	require.Equal(t, Waiting, w.State, "others may go first there")
	require.Equal(t, "provider overloaded: try later", w.Reason, "what held it back is over")
	require.Nil(t, w.Paid)
	w.do(Due{Mark: "m10"})
	require.Equal(t, Resuming, w.State)
	require.False(t, w.Attempts[0].OwnKey)
}

func TestWhereAKeyDoesNotHelpTheLimitIsWaitedFor(t *testing.T) {
	due := noon.Add(3*time.Hour + time.Minute)
	for name, c := range map[string]struct {
		end func(*walk)
		why string
	}{
		"it is refused": {
			func(w *walk) { w.resume().after(time.Second).do(limited(w.now, limit.Auth)) }, "your own key was refused: ",
		},
		"it has no credit": {
			func(w *walk) {
				w.resume().after(time.Second).do(Progressed{At: w.now}).after(time.Second).do(limited(w.now, limit.Billing))
			}, "your own key was refused: ",
		},
		"it is limited itself, for a month": {
			func(w *walk) {
				w.resume().after(time.Second).do(limitedUntil(w.now, limit.UsageLimit, noon.Add(700*time.Hour)))
			}, "your own key was refused: ",
		},
		"the budget is used up in the midst of it": {
			func(w *walk) {
				w.resume().after(time.Second).do(Progressed{At: w.now}, Ended{Mark: w.Run.Mark, Outcome: Failed, Unpaid: "it cost too much"})
			}, "it cost too much; usage limit",
		},
		"the budget is used up before": {
			func(w *walk) { w.do(Due{Mark: "m1"}, NotSent{Mark: "m1", Why: "nothing is left", Then: DropOwnKey}) }, "nothing is left; usage limit",
		},
		"it is tried in vain": {
			func(w *walk) {
				for w.Paid != nil {
					w.resume().after(time.Second).end(Failed)
				}
			}, "5 resumes with your own key did not help",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := paying()
			c.end(w)
			require.Nil(t, w.Paid)
			require.Equal(t, Waiting, w.State)
			require.Equal(t, due, w.NextAt, "for the limit of its account")
			require.True(t, w.Reported, "a person is told")
			require.Contains(t, w.Reason, c.why)
			require.Equal(t, limit.UsageLimit, w.Limit.Class)
			if w.Run != nil {
				w.end(Failed)
			}
			require.False(t, w.resume().Attempts[0].OwnKey)
		})
	}
}

func TestWhatEndsAPayment(t *testing.T) {
	for name, ev := range map[string]Event{
		"a person goes on with it":        Prompted{At: noon.Add(2 * time.Minute)},
		"a person cancels it":             Forget{},
		"a person stops it":               Cancelled{At: noon.Add(2 * time.Minute)},
		"a person wants it without a key": Retry{},
	} {
		t.Run(name, func(t *testing.T) {
			require.Nil(t, paying().after(time.Minute).do(ev).Paid)
		})
	}
}

func TestWhatCannotBePaidFor(t *testing.T) {
	for name, w := range map[string]*walk{
		"works":                        newWalk().do(Progressed{At: noon}),
		"was overloaded":               newWalk().do(limited(noon, limit.Overloaded)),
		"must be signed in":            newWalk().do(limited(noon, limit.Auth)),
		"was not told a time":          newWalk().do(limited(noon, limit.UsageLimit)),
		"has its limit behind it":      newWalk().do(limitedUntil(noon, limit.UsageLimit, noon.Add(time.Second))).after(2 * time.Second),
		"is being resumed":             newWalk().do(limitedUntil(noon, limit.UsageLimit, noon.Add(time.Second))).resume(),
		"goes on with one key already": paying(),
	} {
		t.Run(name, func(t *testing.T) {
			before := w.Session
			if before.Paid != nil {
				w.resume()
				before = w.Session
			}
			require.NotEmpty(t, w.WhyNotOwnKey(w.now))
			require.Equal(t, before, w.do(Pay{}).Session)
		})
	}
}

func TestAnHourOfWork(t *testing.T) {
	require.InDelta(t, 3, Cost{USD: 1.5, Work: 30 * time.Minute}.AnHour(), 1e-9)
	require.Zero(t, Cost{USD: 1.5}.AnHour(), "it is not known")
}
