// Package when reads times in messages of providers and agents: durations, clock times, dates, weekdays
// and epochs, in several languages.
package when

import (
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"resumed/internal/lazy"
	"resumed/internal/limit/token"
)

// Reader reads times that were stated at one time and place.
type Reader struct {
	At    time.Time      // when the words were printed
	Zone  *time.Location // the zone of the words if they name none; nil: local
	Grace time.Duration  // a clock time this far in the past means now, not tomorrow
}

type timeScan struct {
	r      Reader
	src    string
	toks   []token.Token
	closed bool // there is a word that announces the time before it
}

// Found is a time, and where it ends in the tokens.
type Found struct {
	At      time.Time
	Rough   bool          // rounded down to the minute or the day
	Daily   bool          // a clock time without a date
	Counted bool          // stated as a duration, which counts from when it was printed
	Exact   time.Duration // that duration
	End     int           // the index of the token after it
}

// When reads a bare time: a duration, a clock time, a date, a weekday, an
// epoch, an RFC 3339 or HTTP date. A number alone is a count of seconds, as in
// Retry-After, unless it is long enough to be an epoch.
func (r Reader) When(s string) (Found, bool) {
	s = token.Clip(s)
	scan := timeScan{r: r, src: s, toks: token.Cut(s)}
	if f, ok := scan.at(0); ok {
		return f, true
	}
	if f, ok := scan.seconds(scan.skipFillers(0)); ok && f.End == len(scan.toks) {
		return f, true
	}
	return scan.anchored(false)
}

// Announced returns the time that a message states; if the agent continues by itself (running), when it does.
func (r Reader) Announced(src string, toks []token.Token, running bool) (Found, bool) {
	scan := timeScan{r: r, src: src, toks: toks}
	return scan.anchored(running)
}

func (s *timeScan) skipFillers(i int) int {
	for n := 0; n < 6 && i < len(s.toks) && fillers[s.toks[i].Text]; n++ {
		if numbers[s.toks[i].Text] != 0 && s.unitAt(i+1) != 0 {
			break // "a minute"
		}
		i++
	}
	return i
}

func (s *timeScan) at(i int) (Found, bool) {
	i = s.skipFillers(i)
	if i >= len(s.toks) {
		return Found{}, false
	}
	if i > 0 && clockWords[s.toks[i-1].Text] {
		return s.calendar(i)
	}
	if s.isCountdown(i) {
		return s.countdown(i)
	}
	for _, read := range []func(int) (Found, bool){s.iso, s.epoch, s.isoDuration, s.duration, s.calendar} {
		if f, ok := read(i); ok {
			past := f.End < len(s.toks) && (s.toks[f.End].Is("ago") || s.toks[f.End].Is("earlier")) // how long ago something was
			return f, !past
		}
	}
	return Found{}, false
}

// Date-times without a zone are in the reader's zone.
var isoLayouts = []struct {
	layout string
	rough  bool
}{
	{time.RFC3339Nano, false},
	{"2006-01-02T15:04:05Z0700", false},
	{"2006-01-02T15:04:05Z07", false},
	{"2006-01-02 15:04:05Z07:00", false},
	{"2006-01-02 15:04:05Z0700", false},
	{"2006-01-02T15:04Z07:00", true},
	{"2006-01-02T15:04:05", false},
	{"2006-01-02T15:04", true},
}

var isoText = lazy.Regexp(`^[0-9A-Za-z:.+-]{10}[ 0-9A-Za-z:.+-]?[0-9A-Za-z:.+-]{0,29}`)

func (s *timeScan) iso(i int) (Found, bool) {
	t := s.toks[i]
	if t.Kind != token.Number || len(t.Text) != 4 {
		return Found{}, false
	}
	stated := strings.TrimRight(isoText().FindString(s.src[t.Start:]), ".:")
	for _, l := range isoLayouts {
		if at, err := time.ParseInLocation(l.layout, stated, s.r.zone()); err == nil && plausibleYear(at) {
			return Found{At: at, Rough: l.rough, End: s.after(t.Start + len(stated))}, true
		}
	}
	return Found{}, false
}

