package resume

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// Outcome is how one resume ended.
type Outcome string

// The outcomes. An attempt without one has not ended.
const (
	Recovered  Outcome = "recovered"   // the transcript moved
	LimitedOut Outcome = "limited"     // it met the limit again
	Failed     Outcome = "failed"      // the command failed
	TimedOut   Outcome = "timed_out"   // the command ran too long, or hung
	NoProgress Outcome = "no_progress" // the command ended well and the transcript did not move
	Denied     Outcome = "denied"      // the agent lacked a permission
	CutOff     Outcome = "cut_off"     // the daemon's own end cut it off; it does not count
	Unknown    Outcome = "unknown"     // nothing tells

	// Delivered is how a command ends that did what it was asked. What comes
	// of it shows in the transcript: it is never the outcome of an attempt.
	Delivered Outcome = "delivered"
)

// MarshalJSON writes null for an attempt that has not ended.
func (o Outcome) MarshalJSON() ([]byte, error) {
	if o == "" {
		return []byte("null"), nil
	}
	return json.Marshal(string(o))
}

// Attempt is one resume.
type Attempt struct {
	N         int           `json:"n"`
	Mark      string        `json:"mark"` // carried by the command in its environment
	StartedAt time.Time     `json:"started_at"`
	EndedAt   time.Time     `json:"ended_at,omitzero"` // when the outcome was known
	Delay     time.Duration `json:"delay"`             // what was waited before it
	Outcome   Outcome       `json:"outcome,omitempty"`
	Err       string        `json:"err,omitempty"`
	Models    Models        `json:"models,omitzero"`
	OwnKey    bool          `json:"own_key,omitempty"` // it continued with its user's own key
}

// during reports whether a record of that time may be the trace of the attempt.
func (a Attempt) during(at time.Time) bool {
	return !a.StartedAt.IsZero() && !at.Before(a.StartedAt.Add(-slack)) && !at.After(a.EndedAt.Add(slack))
}

// Models are those of a resume that may continue with another one than the session has,
// because that one is overloaded. The user has named the other.
type Models struct {
	Own      string `json:"own,omitempty"`      // the session's
	Fallback string `json:"fallback,omitempty"` // as the user named it; empty: it may not
	Spoke    string `json:"spoke,omitempty"`    // the other one, once that has answered
}

// switched returns the models when one has spoken.
func (m Models) switched(spoke string) Models {
	if m.Fallback != "" && spoke != "" && spoke != m.Own {
		m.Spoke = spoke
	}
	return m
}

// May says what a resume with these models may do; empty: it stays with the model that
// the session has.
func (m Models) May() string {
	if m.Fallback == "" {
		return ""
	}
	return fmt.Sprintf("with %s if %s is still overloaded (fallback_model)", m.Fallback, m.Own)
}

// Did says what it has done; empty: it stayed with that, as far as is known.
func (m Models) Did() string {
	if m.Spoke == "" {
		return ""
	}
	return fmt.Sprintf("with %s instead of %s (fallback_model)", m.Spoke, m.Own)
}

// Run is a resume that has begun and not ended. It outlives the state
// Resuming: an agent that works again is Watching while its command runs on.
type Run struct {
	Mark    string  `json:"mark"`
	N       int     `json:"n"`                // which of all claims of the session; names what is stored of it
	Begins  bool    `json:"begins,omitempty"` // it begins the session of a task, and resumes nothing
	Process Process `json:"process,omitzero"` // once the command was started

	// Unverifiable says that the prompt is handed to another's process, by keys or as
	// a message: if the transcript does not tell, nothing tells what became of it.
	Unverifiable bool `json:"no_proof,omitempty"`

	// Behind is the last event that the session had seen when such a prompt was
	// handed over: what is written there or before it tells nothing of the prompt.
	Behind Position `json:"behind,omitzero"`

	// sending is true from the point on at which the command may have acted on
	// the session. One of an earlier daemon always may have.
	sending bool
}

// sent reports whether the command may have acted on the session.
func (r *Run) sent() bool { return r != nil && r.sending }

// runs reports whether the resume of that mark is the one that runs.
func (s Session) runs(mark string) bool { return s.Run != nil && s.Run.Mark == mark }

// last returns the latest attempt; zero: there was none.
func (s Session) last() Attempt {
	if len(s.Attempts) == 0 {
		return Attempt{}
	}
	return s.Attempts[len(s.Attempts)-1]
}

// withLast returns the session with its latest attempt changed.
func (s Session) withLast(change func(*Attempt)) Session {
	if n := len(s.Attempts); n > 0 {
		s.Attempts = slices.Clone(s.Attempts)
		change(&s.Attempts[n-1])
	}
	return s
}

// conclude writes the outcome of the last attempt, if it has none.
func (s Session) conclude(how Outcome, err string, now time.Time) Session {
	if was := s.last().Outcome; was != "" && !(was == Failed && how == LimitedOut) {
		// Whether a command failed because of the limit is known only when its record is read.
		return s
	}
	return s.withLast(func(last *Attempt) {
		last.Outcome, last.Err = how, err
		if last.EndedAt.IsZero() {
			last.EndedAt = now
		}
	})
}

// models notes what the last attempt may continue with, or continued with.
func (s Session) models(m Models) Session {
	if s.last().Models == m {
		return s
	}
	return s.withLast(func(last *Attempt) { last.Models = m })
}

// Tries returns how many resumes there were since the transcript last moved.
func (s Session) Tries() int { return s.last().N }

// LastStart returns when the last resume was started; zero: there was none.
func (s Session) LastStart() time.Time { return s.last().StartedAt }

// archived makes the attempts those of the interruption before.
func (s Session) archived() Session {
	if len(s.Attempts) > 0 {
		s.Past, s.Attempts = s.Attempts, nil
	}
	return s
}

// Tried returns the attempt of that mark, also of one that has moved the
// session already.
func (s Session) Tried(mark string) (Attempt, bool) {
	for _, a := range slices.Concat(s.Attempts, s.Past) {
		if a.Mark == mark {
			return a, true
		}
	}
	return Attempt{}, false
}

// DeniedAt reports whether what was written at that time is the work of a
// resume that was refused a permission and ended with that: the session is still
// where that one left it.
func (s Session) DeniedAt(at time.Time) bool {
	return slices.ContainsFunc(slices.Concat(s.Attempts, s.Past), func(a Attempt) bool {
		return a.Outcome == Denied && a.during(at)
	})
}

// movedBy reports whether the session was given back to its user because the
// resume of that mark moved it.
func (s Session) movedBy(mark string) bool {
	if s.State != Watching || len(s.Past) == 0 {
		return false
	}
	last := s.Past[len(s.Past)-1]
	return last.Mark == mark && last.Outcome == Recovered
}

// denied parks a session whose resume was refused a permission and ended with
// that: the next one would be refused it too, and no person would know. That the
// transcript moved before does not make it a recovery.
func (s Session) denied(ev Ended, now time.Time) Session {
	if s.movedBy(ev.Mark) {
		s.Attempts, s.Past = s.Past, nil
	} else if s.State != Resuming {
		return s // a limit was met since, or the session is a person's again
	}
	s = s.withLast(func(last *Attempt) { last.Outcome, last.Err, last.EndedAt = Denied, ev.Err, now })
	s.RetryAskedAt = time.Time{}
	return s.park(ev.Err)
}
