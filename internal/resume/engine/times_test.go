package engine

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/limit"
	"resumed/internal/resume"
)

func TestEveryTimeIsBoundedWhereItEnters(t *testing.T) {
	for name, at := range strange {
		t.Run(name, func(t *testing.T) {
			rules := defaultRules()
			rules.MaxWait = 0
			verdict := limit.Verdict{Class: limit.UsageLimit, WaitHelps: true, Reset: limit.Reset{At: at, Source: limit.Structured}}
			for _, ev := range []resume.Event{resume.Limited{At: at, Verdict: verdict}, resume.Progressed{At: at}, resume.Prompted{At: at}, resume.Cancelled{At: at}} {
				synctest.Test(t, func(t *testing.T) {
					w := newWorldOf(t, Options{Rules: rules}, waits)
					key := resume.Key{Agent: "bot", ID: "a"}
					require.NoError(t, w.Observe(t.Context(), []resume.Observation{
						{Key: key, Cwd: "/src", Made: at, CwdBorn: at, Pos: resume.Position{Epoch: "e", Offset: 1}, Event: ev},
						{Key: key, Cwd: "/src", Pos: resume.Position{Epoch: "e", Offset: 2}, Event: limited(time.Now(), limit.Overloaded)},
					}))
					_, err := w.Apply(t.Context(), key, resume.NotSent{Mark: "m", Until: at})
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
