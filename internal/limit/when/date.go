package when

import (
	"strings"
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
