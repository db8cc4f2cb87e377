package when

import (
	"cmp"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // a machine without zone files still knows where Kyiv is

	"resumed/internal/lazy"
	"resumed/internal/limit/token"
)

const hourSeconds = 60 * 60

// Beijing is the zone of providers that state Beijing times without a zone.
var Beijing = time.FixedZone("CST", 8*hourSeconds)

var zoneText = lazy.Regexp(`^[0-9A-Za-z/_+-]+`)

var wordStart = lazy.Regexp(`(^|[/_-])[a-z]`)

// loadZone returns a zone of the zone database, as it is spelled or with the usual capitals.
func loadZone(name string) (*time.Location, bool) {
	if !strings.Contains(name, "/") {
		return nil, false // Cuba and Turkey are zones too
	}
	z, err := time.LoadLocation(name)
	if err != nil {
		z, err = time.LoadLocation(wordStart().ReplaceAllStringFunc(strings.ToLower(name), strings.ToUpper))
	}
	return z, err == nil
}

// zoneAt reads a zone at toks[i], in brackets or bare. An unknown name in brackets is skipped and the
// reader's own zone is used: the time before it is still valid.
func (s *timeScan) zoneAt(i int) (zone *time.Location, end int) {
	if s.toks[i].Is("(") {
		inner, end := s.zoneName(i + 1)
		for j := max(end, i); j < len(s.toks) && j < i+12; j++ {
			if s.toks[j].Is(")") {
				if inner == nil {
					inner = s.r.zone()
				}
				return inner, j + 1
			}
		}
		return inner, end
	}
	return s.zoneName(i)
}

func (s *timeScan) zoneName(i int) (*time.Location, int) {
	if i >= len(s.toks) {
		return nil, 0
	}
	t := s.toks[i]
	if t.Kind != token.Word {
		return s.offset(t.Start)
	}
	if name := zoneText().FindString(s.src[t.Start:]); strings.Contains(name, "/") {
		if z, ok := loadZone(name); ok {
			return z, s.after(t.Start + len(name))
		}
		return nil, 0
	}
	if t.Is("local") || t.Is("your") {
		return s.r.zone(), s.skipWords(i+1, "local", "time", "timezone", "zone")
	}
	if place, ok := placeZones[t.Text]; ok {
		z, _ := loadZone(place)
		return z, s.skipWords(i+1, "time", "standard", "daylight", "zone")
	}
	seconds, ok := fixedZones[t.Text]
	if !ok {
		return nil, 0
	}
	if z, end := s.offset(t.End); z != nil && seconds == 0 {
		return z, end // UTC+2 is east of Greenwich, unlike the POSIX Etc/GMT-2
	}
	if seconds == 0 {
		return time.UTC, i + 1
	}
	return time.FixedZone(strings.ToUpper(t.Text), seconds), i + 1
}

// Zone returns the zone of that name: Europe/Berlin, PST, +02:00.
func Zone(name string) (*time.Location, bool) {
	scan := timeScan{src: name, toks: token.Cut(name)}
	if len(scan.toks) == 0 || slices.Contains([]string{"local", "your"}, scan.toks[0].Text) {
		return nil, false
	}
	zone, end := scan.zoneName(0)
	return zone, zone != nil && end == len(scan.toks)
}

// offsetForm is +02:00, -5 or +0530.
var offsetForm = lazy.Regexp(`^([+−-])(?:(\d\d)(\d\d)|(\d\d?)(?::(\d\d))?)`)

func (s *timeScan) offset(at int) (*time.Location, int) {
	m := offsetForm().FindStringSubmatch(s.src[at:])
	if m == nil {
		return nil, 0
	}
	end := at + len(m[0])
	h, minutes := smallInt(m[2]+m[4]), smallInt(cmp.Or(m[3]+m[5], "0"))
	if h > 14 || minutes > 59 || end < len(s.src) && token.IsDigit(rune(s.src[end])) {
		return nil, 0
	}
	seconds := h*hourSeconds + minutes*60
	if m[1] != "+" {
		seconds = -seconds
	}
	return time.FixedZone("", seconds), s.after(end)
}

// after returns the index of the first token at or behind a byte offset.
func (s *timeScan) after(offset int) int {
	i, _ := slices.BinarySearchFunc(s.toks, offset, func(t token.Token, at int) int { return cmp.Compare(t.Start, at) })
	return i
}

func (s *timeScan) skipWords(i int, words ...string) int {
	for i < len(s.toks) && slices.Contains(words, s.toks[i].Text) {
		i++
	}
	return i
}

func (r Reader) zone() *time.Location {
	return cmp.Or(r.Zone, time.Local)
}

// staleDate: no limit's window is longer than a month, so an earlier date means the next year.
const staleDate = 31 * day

// staleDay is how long a day that has begun still counts as the current one.
const staleDay = day

// next returns the next time at which a clock shows w, or the last one if it is at most r.Grace ago.
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
	for d := -1; d <= 7; d++ {
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
