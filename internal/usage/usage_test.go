package usage

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var nine = time.Date(2026, 11, 16, 9, 0, 0, 0, time.UTC)

func told(after time.Duration, used float64) Reading {
	return Reading{Kind: FiveHours, Length: 5 * time.Hour, Used: used, ResetsAt: nine.Add(5 * time.Hour), At: nine.Add(after)}
}

func TestAWindowFillsAtThePaceOfLate(t *testing.T) {
	m := NewMeters(nil)
	for i := range 60 { // one percent every two minutes
		require.True(t, m.Add("a", nine.Add(time.Duration(i)*time.Minute), told(time.Duration(i)*time.Minute, float64(i)/2)))
	}
	now := nine.Add(time.Hour)
	all := m.Windows("a", now)
	require.Len(t, all, 1)
	w := all[0]
	require.Equal(t, "reported", w.Source)
	require.InDelta(t, 30, *w.PerHour, 0.1)
	require.WithinDuration(t, nine.Add(200*time.Minute), *w.FullAt, time.Minute)
	require.False(t, w.FullAt.Before(*w.Earliest))
	require.False(t, w.Latest.Before(*w.FullAt))

	require.Empty(t, m.Windows("b", now), "another account")
	require.Nil(t, m.Windows("a", nine.Add(2*time.Hour))[0].FullAt, "nothing was used for an hour")
	require.Empty(t, m.Windows("a", nine.Add(5*time.Hour)), "it is over")
}

func TestWhatResetsBeforeItIsFullHasNoTime(t *testing.T) {
	m := NewMeters(nil)
	for i := range 60 {
		m.Add("a", nine.Add(time.Duration(i)*time.Minute), told(time.Duration(i)*time.Minute, float64(i)/10))
	}
	w := m.Windows("a", nine.Add(time.Hour))[0]
	require.Nil(t, w.FullAt)
	require.InDelta(t, 6, *w.PerHour, 0.1)
}

func TestAFewReadingsSayNothingOfAPace(t *testing.T) {
	m := NewMeters(nil)
	m.Add("a", nine.Add(time.Minute), told(0, 10), told(time.Minute, 90))
	w := m.Windows("a", nine.Add(time.Minute))[0]
	require.Equal(t, 90.0, w.Used)
	require.Nil(t, w.PerHour)
	require.Nil(t, w.FullAt)
}

func TestANewWindowBeginsAnew(t *testing.T) {
	m := NewMeters(nil)
	m.Add("a", nine.Add(time.Hour), told(time.Hour, 85))
	require.Len(t, m.Crossed("a", nine.Add(time.Hour)), 1)
	require.Empty(t, m.Crossed("a", nine.Add(time.Hour)), "told once")
	m.Add("a", nine.Add(2*time.Hour), told(2*time.Hour, 96))
	require.Len(t, m.Crossed("a", nine.Add(2*time.Hour)), 1, "and once more at the next mark")

	kept, err := m.Marshal(nine.Add(2 * time.Hour))
	require.NoError(t, err)
	m = NewMeters(kept)
	require.Empty(t, m.Crossed("a", nine.Add(2*time.Hour)), "also after a restart")

	next := told(6*time.Hour, 81)
	next.ResetsAt = nine.Add(10 * time.Hour)
	require.True(t, m.Add("a", nine.Add(6*time.Hour), next))
	require.False(t, m.Add("a", nine.Add(6*time.Hour), told(6*time.Hour, 99)), "a file that still names the old one")
	require.Equal(t, 81.0, m.Windows("a", nine.Add(6*time.Hour))[0].Used)
	require.Len(t, m.Crossed("a", nine.Add(6*time.Hour)), 1, "of another window")

	m = NewMeters(nil)
	m.Add("a", nine.Add(time.Hour), told(time.Hour, 90))
	early := told(2*time.Hour, 5) // the provider began a new window ahead of time
	early.ResetsAt = nine.Add(7 * time.Hour)
	require.True(t, m.Add("a", nine.Add(2*time.Hour), early))
	require.False(t, m.Add("a", nine.Add(3*time.Hour), told(3*time.Hour, 90)), "a session that still has the old one")
	require.Equal(t, 5.0, m.Windows("a", nine.Add(3*time.Hour))[0].Used)
}

func TestWhatCannotBeTrueIsNotKept(t *testing.T) {
	now := nine.Add(time.Hour)
	for name, spoil := range map[string]func(*Reading){
		"no time":          func(r *Reading) { r.At = time.Time{} },
		"ahead of us":      func(r *Reading) { r.At = now.Add(time.Hour) },
		"over":             func(r *Reading) { r.ResetsAt = now.Add(-time.Minute) },
		"much too long":    func(r *Reading) { r.ResetsAt = now.Add(50 * time.Hour) },
		"less than none":   func(r *Reading) { r.Used = -1 },
		"more than much":   func(r *Reading) { r.Used = 1e18 },
		"without a length": func(r *Reading) { r.Length = 0 },
	} {
		m, r := NewMeters([]byte("{broken")), told(time.Minute, 50)
		spoil(&r)
		require.False(t, m.Add("a", now, r), name)
		require.Empty(t, m.Windows("a", now), name)
	}
	require.Empty(t, NewMeters([]byte(`{"a":{"five_hour":null,"x":{"readings":[]},"y":{"readings":[{"kind":"y"}]}}}`)).Windows("a", now))
}

// A reading each second for a week takes little memory.
func TestReadingsAreBounded(t *testing.T) {
	m := NewMeters(nil)
	for i := range 5 * 3600 {
		at := time.Duration(i) * time.Second
		m.Add("a", nine.Add(at), told(at, float64(i)/360))
	}
	require.LessOrEqual(t, len(m.of["a"][FiveHours].Readings), 2*detail)
	require.InDelta(t, 10, m.of["a"][FiveHours].pace(time.Hour), 0.5)
}

// Simulated working days: phases of up to five minutes with different paces, reported in whole
// percents. Half of the forecasts are off by at most a tenth of the time left.
func TestForecastsOfWorkingDays(t *testing.T) {
	var errs []float64
	for seed := range uint64(200) {
		dice := rand.New(rand.NewPCG(seed, 1))
		haste := 25 + 20*dice.Float64() // percent an hour: full within the window
		var all []Reading
		used, at, pace, until := 0.0, time.Duration(0), 0.0, time.Duration(0)
		for ; used < 100 && at < 5*time.Hour; at += 30 * time.Second {
			if at >= until {
				pace, until = haste*(0.3+1.4*dice.Float64()), at+time.Duration(dice.Int64N(int64(5*time.Minute)))
			}
			used += pace / 120
			all = append(all, told(at, float64(int(used))))
		}
		if used < 100 {
			continue
		}
		m := NewMeters(nil)
		for i, r := range all {
			m.Add("a", r.At, r)
			if r.Used < 20 || r.Used > 90 || i%20 != 0 {
				continue
			}
			if w := m.Windows("a", r.At)[0]; w.FullAt != nil {
				errs = append(errs, w.FullAt.Sub(nine.Add(at)).Abs().Seconds()/nine.Add(at).Sub(r.At).Seconds())
			}
		}
	}
	slices.Sort(errs)
	require.Greater(t, len(errs), 500)
	t.Logf("%d forecasts: half of them off by %.1f %% of the time left at most, nine of ten by %.1f %%", len(errs), 100*errs[len(errs)/2], 100*errs[len(errs)*9/10])
	require.Less(t, errs[len(errs)/2], 0.10)
}
