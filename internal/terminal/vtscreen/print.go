package vtscreen

import "github.com/mattn/go-runewidth"

// widths measures characters as terminals do everywhere: whose width depends on the language is narrow.
var widths = &runewidth.Condition{}

// lineDrawing are the characters from ` to ~ in the set that draws lines.
var lineDrawing = []rune("◆▒␉␌␍␊°±␤␋┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·")

// print shows a run of ASCII characters.
func (s *Screen) print(text []byte) {
	for len(text) > 0 {
		n := min(len(text), s.cols-s.x)
		if s.full || s.insert || s.lineDrawing[s.set] || n < 2 {
			s.put(rune(text[0]), 1)
			text = text[1:]
			continue
		}
		s.split(s.y, s.x)
		s.split(s.y, s.x+n)
		row := s.grid[s.y][s.x : s.x+n]
		for i, b := range text[:n] {
			row[i] = rune(b)
		}
		s.last = rune(text[n-1])
		s.advance(n)
		text = text[n:]
	}
}

// printRune shows a character.
func (s *Screen) printRune(r rune) {
	if r < 0xa0 {
		return // a control character
	}
	if width := s.width(r); width > 0 {
		s.put(r, width)
	} else {
		s.combine(r)
	}
}

// width returns how many cells a character takes. It is looked up once: that is slow.
func (s *Screen) width(r rune) int {
	if int(r) >= len(s.widths) {
		return widths.RuneWidth(r)
	}
	known := &s.widths[r]
	if *known == 0 {
		*known = uint8(1 + widths.RuneWidth(r))
	}
	return int(*known) - 1
}

// put shows a character of one or two cells, and moves the cursor behind it.
func (s *Screen) put(r rune, width int) {
	if s.lineDrawing[s.set] && r >= '`' && r <= '~' {
		r = lineDrawing[r-'`']
	}
	if (s.full || s.x+width > s.cols) && !s.noWrap {
		s.x = 0
		s.feed()
	}
	if s.x+width > s.cols {
		return
	}
	if s.insert {
		s.shift(width)
	}
	s.split(s.y, s.x)
	s.split(s.y, s.x+width)
	s.grid[s.y][s.x] = r
	if width == 2 {
		s.grid[s.y][s.x+1] = 0
	}
	s.last = r
	s.advance(width)
}

// advance moves the cursor behind what was printed. It stays on the last column.
func (s *Screen) advance(n int) {
	s.full = s.x+n >= s.cols
	s.x = min(s.x+n, s.cols-1)
}

// combine adds an accent to the last printed character.
func (s *Screen) combine(r rune) {
	x := s.x
	if !s.full {
		x--
	}
	if x >= 1 && s.grid[s.y][x] == 0 {
		x--
	}
	if x < 0 {
		return
	}
	cell := &s.grid[s.y][x]
	text := string(*cell)
	if *cell < 0 {
		text = s.clusters[-*cell-1]
	}
	text += string(r)
	number, known := s.numbers[text]
	if !known {
		if len(text) > maxCluster || len(s.clusters) == maxClusters {
			return
		}
		if s.numbers == nil {
			s.numbers = make(map[string]rune)
		}
		s.clusters = append(s.clusters, text)
		number = -rune(len(s.clusters))
		s.numbers[text] = number
	}
	*cell = number
}
