package resume

import (
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/limit"
)

// strange are times that files may bear.
var strange = map[string]time.Time{
	"year -1 in UTC":   time.Date(0, 1, 1, 0, 0, 0, 0, time.FixedZone("", 14*3600)),
	"year 10000":       time.Date(9999, 12, 31, 23, 59, 59, 0, time.FixedZone("", -14*3600)),
	"9e15 ms":          time.UnixMilli(9e15),
	"the end of 9999":  time.Unix(253402300799, 0),
	"the first second": time.Unix(-1<<62, 0),
	"the last second":  time.Unix(1<<62, 0),
}

func TestEveryTimeIsBoundedWhereItEnters(t *testing.T) {
	for name, at := range strange {
		t.Run(name, func(t *testing.T) {
			rules := defaultRules()
			rules.MaxWait = 0
			verdict := limit.Verdict{Class: limit.UsageLimit, WaitHelps: true, Reset: limit.Reset{At: at, Source: limit.Structured}}
			for _, ev := range []Event{Limited{At: at, Verdict: verdict}, Progressed{At: at}, Prompted{At: at}, Cancelled{At: at}} {
				synctest.Test(t, func(t *testing.T) {
					w := newWorldOf(t, Options{Rules: rules}, waits)
					key := Key{"bot", "a"}
					require.NoError(t, w.Observe(t.Context(), []Observation{
						{Key: key, Cwd: "/src", Made: at, CwdBorn: at, Pos: Position{"e", 1}, Event: ev},
						{Key: key, Cwd: "/src", Pos: Position{"e", 2}, Event: limited(time.Now(), limit.Overloaded)},
					}))
					_, err := w.Apply(t.Context(), key, NotSent{Mark: "m", Until: at})
					require.NoError(t, err)
					s, err := w.Session(t.Context(), key)
					require.NoError(t, err)
					mustBeTold(t, s)
					w.stop()
				})
			}
		})
	}
}

func mustBeTold(t *testing.T, s Session) {
	t.Helper()
	_, err := json.Marshal(s)
	require.NoError(t, err)
	_, err = json.Marshal(s.View(1))
	require.NoError(t, err)
}

func TestASessionWithStrangeTimesIsMended(t *testing.T) {
	now := time.Now()
	for name, at := range strange {
		t.Run(name, func(t *testing.T) {
			bad := Session{
				Key: Key{"bot", "a"}, State: Waiting, CwdBorn: at, LimitedAt: at, BornAt: at, FoundAt: at, MovedAt: at, RecoveredAt: at,
				NextAt: at, WaitFrom: at, RetryAskedAt: at, Hold: at, Newcomer: &Newcomer{BornAt: at},
				Limit:    limit.Verdict{Reset: limit.Reset{At: at}},
				Attempts: []Attempt{{StartedAt: at, EndedAt: at}}, Past: []Attempt{{StartedAt: at}}, Cut: []Attempt{{EndedAt: at}},
			}
			_, err := json.Marshal(bad.View(1))
			require.NoError(t, err, "whatever it is, it must not take the others along")
			s, impossible := bad.Bounded(now)
			require.True(t, impossible)
			require.True(t, s.WorthKeeping())
			mustBeTold(t, s)
			require.Equal(t, at, bad.Attempts[0].StartedAt, "it shares nothing with what it was made from")
			_, again := s.Bounded(now)
			require.False(t, again)
		})
	}
	good := Session{Key: Key{"bot", "a"}, State: Waiting, LimitedAt: now, NextAt: latest.Add(time.Hour)}
	s, impossible := good.Bounded(now)
	require.False(t, impossible)
	require.Equal(t, good.NextAt, s.NextAt)
}
