package when

import (
	"cmp"
	"slices"
	"time"
)

// staleDate is how far back a date without a year may be: no limit's window is longer than a month, so
// an earlier date means the next year.
const staleDate = 31 * day

// staleDay is how long a day that has begun still counts as the current one.
const staleDay = day

// next returns the time near r.At at which a clock on the wall shows w: the next one, or the last one
// if it is at most r.Grace ago.
func (r Reader) next(w wall) (time.Time, bool) {
	w.zone = cmp.Or(w.zone, r.zone())
	here := r.At.In(w.zone)
	year, month, today := here.Date()
	switch {
	case w.hasDate() && w.year != 0:
		return w.on(w.year, w.month, w.day, time.Time{})
	case w.hasDate():
		// Within eight years there is a 29 February, also around a year such as 2100.
		for y := year - 1; y <= year+8; y++ {
			if at, ok := w.on(y, w.month, w.day, r.At.Add(-staleDate)); ok && !at.Before(r.At.Add(-staleDate)) {
				return at, true
			}
		}
		return time.Time{}, false
	case w.hasAhead:
		return w.on(year, month, today+w.ahead, time.Time{})
	}
	for d := -1; d <= 8; d++ {
		on := time.Date(year, month, today+d, 12, 0, 0, 0, time.UTC)
		if w.hasWeekday && on.Weekday() != w.weekday {
			continue
		}
		if at, ok := w.on(on.Year(), on.Month(), on.Day(), r.At.Add(-r.Grace)); ok && !at.Before(r.At.Add(-r.Grace)) {
			return at, true
		}
	}
	return time.Time{}, false
}

// on returns w's clock time on that day, or false if the month has no such day. If clocks show the time
// twice, it is the first one that is not before since. A time that clocks skip is computed with the
// offset before the change.
func (w wall) on(year int, month time.Month, dayOfMonth int, since time.Time) (time.Time, bool) {
	naive := time.Date(year, month, dayOfMonth, w.hour, w.min, w.sec, 0, time.UTC)
	if w.hasDate() && naive.Day() != dayOfMonth {
		return time.Time{}, false
	}
	before, after := offsetAt(naive.Add(-day), w.zone), offsetAt(naive.Add(day), w.zone)
	readings := []time.Time{naive.Add(-before), naive.Add(-after)}
	slices.SortFunc(readings, time.Time.Compare)
	best := time.Time{}
	for _, at := range readings {
		if shows(at.In(w.zone), naive) && (best.IsZero() || best.Before(since)) {
			best = at.In(w.zone)
		}
	}
	if best.IsZero() {
		best = naive.Add(-before).In(w.zone)
	}
	return best, true
}

func offsetAt(naive time.Time, zone *time.Location) time.Duration {
	_, seconds := naive.In(zone).Zone()
	return time.Duration(seconds) * time.Second
}

func shows(at, naive time.Time) bool {
	return at.Hour() == naive.Hour() && at.Minute() == naive.Minute() && at.Day() == naive.Day()
}
