package explain

import (
	"time"

	"resumed/internal/budget"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

// offer returns the offer to continue a session with the user's own key. It uses the budget alone: only the daemon
// knows what was already spent.
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
