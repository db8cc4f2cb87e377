package limit

import "time"

// Reader reads refusals that were printed at one time and place.
type Reader struct {
	At    time.Time      // when the words were printed
	Zone  *time.Location // the zone they were printed in where they name none; nil means local
	Grace time.Duration  // a clock time this far in the past means now, not tomorrow
}

// Refusal is what is known of one provider's refusal. Any field may be empty;
// structured fields win over text.
type Refusal struct {
	Status  int               // HTTP status; 0 where there was no answer
	Code    string            // the provider's or the agent's own error code, such as "rate_limit_error"
	Headers map[string]string // of the answer; names in any case
	Text    string            // what the agent printed
}
