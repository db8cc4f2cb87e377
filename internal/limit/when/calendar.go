package when

import (
	"strings"
	"time"

	"resumed/internal/limit/token"
)

// wall is what a message says of a point in time on the wall: any part of it
// may be missing.
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

var months = map[string]time.Month{}

var weekdays = map[string]time.Weekday{
	"tues": time.Tuesday, "wednes": time.Wednesday, "thur": time.Thursday, "thurs": time.Thursday,
}

func init() {
	for m := time.January; m <= time.December; m++ {
		name := token.Lower(m.String())
		months[name], months[name[:3]] = m, m
	}
	months["sept"] = time.September
	for i, names := range foreignMonths {
		for name := range strings.FieldsSeq(names) {
			months[name] = time.January + time.Month(i)
		}
	}
	for d := time.Sunday; d <= time.Saturday; d++ {
		name := token.Lower(d.String())
		weekdays[name], weekdays[name[:3]] = d, d
		for foreign := range strings.FieldsSeq(foreignWeekdays[d]) {
			weekdays[foreign] = d
		}
	}
}

// calendar reads a clock time, a date, a weekday, or any of them together in
// any order, with or without a zone.
func (s *timeScan) calendar(i int) (Found, bool) {
	var w wall
	end := -1
	for {
		next := s.part(&w, i)
		if next < 0 {
			break
		}
		end = next
		i = s.skipWords(next, ",", "at", "on", "by", "of", "the", "—", "de", "à", "um", "às", "alle", "a", "las", "feira", "в", "的", "の")
	}
	if !w.stated() || s.r.At.IsZero() && w.year == 0 {
		return Found{}, false
	}
	if w.hasDate() && !w.hasClock && (s.goesOnAsClock(end) || s.isToday(w)) {
		return Found{}, false // a date without its clock is not midnight
	}
	at, ok := s.r.next(w)
	exact := w.hasSeconds && w.year != 0 && w.zone != nil
	daily := !w.hasDate() && !w.hasWeekday && !w.hasAhead
	return Found{At: at, Rough: !exact, Daily: daily, End: end}, ok
}

// goesOnAsClock reports that a clock stands behind a date in a spelling that
// nobody knows: what is only partly understood is no time.
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

// isToday reports a date that has begun already: when on that day, it does not say.
func (s *timeScan) isToday(w wall) bool {
	if s.r.At.IsZero() {
		return false
	}
	zone := w.zone
	if zone == nil {
		zone = s.r.zone()
	}
	year, month, day := s.r.At.In(zone).Date()
	return w.month == month && w.day == day && (w.year == 0 || w.year == year)
}

// part reads one part of a calendar time that is not there yet, and returns
// the position after it, or -1.
func (s *timeScan) part(w *wall, i int) int {
	if i >= len(s.toks) {
		return -1
	}
	if !w.hasClock {
		if end := s.clock(w, i); end >= 0 {
			return end
		}
	}
	if !w.hasDate() && !w.hasAhead {
		if end := s.date(w, i); end >= 0 {
			return end
		}
	}
	t := s.toks[i]
	if d, ok := weekdays[t.Text]; ok && !w.hasWeekday && t.Kind == token.Word {
		w.weekday, w.hasWeekday = d, true
		return i + 1
	}
	if w.hasDate() && w.year == 0 {
		if end := s.yearAt(w, i); end >= 0 {
			return end
		}
	}
	if w.zone == nil && w.stated() {
		if z, end := s.zoneAt(i); z != nil {
			w.zone = z
			return end
		}
	}
	return -1
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
		return -1
	}
	minute, second, end := s.minutes(i + 1)
	if end == i+1 {
		minute, end = s.hourWord(i + 1)
	}
	hasMinutes := end > i+1
	after := end
	if !early {
		half, after = s.halfOfDay(end)
	}
	switch {
	case after < 0 && !hasMinutes:
		return -1
	case after < 0:
	case hour <= 12:
		hour, end = hour%12+half, after
	default: // 13:40pm
		end = after
	}
	if hour == 24 && minute == 0 {
		w.ahead, w.hasAhead, hour = w.ahead+1, true, 0
	}
	if hour > 23 {
		return -1
	}
	w.hour, w.min, w.sec, w.hasClock = hour, minute, max(second, 0), true
	w.hasSeconds = second >= 0
	return end
}