// plausibleYear reports whether the year is one in which a limit may lift.
func plausibleYear(at time.Time) bool { return at.Year() >= firstYear && at.Year() <= lastYear }

const firstYear, lastYear = 2000, 2199

func (s *timeScan) epoch(i int) (Found, bool) {
	t := s.toks[i]
	n, err := strconv.ParseFloat(t.Text, 64)
	if err != nil || s.unitAt(i+1) != 0 {
		return Found{}, false
	}
	at, ok := Epoch(n)
	return Found{At: at, End: i + 1}, ok
}

// Epoch reads a Unix time in seconds, or in milliseconds if the value would otherwise be thousands of
// years ahead. It rejects other numbers: counts, identifiers, and times outside this century.
func Epoch[N int | int64 | float64](n N) (time.Time, bool) {
	const (
		first = 1_000_000_000 // 2001-09-09, the first of ten digits: a number of nine is rather an identifier
		last  = 4_102_444_800 // 2100-01-01
	)
	f := float64(n)
	switch {
	case f >= first && f < last:
		whole, part := math.Modf(f)
		return time.Unix(int64(whole), int64(part*1e9)).UTC(), true
	case f >= first*1000 && f < last*1000:
		return time.UnixMilli(int64(f)).UTC(), true
	default:
		return time.Time{}, false
	}
}

const day = 24 * time.Hour

// longest is the longest wait: a longer one is not believed.
const longest = 10 * 366 * day

func (s *timeScan) unitAt(i int) time.Duration {
	if i >= len(s.toks) || s.toks[i].Kind != token.Word {
		return 0
	}
	return units[s.toks[i].Text]
}

// duration reads "2h5m", "2h30", "3 days and 4 hours", "1.2s", "half an hour".
func (s *timeScan) duration(i int) (Found, bool) {
	var last time.Duration
	total, end, parts := 0.0, 0, 0
	for ; ; parts++ {
		amount, unit, after := s.length(i, last)
		if unit == 0 {
			break
		}
		total += math.Round(amount * float64(unit))
		end, last = after, unit
		for i = end; i < len(s.toks) && andWords[s.toks[i].Text]; i++ {
		}
	}
	if end == 0 || parts > mostParts {
		return Found{}, false
	}
	return s.r.in(total, end)
}

func (r Reader) in(wait float64, end int) (Found, bool) {
	if r.At.IsZero() || !(wait >= 0 && wait <= float64(longest)) {
		return Found{}, false
	}
	d := time.Duration(math.Round(wait))
	return Found{At: r.At.Add(d), Exact: d, Counted: true, End: end}, true
}

// mostParts is how many parts a duration may have: weeks to milliseconds.
const mostParts = 6

// last is the unit of the part before; the returned unit is 0 if there is no part.
func (s *timeScan) length(i int, last time.Duration) (amount float64, unit time.Duration, after int) {
	half := s.skipWords(i, "a")
	switch {
	case i >= len(s.toks):
		return 0, 0, i
	case s.toks[i].Is("half"):
		half = s.skipWords(i+1, "a", "an", "of")
		return 0.5, s.unitAt(half), half + 1
	case last != 0 && half < len(s.toks) && s.toks[half].Is("half"):
		return 0.5, last, half + 1
	case last == time.Hour && s.toks[i].Glued && len(s.toks[i].Text) == 2 && s.unitAt(i+1) == 0:
		unit = time.Minute // 2h30
		after = i + 1
	case last == 0 && i > 0 && s.toks[i-1].Is("через") && s.unitAt(i) != 0:
		return 1, s.unitAt(i), i + 1
	default:
		unit, after = s.unitAt(i+1), i+2
	}
	amount, ok := s.amount(i)
	if !ok || s.toks[i].Kind == token.Word && s.abbreviated(after-1) {
		return 0, 0, i // "an hour", but not "a h"
	}
	return amount, unit, after
}

