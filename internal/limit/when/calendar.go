package when

import (
	"cmp"
	"regexp"
	"slices"
	"time"
	"unicode/utf8"

	"resumed/internal/lazy"
	"resumed/internal/limit/token"
)

type wall struct {
	year       int
	month      time.Month
	day        int
	weekday    time.Weekday
	ahead      int // days from today
	hour, min  int
	sec        int
	zone       *time.Location
	hasWeekday bool
	hasAhead   bool
	hasClock   bool
	hasSeconds bool
}

func (w wall) hasDate() bool { return w.month != 0 }
func (w wall) stated() bool  { return w.hasClock || w.hasDate() || w.hasWeekday || w.hasAhead }

// calendar reads a clock time, a date, a weekday, or several of them, with or without a zone.
func (s *timeScan) calendar(i int) (Found, bool) {
	var w wall
	begin, end := i, 0
	for {
		next := s.part(&w, i)
		if next == 0 {
			break
		}
		end = next
		for i = next; i < len(s.toks) && joiners[s.toks[i].Text]; i++ {
		}
	}
	if !w.stated() || s.r.At.IsZero() && w.year == 0 {
		return Found{}, false
	}
	if w.hasDate() && !w.hasClock && (s.goesOnAsClock(end) || s.isToday(w)) {
		return Found{}, false // a date without a clock time is not midnight
	}
	onlyWeekday := w.hasWeekday && !w.hasClock && !w.hasDate() && !w.hasAhead
	if onlyWeekday && begin > 0 && lengthWords[s.toks[begin-1].Text] {
		return Found{}, false
	}
	at, ok := s.r.next(w)
	exact := w.hasSeconds && w.year != 0 && w.zone != nil
	daily := !w.hasDate() && !w.hasWeekday && !w.hasAhead
	return Found{At: at, Rough: !exact, Daily: daily, End: end}, ok
}

// A time that is only partly understood does not count.
func (s *timeScan) goesOnAsClock(end int) bool {
	if end >= len(s.toks) || s.toks[end].First {
		return false
	}
	t := s.toks[end]
	if t.Is("t") && t.Glued {
		return true
	}
	end = s.skipWords(end, ",", "at", "—")
	return end+1 < len(s.toks) && s.toks[end].Kind == token.Number && s.toks[end+1].Is(":") && s.toks[end+1].Glued
}

// isToday reports whether the date is today: the time of day is not stated.
func (s *timeScan) isToday(w wall) bool {
	year, month, day := s.r.At.In(cmp.Or(w.zone, s.r.zone())).Date()
	return !s.r.At.IsZero() && w.month == month && w.day == day && (w.year == 0 || w.year == year)
}

// Wed in WedA states nothing. Scripts without blanks have no such words.
func (s *timeScan) inWord(i int) bool {
	letters := func(t token.Token) bool { return t.Kind == token.Word && s.src[t.Start] < utf8.RuneSelf }
	return letters(s.toks[i]) && (s.toks[i].Glued && letters(s.toks[i-1]) ||
		i+1 < len(s.toks) && s.toks[i+1].Glued && letters(s.toks[i+1]))
}

// part reads a part that w does not have yet, and returns the position after it, or 0.
func (s *timeScan) part(w *wall, i int) int {
	if i >= len(s.toks) {
		return 0
	}
	if !w.hasClock {
		if end := s.clock(w, i); end != 0 {
			return end
		}
	}
	if !w.hasDate() && !w.hasAhead {
		if end := s.date(w, i); end != 0 {
			return end
		}
	}
	t := s.toks[i]
	if d, ok := weekdays[t.Text]; ok && !w.hasWeekday && t.Kind == token.Word && !s.inWord(i) {
		w.weekday, w.hasWeekday = d, true
		return i + 1
	}
	if w.hasDate() && w.year == 0 {
		if end := s.yearAt(w, i); end != 0 {
			return end
		}
	}
	if w.zone == nil && w.stated() {
		if z, end := s.zoneAt(i); z != nil {
			w.zone = z
			return end
		}
	}
	return 0
}

