package backoff

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestValidateNamesTheFieldTheValueAndWhatIsWanted(t *testing.T) {
	const modes = `must be one of "symmetric", "additive", "full", "equal"`
	tests := map[string]struct {
		change func(*Policy)
		want   InvalidField
	}{
		"unknown strategy":  {func(p *Policy) { p.Strategy = "cubic" }, InvalidField{"strategy", "cubic", `must be one of "fixed", "linear", "exponential"`}},
		"no strategy":       {func(p *Policy) { p.Strategy = "" }, InvalidField{"strategy", "", `must be one of "fixed", "linear", "exponential"`}},
		"base is zero":      {func(p *Policy) { p.BaseDelay = 0 }, InvalidField{"base_delay", "0s", "must be more than 0s"}},
		"base is negative":  {func(p *Policy) { p.BaseDelay = -sec }, InvalidField{"base_delay", "-1s", "must be more than 0s"}},
		"max below base":    {func(p *Policy) { p.MaxDelay = 10 * sec }, InvalidField{"max_delay", "10s", "must be at least base_delay (30s)"}},
		"no retries":        {func(p *Policy) { p.MaxRetries = 0 }, InvalidField{"max_retries", "0", "must be at least 1"}},
		"negative retries":  {func(p *Policy) { p.MaxRetries = -1 }, InvalidField{"max_retries", "-1", "must be at least 1"}},
		"negative time":     {func(p *Policy) { p.MaxElapsed = -sec }, InvalidField{"max_elapsed", "-1s", "must be 0s (no bound) or more"}},
		"unknown mode":      {func(p *Policy) { p.JitterMode = "wild" }, InvalidField{"jitter_mode", "wild", modes}},
		"unknown mode, off": {func(p *Policy) { p.JitterMode = "wild"; p.Jitter = false }, InvalidField{"jitter_mode", "wild", modes}},
		"no mode":           {func(p *Policy) { p.JitterMode = "" }, InvalidField{"jitter_mode", "", modes}},
		"percent below 0":   {func(p *Policy) { p.JitterPercent = -0.01 }, InvalidField{"jitter_percent", "-0.01", "must be between 0.0 and 1.0: 0.1 is 10 %"}},
		"percent above 1":   {func(p *Policy) { p.JitterPercent = 10 }, InvalidField{"jitter_percent", "10", "must be between 0.0 and 1.0: 0.1 is 10 %"}},
		"percent is NaN":    {func(p *Policy) { p.JitterPercent = math.NaN() }, InvalidField{"jitter_percent", "NaN", "must be between 0.0 and 1.0: 0.1 is 10 %"}},
		"percent is +Inf":   {func(p *Policy) { p.JitterPercent = math.Inf(1) }, InvalidField{"jitter_percent", "+Inf", "must be between 0.0 and 1.0: 0.1 is 10 %"}},
		"percent is -Inf":   {func(p *Policy) { p.JitterPercent = math.Inf(-1) }, InvalidField{"jitter_percent", "-Inf", "must be between 0.0 and 1.0: 0.1 is 10 %"}},
		"negative exponent": {func(p *Policy) { p.MaxExponent = -1 }, InvalidField{"max_exponent", "-1", "must be 0 (no bound) or more"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := Default()
			tt.change(&p)
			found := p.Validate()
			require.Len(t, found, 1)
			found[0].Value = fmt.Sprint(found[0].Value) // NaN does not equal itself
			require.Equal(t, tt.want, found[0])
		})
	}
}

// A base of zero is no bound for the longest delay.
func TestValidateNamesNoBaseThatIsItselfBad(t *testing.T) {
	p := Default()
	p.BaseDelay, p.MaxDelay = 0, 0
	require.Equal(t, []InvalidField{{"base_delay", p.BaseDelay, "must be more than 0s"}, {"max_delay", p.MaxDelay, "must be more than 0s"}}, p.Validate())
}

func TestValidateReportsEveryBadFieldAtOnce(t *testing.T) {
	p := Policy{MaxDelay: -sec, Jitter: true, JitterPercent: 2, MaxExponent: -1}
	var fields []string
	for _, e := range p.Validate() {
		fields = append(fields, e.Field)
	}
	require.Equal(t, []string{
		"strategy", "base_delay", "max_delay", "max_retries", "jitter_mode", "jitter_percent", "max_exponent",
	}, fields)
}

func TestValidateAcceptsTheEdges(t *testing.T) {
	for name, change := range map[string]func(*Policy){
		"max equals base":           func(p *Policy) { p.MaxDelay = p.BaseDelay },
		"one nanosecond, one retry": func(p *Policy) { p.BaseDelay, p.MaxRetries = 1, 1 },
		"percent 0":                 func(p *Policy) { p.JitterPercent = 0 },
		"percent 1":                 func(p *Policy) { p.JitterPercent = 1 },
		"no mode without jitter":    func(p *Policy) { p.Jitter, p.JitterMode = false, "" },
		"unlimited retries":         func(p *Policy) { p.MaxRetries = Unlimited },
	} {
		t.Run(name, func(t *testing.T) {
			p := Default()
			change(&p)
			require.Empty(t, p.Validate())
		})
	}
}
