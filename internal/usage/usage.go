// Package usage says how much of an account's allowances is used, when they will be
// full at the pace of late, and what people are to be told of that. It touches nothing:
// what is used is read by the rooms of the agents, out of files that they write anyway.
package usage

import (
	"fmt"
	"time"
)

// The windows that most providers count in.
const (
	FiveHours = "five_hour"
	SevenDays = "seven_day"
)

// Reading is what an account was told of one of its windows.
type Reading struct {
	Kind      string        `json:"kind"`
	Length    time.Duration `json:"length"`
	Used      float64       `json:"used"` // percent
	ResetsAt  time.Time     `json:"resets_at"`
	At        time.Time     `json:"at"`
	Estimated bool          `json:"estimated,omitempty"` // counted by us, not told by the provider
}

// Kind names a window by how long it is.
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

// sane reports whether a reading can be true: files are written by others.
func (r Reading) sane() bool {
	return r.Length >= time.Minute && r.Length <= 366*24*time.Hour && r.Used >= 0 && r.Used <= 1000 &&
		!r.At.IsZero() && r.ResetsAt.After(r.At) && r.ResetsAt.Sub(r.At) <= r.Length+r.Length/4+slip
}

// slip is by how much the stated end of one window may differ from reading to reading.
const slip = 2 * time.Minute

// detail is into how many parts a window is divided, of each of which the last reading
// is kept.
const detail = 300

// window is what was read of one window that is not over.
type window struct {
	Readings []Reading `json:"readings"` // the oldest first
	Told     float64   `json:"told"`     // the highest mark that people were told of
}

func (w *window) last() Reading { return w.Readings[len(w.Readings)-1] }

// add takes a reading that is newer than all others. A window that ends later is
// another one.
func (w *window) add(r Reading) bool {
	if len(w.Readings) == 0 {
		w.Readings = append(w.Readings, r)
		return true
	}
	last := w.last()
	switch ends := r.ResetsAt.Sub(last.ResetsAt); {
	case !r.At.After(last.At) || ends < -slip:
		return false // old news, or of another window that a file still names
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
