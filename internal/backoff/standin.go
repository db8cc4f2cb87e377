package backoff

import "time"

// Delay returns the wait before retry n, counting from 1; u is a random number
// in [0, 1).
func (p Policy) Delay(n int, u float64) time.Duration {
	d := p.BaseDelay
	for range n - 1 {
		d = min(2*d, p.MaxDelay)
	}
	if p.Jitter {
		d += time.Duration(float64(d) * p.JitterPercent * (2*u - 1))
	}
	return d
}
