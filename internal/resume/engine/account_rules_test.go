package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/limit"
	"resumed/internal/resume"
)

// stopped is a session that a limit stopped; without a reset none was stated.
func stopped(id string, class limit.Class, at, reset time.Time) resume.Session {
	s := resume.Session{Key: resume.Key{Agent: "bot", ID: id}, State: resume.Waiting, LimitedAt: at}
	s.Limit.Class, s.Limit.Reset.At = class, reset
	return s
}

func TestTheResetOfAnAccountIsTheLastOneThatWasStated(t *testing.T) {
	var none time.Time
	reset := noon.Add(time.Hour)
	a := account{windows: newWindows()}
	a.open(stopped("first", limit.UsageLimit, noon, reset))
	a.open(stopped("untimed", limit.UsageLimit, noon.Add(time.Minute), none))
	require.Equal(t, reset, a.resetAt(noon), "who was told no time knows no better")
	a.open(stopped("read late", limit.UsageLimit, noon.Add(-time.Hour), noon.Add(9*time.Hour)))
	require.Equal(t, []time.Time{noon.Add(time.Minute), reset}, []time.Time{a.limitedAt, a.reset})
	a.open(stopped("after the reset", limit.UsageLimit, reset.Add(time.Minute), none))
	require.Zero(t, a.resetAt(reset.Add(time.Minute)))
	a.open(stopped("again", limit.UsageLimit, reset.Add(2*time.Minute), reset.Add(time.Hour)))
	a.moved(reset.Add(3 * time.Minute))
	require.Zero(t, a.resetAt(reset.Add(3*time.Minute)), "a limit that is over has none: a task would wait for it")
}

func TestAProbeThatWorksIsNoneAnyLonger(t *testing.T) {
	a, key := account{windows: newWindows()}, resume.Key{Agent: "bot", ID: "probe"}
	a.begun(key, noon.Add(-time.Minute))
	a.open(stopped("s", limit.UsageLimit, noon, time.Time{}))
	require.False(t, a.probed(resume.Key{}), "who began before the refusal tries nothing")
	a.begun(key, noon.Add(time.Minute))
	require.True(t, a.probed(resume.Key{}))
	require.False(t, a.probed(key))
	for settle, alone := range map[time.Duration]time.Duration{0: 2 * time.Minute, time.Minute: time.Minute} {
		rules, at := resume.Rules{Settle: settle}, noon.Add(time.Minute)
		require.NotNil(t, a.alone(resume.Key{}, rules, at.Add(alone-1)), settle)
		require.Nil(t, a.alone(resume.Key{}, rules, at.Add(alone)), settle)
	}
	a.moved(noon.Add(-time.Second))
	require.True(t, a.probed(resume.Key{}), "what was before the refusal says nothing")
	a.moved(noon.Add(2 * time.Minute))
	require.False(t, a.probed(resume.Key{}), "the others need not wait while its command runs on")
}

func TestWhichRefusalsAreAWindowOfTheAccount(t *testing.T) {
	end := noon.Add(time.Hour)
	for name, c := range map[string]struct {
		s    resume.Session
		bars bool
	}{
		"an allowance":       {stopped("s", limit.UsageLimit, noon, end), true},
		"a rate":             {stopped("s", limit.RateLimit, noon, end), true},
		"an outage":          {stopped("s", limit.Overloaded, noon, end), false},
		"no time was stated": {stopped("s", limit.UsageLimit, noon, time.Time{}), false},
		"of a session that goes on": {func() resume.Session {
			s := stopped("s", limit.UsageLimit, noon, end)
			s.State = resume.Watching
			return s
		}(), false},
	} {
		w := newWindows()
		w.note(c.s)
		require.Equal(t, c.bars, !w.opensAt(noon).IsZero(), name)
		require.Zero(t, w.bar(noon, noon.Add(time.Minute)), name+", and another session has moved since")
		require.Zero(t, w.opensAt(end), name)
	}
}

func TestTheNewestUsageOfAnAccountCounts(t *testing.T) {
	a := account{windows: newWindows()}
	for _, age := range []time.Duration{time.Hour, 0, 2 * time.Hour} {
		a.meter(resume.Usage{At: noon.Add(-age), WeekUsed: age.Hours()})
	}
	require.Equal(t, resume.Usage{At: noon}, a.usage, "a session that is read late tells of a week before")
}