// clock reads 5pm, 5:30 PM, 17:30, 17:30:00, 2:13 a.m., 15 Uhr, 下午3点, noon or midnight.
func (s *timeScan) clock(w *wall, i int) int {
	t := s.toks[i]
	switch {
	case t.Is("noon"):
		w.hour, w.hasClock = 12, true
		return i + 1
	case midnights[t.Text]:
		w.hour, w.hasClock = 0, true
		return i + 1
	}
	half, early := halves[t.Text]
	if early && i+1 < len(s.toks) {
		i++
		t = s.toks[i]
	}
	hour := smallInt(t.Text)
	if t.Kind != token.Number || hour < 0 || hour > 24 || len(t.Text) > 2 {
		return 0
	}
	minute, second, end := s.minutes(i + 1)
	if end == i+1 {
		minute, end = s.hourWord(i + 1)
	} else {
		end = s.skipWords(end, "uhr")
	}
	hasMinutes := end > i+1
	after := end
	if !early {
		half, after = s.halfOfDay(end)
	}
	switch {
	case after == 0 && !hasMinutes:
		return 0
	case after == 0:
	case hour <= 12:
		hour, end = hour%12+half, after
	default: // 13:40pm
		end = after
	}
	if hour == 24 && minute == 0 {
		w.ahead, w.hasAhead, hour = w.ahead+1, true, 0
	}
	if hour > 23 {
		return 0
	}
	w.hour, w.min, w.sec, w.hasClock = hour, minute, max(second, 0), true
	w.hasSeconds = second >= 0
	return end
}

// minutes reads ":30" and ":30:15" before toks[i]; second is -1 if none is stated.
func (s *timeScan) minutes(i int) (minute, second, end int) {
	second, end = -1, i
	for n := range 2 {
		if i+1 >= len(s.toks) || !s.toks[i].Is(":") || !s.toks[i].Glued || !s.toks[i+1].Glued {
			break
		}
		text := s.toks[i+1].Text
		if n == 1 {
			text = text[:min(2, len(text))] // without a fraction of a second
		}
		v := smallInt(text)
		if len(text) != 2 || v < 0 || v > 59 {
			break
		}
		if n == 0 {
			minute = v
		} else {
			second = v
		}
		i += 2
		end = i
	}
	return minute, second, end
}

// hourWord reads what makes a number an hour, and the minutes after it: 15 Uhr, "at 15h30", 15点30分.
func (s *timeScan) hourWord(i int) (minute, end int) {
	if i >= len(s.toks) {
		return 0, i
	}
	announced := i >= 2 && clockWords[s.toks[i-2].Text]
	if word := s.toks[i].Text; !hourWords[word] && !(announced && units[word] == time.Hour) {
		return 0, i
	}
	if i+1 < len(s.toks) && len(s.toks[i+1].Text) == 2 {
		if m := smallInt(s.toks[i+1].Text); m >= 0 && m < 60 && (s.toks[i+1].Glued || s.unitAt(i+2) == time.Minute) {
			end = i + 2
			if s.unitAt(end) == time.Minute {
				end++
			}
			return m, end
		}
	}
	return 0, i + 1
}

// halfOfDay reads am and pm in their spellings; after is 0 if there is none.
func (s *timeScan) halfOfDay(i int) (hours, after int) {
	if i >= len(s.toks) || s.toks[i].Is("am") && s.toks[i-1].Is("uhr") { // 12 Uhr am Montag
		return 0, 0
	}
	switch s.toks[i].Text {
	case "am":
		return 0, i + 1
	case "pm":
		return 12, i + 1
	case "a", "p":
		if i+1 < len(s.toks) && s.toks[i+1].Is("m") {
			return map[string]int{"a": 0, "p": 12}[s.toks[i].Text], s.skipWords(i+2, ".") // 3 p.m. PST
		}
	}
	return 0, 0
}

// date reads Nov 18, 18 Nov, November 18th, 2026-11-18, 11/18/2026, today and tomorrow.
func (s *timeScan) date(w *wall, i int) int {
	t := s.toks[i]
	ahead, named := daysAhead[t.Text]
	switch {
	case named:
		w.ahead, w.hasAhead = ahead, true
		return i + 1
	case t.Kind == token.Word:
		month, ok := months[t.Text]
		if !ok {
			return 0
		}
		day, end := s.dayOfMonth(s.skipWords(i+1, "."))
		if end == 0 {
			return 0
		}
		w.month, w.day = month, day
		return end
	case t.Kind != token.Number:
		return 0
	}
	if end := s.numericDate(w, i); end != 0 {
		return end
	}
	if day, end := s.dayOfMonth(i); end != 0 {
		end = s.skipWords(end, "of", "de", "—", ".")
		if end < len(s.toks) && s.toks[end].Kind == token.Word {
			if month, ok := months[s.toks[end].Text]; ok {
				w.month, w.day = month, day
				return s.skipWords(end+1, ".")
			}
		}
	}
	return s.monthAndDay(w, i)
}