// minutes reads ":30" and ":30:15"; second is -1 where none is stated.
func (s *timeScan) minutes(i int) (minute, second, end int) {
	second, end = -1, i
	for n := range 2 {
		if i+1 >= len(s.toks) || !s.toks[i].Is(":") || !s.toks[i].Glued || !s.toks[i+1].Glued {
			break
		}
		text := s.toks[i+1].Text
		if n == 1 && len(text) > 2 {
			text = text[:2] // a fraction of a second
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

// hourWord reads what makes a bare number the hour of a day, and the minutes
// behind it: 15 Uhr, 15h30 behind a word that announces one, 15点30分.
func (s *timeScan) hourWord(i int) (minute, end int) {
	if i >= len(s.toks) {
		return 0, i
	}
	switch s.toks[i].Text {
	case "h", "heure", "heures", "horas", "ч":
		if i < 2 || !clockWords[s.toks[i-2].Text] {
			return 0, i
		}
	case "uhr", "点", "點", "时", "時", "시":
	default:
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

// halfOfDay reads am and pm in their spellings; after is -1 where none stands.
func (s *timeScan) halfOfDay(i int) (hours, after int) {
	if i >= len(s.toks) {
		return 0, -1
	}
	switch s.toks[i].Text {
	case "am":
		return 0, i + 1
	case "pm":
		return 12, i + 1
	case "uhr":
		return s.halfOfDay(i + 1)
	case "a", "p":
		if i+1 < len(s.toks) && s.toks[i+1].Is("m") {
			if s.toks[i].Is("p") {
				hours = 12
			}
			return hours, i + 2
		}
	}
	return 0, -1
}

// date reads Nov 18, 18 Nov, November 18th, 2026-11-18, 2026/11/18, 11/18/2026,
// today and tomorrow.
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
			return -1
		}
		day, end := s.dayOfMonth(s.skipWords(i+1, "."))
		if end < 0 {
			return -1
		}
		w.month, w.day = month, day
		return end
	case t.Kind != token.Number:
		return -1
	case len(t.Text) == 4:
		if end := s.numericDate(w, i, "-", 0, 1, 2); end >= 0 {
			return end
		}
		if end := s.numericDate(w, i, "/", 0, 1, 2); end >= 0 {
			return end
		}
		return s.namedDate(w, i)
	}
	if end := s.namedDate(w, i); end >= 0 {
		return end
	}
	if end := s.dottedDate(w, i); end >= 0 {
		return end
	}
	if day, end := s.dayOfMonth(i); end >= 0 {
		end = s.skipWords(end, "of", "de", "—", ".")
		if end < len(s.toks) && s.toks[end].Kind == token.Word {
			if month, ok := months[s.toks[end].Text]; ok {
				w.month, w.day = month, day
				return s.skipWords(end+1, ".")
			}
		}
	}
	if end := s.numericDate(w, i, "/", 2, 0, 1); end >= 0 {
		return end
	}
	return s.monthAndDay(w, i)
}

// namedDate reads 2026年8月25日, and the same without its year.
func (s *timeScan) namedDate(w *wall, i int) int {
	var n [3]int
	for k, names := range [...]string{"年 년", "月 월", "日 号 號 일"} {
		if i+1 < len(s.toks) && s.toks[i].Kind == token.Number && contains(strings.Fields(names), s.toks[i+1].Text) {
			n[k] = smallInt(s.toks[i].Text)
			i += 2
		} else if k > 0 {
			return -1
		}
	}
	if n[0] != 0 && (n[0] < firstYear || n[0] > lastYear) || n[1] < 1 || n[1] > 12 || n[2] < 1 || n[2] > 31 {
		return -1
	}
	w.year, w.month, w.day = n[0], time.Month(n[1]), n[2]
	return i
}

// dottedDate reads 25.08.2026, whose end is lexed as a fraction.
func (s *timeScan) dottedDate(w *wall, i int) int {
	if i+1 >= len(s.toks) || s.toks[i+1].Kind != token.Number || s.src[s.toks[i].End:s.toks[i+1].Start] != "." {
		return -1
	}
	month, year, ok := strings.Cut(s.toks[i+1].Text, ".")
	d, m, y := smallInt(s.toks[i].Text), smallInt(month), smallInt(year)
	if !ok || y < firstYear || y > lastYear || m < 1 || m > 12 || d < 1 || d > 31 {
		return -1
	}
	w.year, w.month, w.day = y, time.Month(m), d
	return i + 2
}

// monthAndDay reads 05/01, which is a date only where one is announced: else it
// counts attempts.
func (s *timeScan) monthAndDay(w *wall, i int) int {
	if i == 0 || i+2 >= len(s.toks) || !contains([]string{"on", "by", "until"}, s.toks[i-1].Text) || !s.toks[i+1].Is("/") {
		return -1
	}
	month := smallInt(s.toks[i].Text)
	day, end := s.dayOfMonth(i + 2)
	if end < 0 || month < 1 || month > 31 || min(month, day) > 12 {
		return -1
	}
	if month > 12 || day <= 12 && !s.isNear(month, day) && s.isNear(day, month) {
		month, day = day, month
	}
	w.month, w.day = time.Month(month), day
	return end
}

// isNear reports a day of the coming month: no limit's window is longer.
func (s *timeScan) isNear(month, day int) bool {
	on, ok := s.r.next(wall{month: time.Month(month), day: day})
	return ok && !on.Before(s.r.At.Add(-staleDay)) && on.Before(s.r.At.Add(staleDate))
}

// dayOfMonth reads 18 and 18th, but not the hour of a clock time.
func (s *timeScan) dayOfMonth(i int) (day, end int) {
	if i >= len(s.toks) || s.toks[i].Kind != token.Number {
		return 0, -1
	}
	day = smallInt(s.toks[i].Text)
	if day < 1 || day > 31 || len(s.toks[i].Text) > 2 {
		return 0, -1
	}
	end = i + 1
	if end < len(s.toks) {
		if next := s.toks[end]; next.Is(":") && next.Glued {
			return 0, -1
		} else if next.Glued && contains([]string{"st", "nd", "rd", "th"}, next.Text) {
			end++
		}
	}
	return day, end
}

// numericDate reads three numbers; y, m, d say which is which. A first number
// above twelve in a slashed date can only be the day.
func (s *timeScan) numericDate(w *wall, i int, separator string, y, m, d int) int {
	var n [3]int
	at := i
	for k := range n {
		if k > 0 && separator == "/" {
			if at >= len(s.toks) || !s.toks[at].Is("/") {
				return -1
			}
			at++
		}
		if at >= len(s.toks) || s.toks[at].Kind != token.Number {
			return -1
		}
		if k > 0 && separator == "-" && s.src[s.toks[at].Start-1] != '-' {
			return -1
		}
		if n[k] = smallInt(s.toks[at].Text); n[k] < 0 {
			return -1
		}
		at++
	}
	if separator == "/" && n[m] > 12 {
		m, d = d, m
	}
	if n[y] < 100 {
		n[y] += 2000
	}
	if n[y] < firstYear || n[y] > lastYear || n[m] < 1 || n[m] > 12 || n[d] < 1 || n[d] > 31 {
		return -1
	}
	w.year, w.month, w.day = n[y], time.Month(n[m]), n[d]
	if separator == "/" && y == 2 && n[d] <= 12 && s.isPastDay(*w) {
		w.month, w.day = time.Month(n[d]), n[m] // the day first: of both the one ahead is meant
	}
	return at
}

// isPastDay reports a date that lies before the day at hand.
func (s *timeScan) isPastDay(w wall) bool {
	return time.Date(w.year, w.month, w.day+1, 0, 0, 0, 0, s.r.zone()).Before(s.r.At)
}

func (s *timeScan) yearAt(w *wall, i int) int {
	t := s.toks[i]
	if t.Kind != token.Number || len(t.Text) != 4 {
		return -1
	}
	if y := smallInt(t.Text); y >= firstYear && y <= lastYear {
		w.year = y
		return i + 1
	}
	return -1
}
