package usage

import (
	"math"
	"time"

	"resumed/internal/resume"
)

// Forecast is when a window will be full at the recent pace. The range comes from the paces over a
// shorter and a longer time.
type Forecast struct {
	PerHour              float64 // percent
	At, Earliest, Latest time.Time
}

const (
	// few is how many readings a pace needs at least, rise how many percent of growth: readings are
	// whole percents.
	few  = 3
	rise = 2.0
	full = 100.0
)

// horizons are after which share of the window's length a reading counts half: for the recent pace, and
// for those over a shorter and a longer time.
var horizons = [...]float64{1.0 / 4, 1.0 / 12, 1}

// forecast returns when the window will be full, or false if that is not known: there are too few
// readings, nothing is being used, or it resets before.
func (w *window) forecast(now time.Time) (Forecast, bool) {
	last := w.last()
	first := w.Readings[0]
	idle := last.Length / 10
	if len(w.Readings) < few || last.Used-first.Used < rise || last.Used >= full || now.Sub(last.At) > idle {
		return Forecast{}, false
	}
	var f Forecast
	for i, share := range horizons {
		perHour := w.pace(time.Duration(share * float64(last.Length)))
		if perHour <= 0 {
			if i == 0 {
				return Forecast{}, false
			}
			continue
		}
		at := last.At.Add(hours((full - last.Used) / perHour))
		if i == 0 {
			f = Forecast{PerHour: perHour, At: at, Earliest: at, Latest: at}
		}
		f.Earliest, f.Latest = resume.Earlier(f.Earliest, at), resume.Later(f.Latest, at)
	}
	if f.At.After(last.ResetsAt) {
		return Forecast{PerHour: f.PerHour}, false
	}
	f.Latest = resume.Earlier(f.Latest, last.ResetsAt)
	return f, true
}

// pace is by how many percent per hour the use grew from reading to reading. Older readings count less.
// Work comes in phases, so the total use is a better estimate than a regression line.
func (w *window) pace(half time.Duration) float64 {
	last := w.last()
	var used, took float64
	for i, r := range w.Readings[1:] {
		before := w.Readings[i]
		counts := math.Exp2(-last.At.Sub(r.At).Hours() / half.Hours())
		used += counts * (r.Used - before.Used)
		took += counts * r.At.Sub(before.At).Hours()
	}
	if took <= 0 {
		return 0
	}
	return used / took
}

// hours converts hours to a duration without overflow.
func hours(h float64) time.Duration {
	return time.Duration(min(h, 24*366) * float64(time.Hour))
}
