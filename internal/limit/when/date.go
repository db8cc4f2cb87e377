package when

import (
	"regexp"
	"slices"
	"time"

	"resumed/internal/limit/token"
)

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
	}
	if end := s.numericDate(w, i); end >= 0 {
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
	return s.monthAndDay(w, i)
}

// monthAndDay reads 05/01, which is a date only after "on", "by" or "until": otherwise it counts
// attempts.
func (s *timeScan) monthAndDay(w *wall, i int) int {
	if i == 0 || i+2 >= len(s.toks) || !slices.Contains([]string{"on", "by", "until"}, s.toks[i-1].Text) || !s.toks[i+1].Is("/") {
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

// isNear reports whether the day is within the next month: no limit's window is longer.
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
		} else if next.Glued && slices.Contains([]string{"st", "nd", "rd", "th"}, next.Text) {
			end++
		}
	}
	return day, end
}

// numericDates are dates of numbers only, or of numbers followed by the names of their parts.
var numericDates = []*regexp.Regexp{
	regexp.MustCompile(`^(?P<year>\d{4})-(?P<month>\d{1,2})-(?P<day>\d{1,2})`),
	regexp.MustCompile(`^(?P<year>\d{4}) ?/ ?(?P<month>\d{1,2}) ?/ ?(?P<day>\d{1,2})`),
	regexp.MustCompile(`^(?:(?P<year>\d{4}) ?[年년] ?)?(?P<month>\d{1,2}) ?[月월] ?(?P<day>\d{1,2}) ?[日号號일]`),
	regexp.MustCompile(`^(?P<day>\d{1,2})\.(?P<month>\d{1,2})\.(?P<year>\d{4})`),
	slashedDate,
}

// slashedDate may have the day or the month first.
var slashedDate = regexp.MustCompile(`^(?P<month>\d{1,2}) ?/ ?(?P<day>\d{1,2}) ?/ ?(?P<year>\d{4}|\d{2})`)

// numericDate reads 2026-11-18, 2026/11/18, 2026年11月18日, 18.11.2026 and 11/18/2026.
func (s *timeScan) numericDate(w *wall, i int) int {
	rest := s.src[s.toks[i].Start:]
	for _, form := range numericDates {
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
		if form == slashedDate && month > 12 {
			month, day = day, month
		}
		if year != 0 && (year < firstYear || year > lastYear) || month < 1 || month > 12 || day < 1 || day > 31 {
			continue
		}
		w.year, w.month, w.day = year, time.Month(month), day
		isPast := time.Date(year, w.month, day+1, 0, 0, 0, 0, s.r.zone()).Before(s.r.At)
		if form == slashedDate && day <= 12 && isPast {
			w.month, w.day = time.Month(day), month // of both readings, the one in the future is meant
		}
		return s.after(s.toks[i].Start + len(m[0]))
	}
	return -1
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
