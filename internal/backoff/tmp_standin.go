package backoff

import "time"

func (p Policy) Delay(n int, u float64) time.Duration {
	d := p.BaseDelay
	for range n - 1 {
		d = min(2*d, p.MaxDelay)
	}
	if p.Jitter { d += time.Duration(float64(d) * p.JitterPercent * (2*u - 1)) }
	return d
}
