package view

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/limit"
	"resumed/internal/resume"
)

func TestASessionWithStrangeTimesIsShown(t *testing.T) {
	for name, at := range strange {
		t.Run(name, func(t *testing.T) {
			bad := resume.Session{
				Key: resume.Key{Agent: "bot", ID: "a"}, State: resume.Waiting, CwdBorn: at, LimitedAt: at, BornAt: at, FoundAt: at, MovedAt: at, RecoveredAt: at,
				Interruption: resume.Interruption{
					NextAt:       at,
					WaitFrom:     at,
					RetryAskedAt: at,
					NotBefore:    at,
					Newcomer:     &resume.Newcomer{BornAt: at},
					Limit:        limit.Verdict{Reset: limit.Reset{At: at}},
					Attempts:     []resume.Attempt{{StartedAt: at, EndedAt: at}},
					Cut:          []resume.Attempt{{EndedAt: at}},
				},
				Past: []resume.Attempt{{StartedAt: at}},
			}
			_, err := json.Marshal(Of(bad, 1))
			require.NoError(t, err, "whatever it is, it must not take the others along")
		})
	}
}
