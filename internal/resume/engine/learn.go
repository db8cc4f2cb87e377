package engine

import (
	"resumed/internal/resume"
)

// learn remembers an outage that is over.
func (e *Engine) learn(c resume.Change) {
	provider, took, ok := c.Recovery()
	if !ok {
		return
	}
	e.opts.Rules.Recoveries = e.opts.Rules.Recoveries.With(provider, took)
	if e.opts.Learned != nil {
		e.opts.Learned(e.opts.Rules.Recoveries)
	}
}
