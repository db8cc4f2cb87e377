// Package vtscreen is a terminal without a display: it interprets what a program prints, and returns
// the text that a terminal would show, and which of it is dim or inverse. Colours, titles and questions to the
// terminal are ignored. The library vt10x gives wide characters one cell: it showed 46 of the 58 screens in testdata as tmux does.
package vtscreen

import (
	"slices"
	"strings"
	"unicode"

	"github.com/mattn/go-runewidth"
)

const (
	// maxSide bounds what a wrong size of a window can make the screen allocate.
	maxSide = 2000

	// maxClusters is how many different letters with accents of their own are stored. Further accents
	// are left out.
	maxClusters = 4096

	// maxCluster is how many bytes one has.
	maxCluster = 64

	tabWidth = 8
)

// Screen is the text on a terminal. It is not safe for concurrent use.
type Screen struct {
	cols, rows int
	grid       [][]rune        // what is shown, with how; 0 is the right half of a wide character
	hidden     [][]rune        // what the other screen shows: programs draw menus and editors on a second one
	second     bool            // the second screen is shown
	clusters   []string        // characters of several runes: firstCluster is the first of them,
	numbers    map[string]rune // and which each of them is

	cursor
	saved     cursor  // by the program
	savedMain *cursor // when it changed to the second screen

	top, bottom int // the rows that scroll
	noWrap      bool
	insert      bool
	lineDrawing [2]bool // whether the two sets of characters are those that draw lines
	last        rune    // the last printed character, without how it is shown

	widths [1 << 16]uint8 // of characters, and one more; 0: not looked up yet

	parser
}

type cursor struct {
	x, y   int
	full   bool // the last column is printed: the next character begins a new line
	origin bool // rows are counted from the first that scrolls
	set    int  // the set of characters in use
	pen    rune // how text is printed: dim and inverse
}

// Beside its character, a cell has how it is shown.
const (
	dim          = 1 << 29
	inverse      = 1 << 28
	attributes   = dim | inverse
	firstCluster = unicode.MaxRune + 1
)

// New returns an empty screen.
func New(cols, rows int) *Screen {
	s := new(Screen)
	s.Resize(cols, rows)
	return s
}

// Text returns the rows, each with its newline and without spaces at its end.
func (s *Screen) Text() string { return s.text(func(*strings.Builder, rune) {}) }

// Styled returns Text with the sequences that make characters dim or inverse, and that end this.
func (s *Screen) Styled() string {
	pen := rune(0)
	return s.text(func(b *strings.Builder, now rune) {
		if now == pen {
			return
		}
		pen = now
		b.WriteString("\x1b[0")
		if pen&dim != 0 {
			b.WriteString(";2")
		}
		if pen&inverse != 0 {
			b.WriteString(";7")
		}
		b.WriteByte('m')
	})
}

// text calls pen before each character and each newline, with how it is shown.
func (s *Screen) text(pen func(b *strings.Builder, now rune)) string {
	var b strings.Builder
	for _, row := range s.grid {
		end := len(row)
		for end > 0 && row[end-1]&^attributes == ' ' {
			end--
		}
		for _, cell := range row[:end] {
			if cell != 0 {
				pen(&b, cell&attributes)
				b.WriteString(s.character(cell))
			}
		}
		pen(&b, 0)
		b.WriteByte('\n')
	}
	return b.String()
}

// character returns the text of a cell.
func (s *Screen) character(cell rune) string {
	if r := cell &^ attributes; r < firstCluster {
		return string(r)
	}
	return s.clusters[cell&^attributes-firstCluster]
}

// Resize changes the size. What is outside is lost, below the cursor first.
func (s *Screen) Resize(cols, rows int) {
	cols, rows = min(max(cols, 1), maxSide), min(max(rows, 1), maxSide)
	up := max(0, s.y-rows+1)
	for _, grid := range []*[][]rune{&s.grid, &s.hidden} {
		old := *grid
		*grid = make([][]rune, rows)
		for y := range *grid {
			row := blank(make([]rune, cols))
			if y+up < len(old) {
				copy(row, old[y+up])
			}
			(*grid)[y] = row
		}
	}
	s.cols, s.rows, s.top, s.bottom = cols, rows, 0, rows-1
	s.moveTo(s.x, s.y-up)
}