// 05/01 is a date only after "on", "by" or "until": otherwise it counts attempts.
func (s *timeScan) monthAndDay(w *wall, i int) int {
	if i == 0 || i+1 >= len(s.toks) || !slices.Contains([]string{"on", "by", "until"}, s.toks[i-1].Text) || !s.toks[i+1].Is("/") {
		return 0
	}
	month := smallInt(s.toks[i].Text)
	day, end := s.dayOfMonth(i + 2)
	if end == 0 || month < 1 || month > 31 || min(month, day) > 12 {
		return 0
	}
	if month > 12 || day <= 12 && !s.isNear(month, day) && s.isNear(day, month) {
		month, day = day, month
	}
	w.month, w.day = time.Month(month), day
	return end
}

func (s *timeScan) isNear(month, day int) bool {
	on, ok := s.r.next(wall{month: time.Month(month), day: day})
	return ok && !on.Before(s.r.At.Add(-staleDay)) && on.Before(s.r.At.Add(staleDate))
}

func (s *timeScan) dayOfMonth(i int) (day, end int) {
	if i >= len(s.toks) || s.toks[i].Kind != token.Number {
		return 0, 0
	}
	day = smallInt(s.toks[i].Text)
	if day < 1 || day > 31 || len(s.toks[i].Text) > 2 {
		return 0, 0
	}
	end = i + 1
	if end < len(s.toks) {
		if next := s.toks[end]; next.Is(":") && next.Glued {
			return 0, 0
		} else if next.Glued && slices.Contains([]string{"st", "nd", "rd", "th"}, next.Text) {
			end++
		}
	}
	return day, end
}

// numericDates are dates of numbers only, or of numbers followed by the names of their parts.
var numericDates = []func() *regexp.Regexp{
	lazy.Regexp(`^(?P<year>\d{4})-(?P<month>\d{1,2})-(?P<day>\d{1,2})`),
	lazy.Regexp(`^(?P<year>\d{4}) ?/ ?(?P<month>\d{1,2}) ?/ ?(?P<day>\d{1,2})`),
	lazy.Regexp(`^(?:(?P<year>\d{4}) ?[年년] ?)?(?P<month>\d{1,2}) ?[月월] ?(?P<day>\d{1,2}) ?[日号號일]`),
	lazy.Regexp(`^(?P<day>\d{1,2})\.(?P<month>\d{1,2})\.(?P<year>\d{4})`),
	slashedDate,
}

// slashedDate may have the day or the month first.
var slashedDate = lazy.Regexp(`^(?P<month>\d{1,2}) ?/ ?(?P<day>\d{1,2}) ?/ ?(?P<year>\d{4}|\d{2})`)

// numericDate reads 2026-11-18, 2026/11/18, 2026年11月18日, 18.11.2026 and 11/18/2026.
func (s *timeScan) numericDate(w *wall, i int) int {
	rest := s.src[s.toks[i].Start:]
	for _, compiled := range numericDates {
		form := compiled()
		m := form.FindStringSubmatch(rest)
		if m == nil || len(rest) > len(m[0]) && token.IsDigit(rune(rest[len(m[0])])) {
			continue
		}
		year, month, day := smallInt(m[form.SubexpIndex("year")]), smallInt(m[form.SubexpIndex("month")]), smallInt(m[form.SubexpIndex("day")])
		if year < 0 {
			year = 0 // the date has no year
		} else if year < 100 {
			year += 2000
		}
		if form == slashedDate() && month > 12 {
			month, day = day, month
		}
		if year != 0 && (year < firstYear || year > lastYear) || month < 1 || month > 12 || day < 1 || day > 31 {
			continue
		}
		w.year, w.month, w.day = year, time.Month(month), day
		isPast := time.Date(year, w.month, day+1, 0, 0, 0, 0, s.r.zone()).Before(s.r.At)
		if form == slashedDate() && day <= 12 && isPast {
			w.month, w.day = time.Month(day), month // of both readings, the one in the future is meant
		}
		return s.after(s.toks[i].Start + len(m[0]))
	}
	return 0
}

func (s *timeScan) yearAt(w *wall, i int) int {
	if y := smallInt(s.toks[i].Text); y >= firstYear && y <= lastYear {
		w.year = y
		return i + 1
	}
	return 0
}
