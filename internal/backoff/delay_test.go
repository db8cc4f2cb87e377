package backoff

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	ms  = time.Millisecond
	sec = time.Second
)

// plain returns the policy's delays before jitter, for retries 1 to n.
func plain(p Policy, n int) []time.Duration {
	var all []time.Duration
	for i := range n {
		base, _, _ := p.Range(i + 1)
		all = append(all, base)
	}
	return all
}

func TestStrategiesGrowAsTheySay(t *testing.T) {
	tests := map[Strategy][]time.Duration{
		Fixed:       {2 * sec, 2 * sec, 2 * sec, 2 * sec, 2 * sec, 2 * sec},
		Linear:      {2 * sec, 4 * sec, 6 * sec, 8 * sec, 9 * sec, 9 * sec},
		Exponential: {2 * sec, 4 * sec, 8 * sec, 9 * sec, 9 * sec, 9 * sec},
	}
	for strategy, want := range tests {
		t.Run(string(strategy), func(t *testing.T) {
			p := Policy{Strategy: strategy, BaseDelay: 2 * sec, MaxDelay: 9 * sec, MaxRetries: 6}
			require.Equal(t, want, plain(p, 6))
			for n, d := range want {
				require.Equal(t, d, p.Delay(n+1, 0.7), "without jitter the delays are the plain ones")
			}
		})
	}
}

func TestADelayThatJustFitsIsNotCapped(t *testing.T) {
	p := Policy{Strategy: Exponential, BaseDelay: 4, MaxDelay: 9}
	require.Equal(t, []time.Duration{4, 8, 9}, plain(p, 3))
}

func TestDoublingStopsAtMaxExponent(t *testing.T) {
	p := Policy{Strategy: Exponential, BaseDelay: sec, MaxDelay: time.Hour, MaxExponent: 3}
	require.Equal(t, []time.Duration{1 * sec, 2 * sec, 4 * sec, 8 * sec, 8 * sec, 8 * sec}, plain(p, 6))

	p.Strategy = Linear
	require.Equal(t, []time.Duration{1 * sec, 2 * sec, 3 * sec, 4 * sec, 5 * sec, 6 * sec}, plain(p, 6),
		"nothing doubles there")
}

func TestJitterModesSpreadAsTheySay(t *testing.T) {
	tests := map[string]struct {
		mode                         JitterMode
		percent                      float64
		least, middle, most, clamped time.Duration // clamped: most, with the hard cap
	}{
		"symmetric 10 %":         {Symmetric, 0.1, 27 * sec, 30 * sec, 33 * sec, 30 * sec},
		"symmetric 55 %":         {Symmetric, 0.55, 13500 * ms, 30 * sec, 46500 * ms, 30 * sec},
		"symmetric 100 %":        {Symmetric, 1, 0, 30 * sec, 60 * sec, 30 * sec},
		"symmetric 0 %":          {Symmetric, 0, 30 * sec, 30 * sec, 30 * sec, 30 * sec},
		"additive 50 %":          {Additive, 0.5, 30 * sec, 37*sec + 500*ms, 45 * sec, 30 * sec},
		"full, whatever percent": {Full, 0.1, 0, 15 * sec, 30 * sec, 30 * sec},
		"equal, half fixed":      {Equal, 0.1, 15 * sec, 22*sec + 500*ms, 30 * sec, 30 * sec},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := Policy{
				Strategy: Exponential, BaseDelay: 30 * sec, MaxDelay: 30 * sec, MaxRetries: 5,
				Jitter: true, JitterMode: tt.mode, JitterPercent: tt.percent,
			}
			base, least, most := p.Range(3)
			require.Equal(t, 30*sec, base)
			require.Equal(t, tt.least, least)
			require.Equal(t, tt.most, most)
			require.Equal(t, tt.least, p.Delay(3, 0))
			require.Equal(t, tt.middle, p.Delay(3, 0.5))

			p.HardCap = true
			_, _, most = p.Range(3)
			require.Equal(t, tt.clamped, most)

			p.Jitter = false
			require.Equal(t, 30*sec, p.Delay(3, 0.9), "no jitter")
		})
	}
}

