package backoff

import "time"

// The built-in policies, by their names in the configuration and on the command line.
var named = []struct {
	name   string
	policy Policy
}{
	{"default", Default()},
	{"interactive", doubling(2, 500*time.Millisecond, 8*time.Second, 0.2)},
	{"conservative", doubling(5, 500*time.Millisecond, 60*time.Second, 0.2)},
	{"batch", doubling(3, 2*time.Second, 32*time.Second, 0.2)},
	{"api", doubling(3, time.Second, 32*time.Second, 0.2)},
	{"task", with(doubling(3, time.Second, 30*time.Second, 0), func(p *Policy) { p.Jitter = false })},

	// For processes that compete for one thing: short waits, jitter that only adds, and a doubling that
	// stops below the cap.
	{"contention", with(doubling(6, 10*time.Millisecond, time.Second, 0.5), func(p *Policy) {
		p.HardCap, p.JitterMode, p.MaxExponent = true, Additive, 6
	})},

	// For problems that a provider needs hours to fix: published incidents last 20 to 180 minutes.
	{"outage", with(doubling(0, 30*time.Second, 15*time.Minute, 0.2), func(p *Policy) { p.MaxElapsed = 12 * time.Hour })},

	{"workflow", with(doubling(4, time.Second, 60*time.Second, 0.5), func(p *Policy) { p.HardCap = true })},
}

// Named returns the built-in policy of that name.
func Named(name string) (Policy, bool) {
	for _, n := range named {
		if n.name == name {
			return n.policy, true
		}
	}
	return Policy{}, false
}

// Names returns the names of the built-in policies, the default first.
func Names() []string {
	names := make([]string, len(named))
	for i, n := range named {
		names[i] = n.name
	}
	return names
}

func doubling(retries int, base, limit time.Duration, percent float64) Policy {
	return Policy{
		Strategy:      Exponential,
		BaseDelay:     base,
		MaxDelay:      limit,
		MaxRetries:    retries,
		Jitter:        true,
		JitterMode:    Symmetric,
		JitterPercent: percent,
	}
}

func with(p Policy, change func(*Policy)) Policy {
	change(&p)
	return p
}
