package notify

import (
	"time"

	"resumed/internal/humanize"
	"resumed/internal/resume/view"
	"resumed/internal/sanitize"
)

// worthAsking is how long a session must still wait before a person is told that it could
// go on at their own cost.
const worthAsking = 30 * time.Minute

// ownKey says how a session that waits long could go on at its user's own cost. The answer is a
// command for a terminal of that machine: a notice has no button for it.
func (w words) ownKey(v view.Session) string {
	offer := v.OwnKey
	if offer == nil || offer.Command == "" || offer.Until == nil || w.group.Event != Limited && w.group.Event != Parked {
		return ""
	}
	if offer.Until.Sub(w.notice.At) < worthAsking {
		return ""
	}
	return "At your own cost: " + sanitize.Short(offer.Command, 120) + " (" + humanize.Estimate(offer) + ")"
}