// After an amount in words, one or two letters are not a unit.
func (s *timeScan) abbreviated(i int) bool {
	text := s.toks[min(i, len(s.toks)-1)].Text
	return len(text) < 3 && text[0] < utf8.RuneSelf
}

// isoForm is "PT5M" or "P1DT2H". Years and months have no fixed length.
var isoForm = lazy.Regexp(strings.ReplaceAll(`^P(?:(#)W)?(?:(#)D)?(?:T(?:(#)H)?(?:(#)M)?(?:(#)S)?)?\b`, "#", `\d+(?:\.\d*)?`))

func (s *timeScan) isoDuration(i int) (Found, bool) {
	start := s.toks[i].Start
	m := isoForm().FindStringSubmatch(s.src[start:])
	if m == nil || m[0] == "P" || strings.HasSuffix(m[0], "T") {
		return Found{}, false
	}
	total := 0.0
	for n, unit := range []time.Duration{7 * day, day, time.Hour, time.Minute, time.Second} {
		amount, _ := strconv.ParseFloat(m[n+1], 64) // 0 if it is not stated
		total += amount * float64(unit)
	}
	return s.r.in(total, s.after(start+len(m[0])))
}

// "in 01:30:00" is a duration, not a time of day.
func (s *timeScan) isCountdown(i int) bool {
	if i == 0 || !lengthWords[s.toks[i-1].Text] || s.toks[i].Kind != token.Number {
		return false
	}
	_, _, end := s.minutes(i + 1)
	_, after := s.halfOfDay(end)
	return end > i+1 && after == 0
}

// Two numbers are rejected: they may be hours and minutes, or minutes and seconds.
func (s *timeScan) countdown(i int) (Found, bool) {
	hours := smallInt(s.toks[i].Text)
	minute, second, end := s.minutes(i + 1)
	if hours < 0 || second < 0 {
		return Found{}, false
	}
	total := time.Duration(hours)*time.Hour + time.Duration(minute)*time.Minute + time.Duration(second)*time.Second
	return s.r.in(float64(total), end)
}

func (s *timeScan) amount(i int) (float64, bool) {
	if t := s.toks[i]; t.Kind == token.Number {
		n, err := strconv.ParseFloat(t.Text, 64)
		return n, err == nil
	}
	n, ok := numbers[s.toks[i].Text]
	return n, ok
}

func (s *timeScan) seconds(i int) (Found, bool) {
	if i >= len(s.toks) || s.toks[i].Kind != token.Number {
		return Found{}, false
	}
	n, _ := s.amount(i)
	return s.r.in(n*float64(time.Second), i+1)
}

func smallInt(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil || len(s) > 4 {
		return -1
	}
	return n
}

var layouts = []string{time.RFC3339Nano, time.RFC1123, time.RFC1123Z, time.RFC850, time.ANSIC}

// Value reads the value of a field. A number is a Unix time or, with a unit, a duration in that unit.
// mixed: a field with a unit may hold either, or a duration in words.
func (r Reader) Value(value string, unit time.Duration, mixed bool) (Found, bool) {
	if n, err := strconv.ParseFloat(value, 64); err == nil {
		if at, ok := Epoch(n); ok && (unit == 0 || mixed) {
			return Found{At: at}, true
		}
		if unit == 0 {
			return Found{}, false
		}
		return r.in(n*float64(unit), 0)
	}
	for _, layout := range layouts {
		if at, err := time.Parse(layout, value); err == nil && plausibleYear(at) {
			return Found{At: at.UTC()}, true
		}
	}
	if !mixed {
		return Found{}, false
	}
	if d, err := time.ParseDuration(value); err == nil {
		return r.in(float64(d), 0) // some headers hold durations as Go writes them, microseconds too
	}
	return r.When(value)
}
