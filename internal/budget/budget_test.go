package budget

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWhatIsWritten(t *testing.T) {
	terms, err := Parse(Example)
	require.NoError(t, err)
	require.Equal(t, Terms{5, 20, Month}, terms)
	require.Equal(t, Example, terms.String())
	terms, err = Parse(" 0.50 usd a Session,3USD a DAY ")
	require.NoError(t, err)
	require.Equal(t, "0.50 USD a session, 3 USD a day", terms.String())
	for _, text := range []string{"", "5", "5 USD", "5 EUR a session, 20 EUR a month", "5 USD a session", "20 USD a month", "5 USD a session, 20 USD a week", "-5 USD a session, 20 USD a month", "0 USD a session, 20 USD a month", "20 USD a session, 5 USD a month", "1e9 USD a session, 1e9 USD a month"} {
		_, err := Parse(text)
		require.Error(t, err, text)
	}
}

func entry(mark, session string, at time.Time, most float64) Entry {
	return Entry{Mark: mark, Agent: "bot", Session: session, At: at, Most: most}
}

func TestWhatIsSetAsideIsGone(t *testing.T) {
	now := time.Date(2026, 11, 16, 12, 0, 0, 0, time.Local)
	terms := Terms{5, 8, Month}
	var l Ledger
	require.True(t, l.Reserve(terms, entry("m1", "a", now, 5)))
	require.Zero(t, l.Remaining(terms, "bot", "a", now).Max())
	require.InDelta(t, 3, l.Remaining(terms, "bot", "b", now).Max(), 1e-9, "what all may cost bounds each")
	require.InDelta(t, 5, l.Remaining(terms, "other", "b", now).Max(), 1e-9, "another agent has its own")
	require.False(t, l.Reserve(terms, entry("m2", "b", now, 3.01)))
	require.True(t, l.Reserve(terms, entry("m2", "b", now, 3)))

	l.Find("m1").Commit(1.234)
	l.Find("m1").Commit(0) // only the first call counts
	l.Drop("m2")
	require.InDelta(t, 3.76, l.Remaining(terms, "bot", "a", now).Max(), 1e-9, "whole cents, and never more than there is")
	l.Forget(now)
	require.InDelta(t, 3.76, l.Remaining(terms, "bot", "a", now).Max(), 1e-9, "what is not old stays")
}

func TestAPeriodBeginsWhereItsUserLives(t *testing.T) {
	noon := time.Date(2026, 11, 30, 12, 0, 0, 0, time.Local)
	var l Ledger
	require.True(t, l.Reserve(Terms{5, 5, Month}, entry("m1", "a", noon, 5)))
	for each, left := range map[Period][]float64{Month: {0, 0, 5}, Day: {0, 5, 5}} {
		terms := Terms{5, 5, each}
		require.InDelta(t, left[0], l.Remaining(terms, "bot", "a", noon.Add(11*time.Hour)).Max(), 1e-9, each)
		require.InDelta(t, left[2], l.Remaining(terms, "bot", "a", noon.Add(13*time.Hour)).Max(), 1e-9, each)
	}
	require.InDelta(t, 5, l.Remaining(Terms{5, 5, Day}, "bot", "a", noon.Add(-13*time.Hour).AddDate(0, 0, 2)).Max(), 1e-9)
	l.Forget(noon.Add(100 * 24 * time.Hour))
	require.Nil(t, l.Find("m1"), "what is long over is forgotten")
}

// A day in New York begins five hours later than in London, and the day of a change of the clock is a day too.
func TestAPeriodBeginsAtMidnightOfItsZone(t *testing.T) {
	for name, c := range map[string]struct {
		each             Period
		spent, now, zone string
		left             float64
	}{
		"before midnight there":              {Day, "2026-11-16 23:59", "2026-11-17 00:00", "America/New_York", 5},
		"after midnight in London only":      {Day, "2026-11-16 18:00", "2026-11-16 19:30", "America/New_York", 0},
		"a month ends with its day":          {Month, "2026-11-30 19:30", "2026-11-30 23:59", "America/New_York", 0},
		"and the next one begins":            {Month, "2026-11-30 19:30", "2026-12-01 00:00", "America/New_York", 5},
		"a day of 25 hours":                  {Day, "2026-10-25 00:30", "2026-10-25 23:59", "Europe/Berlin", 0},
		"a month from its first to its 31st": {Month, "2026-12-01 00:00", "2026-12-31 23:59", "Europe/Berlin", 0},
	} {
		zone, err := time.LoadLocation(c.zone)
		require.NoError(t, err)
		at := func(text string) time.Time {
			t, err := time.ParseInLocation("2006-01-02 15:04", text, zone)
			if err != nil {
				panic(err)
			}
			return t
		}
		terms := Terms{5, 5, c.each}
		var l Ledger
		require.True(t, l.Reserve(terms, entry("m1", "a", at(c.spent), 5)))
		l.Forget(at(c.now))
		require.InDelta(t, c.left, l.Remaining(terms, "bot", "a", at(c.now)).Max(), 1e-9, name)
	}
}

func TestACostThatCannotBeAddsNothing(t *testing.T) {
	now, terms := time.Now(), Terms{5, 5, Month}
	var l Ledger
	require.True(t, l.Reserve(terms, entry("m1", "a", now, 5)))
	l.Find("m1").Commit(-3)
	require.InDelta(t, 5, l.Remaining(terms, "bot", "a", now).Max(), 1e-9)
}
