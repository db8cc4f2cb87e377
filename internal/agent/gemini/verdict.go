package gemini

import (
	"regexp"
	"time"

	"resumed/internal/agent"
	"resumed/internal/limit"
)

// Verdict says what the refusal that ended a turn means.
func Verdict(limits limit.Reader, refusal limit.Refusal) limit.Verdict {
	v := agent.Failed(limits.Refusal(refusal))
	if v.Class == limit.UsageLimit && !v.Reset.Stated() && ofADay.MatchString(refusal.Text) {
		v.Reset = nextDay(limits.At)
	}
	return v
}

// ofADay is how Gemini CLI calls the quota of a day. It drops what Google says of
// its end.
var ofADay = regexp.MustCompile(`(?i)\bdaily\b[^.\n]{0,60}\bquota\b`)

// overlap is how long after the turn of a day a refusal may still be of the day
// before.
const overlap = 10 * time.Minute

// nextDay returns when the quotas of a day are there again: Google counts days in
// Pacific time. It states nothing where that has only just been.
func nextDay(at time.Time) limit.Reset {
	zone, err := time.LoadLocation("America/Los_Angeles")
	if err != nil || at.IsZero() {
		return limit.Reset{}
	}
	year, month, day := at.In(zone).Date()
	if at.Sub(time.Date(year, month, day, 0, 0, 0, 0, zone)) < overlap {
		return limit.Reset{}
	}
	return limit.Reset{At: time.Date(year, month, day+1, 0, 0, 0, 0, zone), Source: limit.Words, Rough: true}
}