func TestCapComesBeforeJitter(t *testing.T) {
	p := Default()
	require.Equal(t, 330*sec, p.Delay(1000, 1), "300 s + 10 %, not 300 s")
	require.Equal(t, 270*sec, p.Delay(1000, 0))
	p.HardCap = true
	require.Equal(t, 300*sec, p.Delay(1000, 1))
	require.Equal(t, 270*sec, p.Delay(1000, 0), "the hard cap only cuts")
}

func TestRetryZeroGivesTheBaseAndABillionTheCap(t *testing.T) {
	for _, name := range Names() {
		p, _ := Named(name)
		for _, n := range []int{0, -1, math.MinInt} {
			require.Equal(t, p.BaseDelay, p.Delay(n, 0.9), "%s, n = %d", name, n)
			base, least, most := p.Range(n)
			require.Equal(t, []time.Duration{p.BaseDelay, p.BaseDelay, p.BaseDelay}, []time.Duration{base, least, most})
		}
		p.Jitter, p.MaxExponent = false, 0
		for _, n := range []int{63, 64, 65, 1e9, math.MaxInt} {
			require.Equal(t, p.MaxDelay, p.Delay(n, 0.9), "%s, n = %d", name, n)
		}
		p.Strategy = Linear
		for _, n := range []int{1e9, math.MaxInt} {
			require.Equal(t, p.MaxDelay, p.Delay(n, 0.9), "%s, linear, n = %d", name, n)
		}
	}
}

func TestTheLongestDelaysDoNotOverflow(t *testing.T) {
	p := Policy{
		Strategy: Exponential, BaseDelay: math.MaxInt64 - 1, MaxDelay: math.MaxInt64,
		Jitter: true, JitterMode: Symmetric, JitterPercent: 1,
	}
	require.EqualValues(t, math.MaxInt64, p.Delay(2, math.Nextafter(2, 0)))
	require.EqualValues(t, math.MaxInt64, p.Delay(math.MaxInt, 1))
	p.JitterMode = Additive
	require.EqualValues(t, math.MaxInt64, p.Delay(3, 1))
	require.EqualValues(t, math.MaxInt64, p.Delay(3, 0))

	p = Policy{Strategy: Linear, BaseDelay: 1 << 40, MaxDelay: time.Hour}
	require.Equal(t, time.Hour, p.Delay(1<<24, 0), "the product is 2^64, which is 0 in 64 bits")
}

func TestBadPoliciesAndBadDiceGiveSaneDelays(t *testing.T) {
	tests := map[string]struct {
		change func(*Policy)
		u      float64
		want   time.Duration
	}{
		"u is NaN":                {func(*Policy) {}, math.NaN(), 54 * sec},
		"u is negative":           {func(*Policy) {}, -3, 54 * sec},
		"u is above 1":            {func(*Policy) {}, 7, 66 * sec},
		"percent is NaN":          {func(p *Policy) { p.JitterPercent = math.NaN() }, 1, 60 * sec},
		"percent is -1":           {func(p *Policy) { p.JitterPercent = -1 }, 1, 60 * sec},
		"percent is 2":            {func(p *Policy) { p.JitterPercent = 2 }, 1, 120 * sec},
		"percent is +Inf":         {func(p *Policy) { p.JitterPercent = math.Inf(1) }, 1, 120 * sec},
		"unknown mode":            {func(p *Policy) { p.JitterMode = "wild" }, 1, 60 * sec},
		"unknown strategy":        {func(p *Policy) { p.Strategy = "wild" }, 0.5, 30 * sec},
		"negative base":           {func(p *Policy) { p.BaseDelay = -1 }, 0.5, 0},
		"negative max":            {func(p *Policy) { p.MaxDelay = -1; p.HardCap = true }, 1, 0},
		"negative max, no jitter": {func(p *Policy) { p.MaxDelay = -1; p.Jitter = false }, 1, 0},
		"base above max":          {func(p *Policy) { p.BaseDelay = time.Hour; p.HardCap = true }, 1, 300 * sec},
		"exponent below 0":        {func(p *Policy) { p.MaxExponent = -4 }, 0.5, 60 * sec},
		"nothing set":             {func(p *Policy) { *p = Policy{} }, 0.5, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := Default()
			tt.change(&p)
			require.Equal(t, tt.want, p.Delay(2, tt.u))
		})
	}
}

