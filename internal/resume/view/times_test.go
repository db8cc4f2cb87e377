package view

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/limit"
	"resumed/internal/resume"
)

func mustBeTold(t *testing.T, s resume.Session) {
	t.Helper()
	_, err := json.Marshal(s)
	require.NoError(t, err)
	_, err = json.Marshal(Of(s, 1))
	require.NoError(t, err)
}

func TestASessionWithStrangeTimesIsMended(t *testing.T) {
	now := time.Now()
	for name, at := range strange {
		t.Run(name, func(t *testing.T) {
			bad := resume.Session{
				Key: resume.Key{Agent: "bot", ID: "a"}, State: resume.Waiting, CwdBorn: at, LimitedAt: at, BornAt: at, FoundAt: at, MovedAt: at, RecoveredAt: at,
				Interruption: resume.Interruption{
					NextAt:       at,
					WaitFrom:     at,
					RetryAskedAt: at,
					Hold:         at,
					Newcomer:     &resume.Newcomer{BornAt: at},
					Limit:        limit.Verdict{Reset: limit.Reset{At: at}},
					Attempts:     []resume.Attempt{{StartedAt: at, EndedAt: at}},
					Cut:          []resume.Attempt{{EndedAt: at}},
				},
				Past: []resume.Attempt{{StartedAt: at}},
			}
			_, err := json.Marshal(Of(bad, 1))
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
	good := resume.Session{Key: resume.Key{Agent: "bot", ID: "a"}, State: resume.Waiting, LimitedAt: now, Interruption: resume.Interruption{NextAt: time.Date(2199, time.December, 31, 23, 59, 59, 0, time.UTC).Add(time.Hour)}}
	s, impossible := good.Bounded(now)
	require.False(t, impossible)
	require.Equal(t, good.NextAt, s.NextAt)
}
