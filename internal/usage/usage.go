// Package usage computes how much of an account's allowances is used, when they will be full at the
// recent pace, and what to report about that. It reads no files: the agents' packages read the use from
// files that the agents write anyway.
package usage

import (
	"fmt"
	"time"
)

// The windows that most providers use.
const (
	FiveHours = "five_hour"
	SevenDays = "seven_day"
)

// Reading is the use of one window of an account at one time.
type Reading struct {
	Kind     string        `json:"kind"`
	Length   time.Duration `json:"length"`
	Used     float64       `json:"used"` // percent
	ResetsAt time.Time     `json:"resets_at"`
	At       time.Time     `json:"at"`
}

// Kind returns the name of a window by its length.
func Kind(length time.Duration) string {
	switch length.Round(time.Hour) {
	case 5 * time.Hour:
		return FiveHours
	case 7 * 24 * time.Hour:
		return SevenDays
	case 24 * time.Hour:
		return "day"
	default:
		return fmt.Sprintf("%d_minutes", int(length.Minutes()))
	}
}

// sane reports whether a reading can be true: other programs write the files.
func (r Reading) sane() bool {
	return r.Length >= time.Minute && r.Length <= 366*24*time.Hour && r.Used >= 0 && r.Used <= 1000 &&
		!r.At.IsZero() && r.ResetsAt.After(r.At) && r.ResetsAt.Sub(r.At) <= r.Length+r.Length/4+slip
}

// slip is by how much the stated end of one window may differ between readings.
const slip = 2 * time.Minute

// detail is into how many parts a window is divided. Of each part, only the last reading is stored.
const detail = 300

// window is the readings of one window that is not over.
type window struct {
	Readings []Reading `json:"readings"` // the oldest first
	Told     float64   `json:"told"`     // the highest mark that was reported
}

func (w *window) last() Reading { return w.Readings[len(w.Readings)-1] }

// add adds a reading that is newer than all others. A reading with a later end begins a new window.
func (w *window) add(r Reading) bool {
	if len(w.Readings) == 0 {
		w.Readings = append(w.Readings, r)
		return true
	}
	last := w.last()
	switch ends := r.ResetsAt.Sub(last.ResetsAt); {
	case !r.At.After(last.At) || ends < -slip:
		return false // old, or of another window that a file still contains
	case ends > slip:
		*w = window{Readings: []Reading{r}}
		return true
	}
	gap := r.Length / detail
	if n := len(w.Readings); n > 1 && r.At.Sub(w.Readings[n-2].At) < gap {
		w.Readings[n-1] = r
		return true
	}
	w.Readings = append(w.Readings, r)
	if over := len(w.Readings) - 2*detail; over > 0 {
		w.Readings = append(w.Readings[:0], w.Readings[over:]...)
	}
	return true
}