func TestDelayDoesNotAllocate(t *testing.T) {
	n := 0
	for _, name := range Names() {
		p, _ := Named(name)
		require.Zero(t, testing.AllocsPerRun(100, func() {
			n++
			_ = p.Delay(n, 0.3)
			_, _, _ = p.Range(n)
		}), name)
	}
}

func TestAScheduleNumbersRetriesAndUsesOneRandomNumberForEach(t *testing.T) {
	dice := []float64{0, 0.5, 1}
	u := func() float64 { d := dice[0]; dice = dice[1:]; return d }
	require.Equal(t, Schedule{Version: 1, Policy: Default(), Total: 219, Delays: []ScheduleDelay{
		{Attempt: 1, Base: 30, Min: 27, Max: 33, Delay: 27},
		{Attempt: 2, Base: 60, Min: 54, Max: 66, Delay: 60},
		{Attempt: 3, Base: 120, Min: 108, Max: 132, Delay: 132},
	}}, NewSchedule(Default(), 3, u))
}

func TestAScheduleEndsWhenItsTimeIsUp(t *testing.T) {
	p := Policy{Strategy: Fixed, BaseDelay: 100 * ms, MaxDelay: sec}
	require.Len(t, NewSchedule(p, 10, nil).Delays, 10)
	require.Equal(t, 0.3, NewSchedule(p, 3, nil).Total, "and not 0.30000000000000004")
	p.BaseDelay, p.MaxElapsed = 250*ms, 500*ms
	s := NewSchedule(p, 10, nil)
	require.Len(t, s.Delays, 2)
	require.Equal(t, 0.5, s.Total)
}

func FuzzDelay(f *testing.F) {
	f.Add(uint8(2), int64(30*sec), int64(300*sec), uint8(0), 0.1, false, 0, 5, 0.5)
	f.Add(uint8(1), int64(math.MaxInt64), int64(math.MaxInt64), uint8(1), 1.0, true, 6, math.MaxInt, math.Nextafter(1, 0))
	f.Add(uint8(9), int64(-1), int64(-1), uint8(9), math.NaN(), true, -1, -1, math.NaN())
	f.Fuzz(func(t *testing.T, strategy uint8, base, limit int64, mode uint8, percent float64, hard bool, exponent, n int, u float64) {
		p := Policy{
			Strategy:  append(Strategies(), "")[strategy%4],
			BaseDelay: time.Duration(base), MaxDelay: time.Duration(limit),
			Jitter: true, JitterMode: append(JitterModes(), "")[mode%5], JitterPercent: percent,
			HardCap: hard, MaxExponent: exponent,
		}
		d := p.Delay(n, u)
		plain, least, most := p.Range(n)
		require.GreaterOrEqual(t, least, time.Duration(0))
		require.GreaterOrEqual(t, d, least)
		require.LessOrEqual(t, d, most)
		require.LessOrEqual(t, plain, max(p.MaxDelay, 0))
		if hard {
			require.LessOrEqual(t, d, max(p.MaxDelay, 0))
		}
		if n > 0 && n < math.MaxInt {
			next, _, _ := p.Range(n + 1)
			require.GreaterOrEqual(t, next, plain, "delays never shrink")
		}
		if p.JitterMode != Full && !hard {
			inexact := plain >> 52 // nanoseconds that a float64 cannot distinguish
			require.LessOrEqual(t, least, plus(plain, inexact))
			require.GreaterOrEqual(t, most, plain-inexact)
		}
	})
}

func plus(a, b time.Duration) time.Duration {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