var spaces = slices.Repeat([]rune{' '}, maxSide)

func blank(cells []rune) []rune {
	copy(cells, spaces)
	return cells
}

func (s *Screen) moveTo(x, y int) {
	s.x, s.y, s.full = min(max(x, 0), s.cols-1), min(max(y, 0), s.rows-1), false
}

// moveRow moves the cursor to a row as programs count them.
func (s *Screen) moveRow(x, y int) {
	if s.origin {
		s.moveTo(x, min(s.top+max(y, 0), s.bottom))
		return
	}
	s.moveTo(x, y)
}

// moveBy moves the cursor by rows; it does not leave the rows that scroll.
func (s *Screen) moveBy(rows int) {
	y := s.y + rows
	if s.y >= s.top {
		y = max(y, s.top)
	}
	if s.y <= s.bottom {
		y = min(y, s.bottom)
	}
	s.moveTo(s.x, y)
}

// erase blanks the cells of a row from one column to before another.
func (s *Screen) erase(y, from, to int) {
	from, to = min(max(from, 0), s.cols), min(to, s.cols)
	if from < to {
		s.split(y, from)
		s.split(y, to)
		blank(s.grid[y][from:to])
	}
}

// split blanks a wide character that crosses the left edge of a column: half of it is overwritten.
func (s *Screen) split(y, x int) {
	if row := s.grid[y]; x > 0 && x < s.cols && row[x] == 0 {
		row[x-1], row[x] = ' ', ' '
	}
}

// eraseRows blanks rows from one to before another.
func (s *Screen) eraseRows(from, to int) {
	for y := from; y < to; y++ {
		blank(s.grid[y])
	}
}

// scroll moves the rows from top to bottom up by n, or down if n is negative.
func (s *Screen) scroll(top, bottom, n int) {
	rows := s.grid[top : bottom+1]
	for range min(n, len(rows)) {
		first := rows[0]
		copy(rows, rows[1:])
		rows[len(rows)-1] = blank(first)
	}
	for range min(-n, len(rows)) {
		last := rows[len(rows)-1]
		copy(rows[1:], rows)
		rows[0] = blank(last)
	}
}

// feed goes to the next row, or to the row above if n is -1.
func (s *Screen) feed(n int) {
	edge, last := s.bottom, s.rows-1
	if n < 0 {
		edge, last = s.top, 0
	}
	if s.y == edge {
		s.scroll(s.top, s.bottom, n)
	} else if s.y != last {
		s.y += n
	}
	s.full = false
}

// shift moves the cells right of the cursor by n to the right, or to the left if n is negative.
func (s *Screen) shift(n int) {
	s.split(s.y, s.x)
	rest := s.grid[s.y][s.x:]
	if n = min(max(n, -len(rest)), len(rest)); n >= 0 {
		copy(rest[n:], rest)
		blank(rest[:n])
		return
	}
	copy(rest, rest[-n:])
	blank(rest[len(rest)+n:])
}

// reset makes the screen as new, except for its size.
func (s *Screen) reset() { *s = *New(s.cols, s.rows) }

// widths measures characters as terminals do everywhere: whose width depends on the language is narrow.
var widths = &runewidth.Condition{}

// lineDrawing are the characters from ` to ~ in the set that draws lines.
var lineDrawing = []rune("◆▒␉␌␍␊°±␤␋┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·")

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
		row, pen := s.grid[s.y][s.x:s.x+n], s.pen
		for i, b := range text[:n] {
			row[i] = rune(b) | pen
		}
		s.last = rune(text[n-1])
		s.advance(n)
		text = text[n:]
	}
}

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
		s.feed(1)
	}
	if s.x+width > s.cols {
		return
	}
	if s.insert {
		s.shift(width)
	}
	s.split(s.y, s.x)
	s.split(s.y, s.x+width)
	s.grid[s.y][s.x] = r | s.pen
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
	text := s.character(*cell) + string(r)
	number, known := s.numbers[text]
	if !known {
		if len(text) > maxCluster || len(s.clusters) == maxClusters {
			return
		}
		if s.numbers == nil {
			s.numbers = make(map[string]rune)
		}
		number = firstCluster + rune(len(s.clusters))
		s.clusters = append(s.clusters, text)
		s.numbers[text] = number
	}
	*cell = number | *cell&attributes
}
