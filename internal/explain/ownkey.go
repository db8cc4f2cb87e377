package explain

import (
	"time"

	"resumed/internal/budget"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

// offer says that a session can go on with its user's own key. By the budget alone: what
// was spent of it before is known to the daemon.
func (x *Explainer) offer(s resume.Session, now time.Time) *view.OwnKey {
	entry := x.config.Agent(s.Key.Agent)
	terms, err := budget.Parse(entry.Budget)
	if entry.OwnKeyFile == "" || !entry.Enabled || err != nil || s.Key.ID == "" || s.Unpayable(now) != "" {
		return nil
	}
	return &view.OwnKey{
		Until: new(s.Limit.Reset.At.UTC()), Budget: terms.String(), Left: min(terms.Session, terms.Total),
		Command: "resumed retry " + view.Of(s, 0).Typed() + " --own-key",
	}
}
