package vtscreen

import (
	"bytes"
	"unicode/utf8"
)

// parser is where in a sequence of control characters the output is.
type parser struct {
	state   state
	partial []byte // the beginning of a character whose other bytes come later

	params []int  // of a control sequence
	parts  uint32 // which of them follow a colon: they are parts of the one before
	prefix byte   // < = > or ?
	inter  byte   // what stands before the last byte; of an escape too
}

type state byte

const (
	ground   state = iota
	escape         // after ESC
	sequence       // after ESC [
	text           // in a text for the terminal, such as a title
	title          // in one that BEL may end too
	textEnd        // after ESC in such a text
)

const maxParams = 32 // as many as parts has bits

// Write interprets output. It never fails.
func (s *Screen) Write(output []byte) (int, error) {
	written := len(output)
	if len(s.partial) > 0 {
		output, s.partial = append(s.partial, output...), nil
	}
	for i := s.skip(output); i < len(output); {
		b := output[i]
		if s.state != ground {
			s.step(b)
			i++
			continue
		}
		end := i
		for end < len(output) && output[end] >= ' ' && output[end] < 0x7f {
			end++
		}
		switch {
		case end > i:
			s.print(output[i:end])
			i = end
		case b < utf8.RuneSelf:
			s.control(b)
			i++
		default:
			i += s.decode(output[i:])
		}
	}
	return written, nil
}

// skip returns how many bytes need not be interpreted: plain lines at the beginning that scroll away before the end.
func (s *Screen) skip(output []byte) int {
	if s.state != ground || s.top > 0 || s.bottom < s.rows-1 || s.lineDrawing[s.set] {
		return 0
	}
	plain := 0
	for plain < len(output) && (output[plain] >= ' ' && output[plain] < 0x7f || output[plain] == '\r' || output[plain] == '\n') {
		plain++
	}
	end := plain
	for range s.rows + 1 { // so many rows are left, and the cursor is in the first column of the last one
		end = max(0, bytes.LastIndexByte(output[:end], '\n'))
	}
	if end == 0 || output[end-1] != '\r' || bytes.Count(output[:end], []byte("\n")) < s.rows {
		return 0
	}
	if printed := bytes.TrimRight(output[:end], "\r\n"); len(printed) > 0 {
		s.last = rune(printed[len(printed)-1])
	}
	s.moveTo(0, s.bottom)
	return end + 1
}

// decode shows the next character that is not ASCII, and returns how many bytes of it were read.
func (s *Screen) decode(output []byte) int {
	if !utf8.FullRune(output) {
		s.partial = bytes.Clone(output)
		return len(output)
	}
	r, n := utf8.DecodeRune(output)
	s.printRune(r)
	return n
}

func (s *Screen) control(b byte) {
	switch b {
	case '\b':
		s.moveTo(s.x-1, s.y)
	case '\t':
		s.moveTo((s.x/tabWidth+1)*tabWidth, s.y)
	case '\n', '\v', '\f':
		s.feed(1)
	case '\r':
		s.moveTo(0, s.y)
	case 0x0e, 0x0f: // SO, SI
		s.set = int(0x0f - b)
	case 0x18, 0x1a: // CAN, SUB
		s.state = ground
	case 0x1b:
		s.state, s.inter = escape, 0
	}
}

func (s *Screen) step(b byte) {
	switch s.state { //nolint:exhaustive // the others are below
	case text, title:
		switch {
		case b == 0x1b:
			s.state = textEnd
		case b == '\a' && s.state == title, b == 0x18, b == 0x1a:
			s.state = ground
		}
		return
	case textEnd:
		s.state = ground
		if b != '\\' {
			s.state, s.inter = escape, 0
			s.step(b)
		}
		return
	}
	switch {
	case b < ' ':
		s.control(b)
	case b >= 0x7f: // not in a sequence
	case s.state == escape:
		s.afterEscape(b)
	case b >= '@':
		s.state = ground
		s.carryOut(b)
	case b >= '<': // < = > ?
		s.prefix = b
	case b >= '0':
		s.param(b)
	default:
		s.inter = b
	}
}

// param reads a byte of the parameters. Parts of a parameter, after a colon, only concern colours and lines.
func (s *Screen) param(b byte) {
	if len(s.params) == 0 {
		s.params = append(s.params, 0)
	}
	last := &s.params[len(s.params)-1]
	switch {
	case b >= ':' && len(s.params) < maxParams:
		if b == ':' {
			s.parts |= 1 << len(s.params)
		}
		s.params = append(s.params, 0)
	case b < ':' && *last < 1<<20:
		*last = *last*10 + int(b-'0')
	}
}

// afterEscape interprets the byte after ESC, or after ESC and an intermediate one.
func (s *Screen) afterEscape(b byte) {
	if b < '0' {
		s.inter = b
		return
	}
	s.state = ground
	switch s.inter {
	case '(', ')': // a set of characters
		s.lineDrawing[s.inter-'('] = b == '0'
		return
	case 0:
	default:
		return
	}
	switch b {
	case '[':
		s.state, s.params, s.parts, s.prefix = sequence, s.params[:0], 0, 0
	case ']', 'k':
		s.state = title
	case 'P', 'X', '^', '_':
		s.state = text
	case '7':
		s.saved = s.cursor
	case '8':
		s.restore(s.saved)
	case 'D':
		s.feed(1)
	case 'E':
		s.x = 0
		s.feed(1)
	case 'M':
		s.feed(-1)
	case 'c':
		s.reset()
	}
}

func (s *Screen) restore(c cursor) {
	s.cursor = c
	full := c.full
	s.moveTo(c.x, c.y) // the screen may be smaller now
	s.full = full && s.x == s.cols-1
}

// arg returns the n-th parameter, or usual if it is missing or 0.
func (s *Screen) arg(n, usual int) int {
	if n < len(s.params) && s.params[n] != 0 {
		return s.params[n]
	}
	return usual
}

func (s *Screen) carryOut(b byte) {
	switch {
	case s.inter == '!' && b == 'p': // a soft reset
		s.top, s.bottom, s.origin, s.insert, s.noWrap, s.lineDrawing, s.pen = 0, s.rows-1, false, false, false, [2]bool{}, 0
		return
	case s.inter != 0 || s.prefix != 0 && s.prefix != '?':
		return // modes of the keyboard, questions
	case b == 'h' || b == 'l':
		for _, mode := range s.params {
			s.setMode(mode, b == 'h')
		}
		return
	case s.prefix == '?' && b != 'J' && b != 'K':
		return
	}
	n := s.arg(0, 1)
	switch b {
	case 'A':
		s.moveBy(-n)
	case 'B', 'e':
		s.moveBy(n)
	case 'C', 'a':
		s.moveTo(s.x+n, s.y)
	case 'D':
		s.moveTo(s.x-n, s.y)
	case 'E':
		s.x = 0
		s.moveBy(n)
	case 'F':
		s.x = 0
		s.moveBy(-n)
	case 'G', '`':
		s.moveTo(n-1, s.y)
	case 'H', 'f':
		s.moveRow(s.arg(1, 1)-1, n-1)
	case 'd':
		s.moveRow(s.x, n-1)
	case 'I':
		s.moveTo((s.x/tabWidth+n)*tabWidth, s.y)
	case 'Z':
		s.moveTo(((s.x+tabWidth-1)/tabWidth-n)*tabWidth, s.y)
	case 's':
		s.saved = s.cursor
	case 'u':
		s.restore(s.saved)
	case 'r':
		s.setRegion(n-1, s.arg(1, s.rows)-1)
	case 'm':
		s.setPen()
	default:
		s.change(b, n)
	}
}

// setPen changes how text is printed from here on.
func (s *Screen) setPen() {
	if len(s.params) == 0 {
		s.pen = 0
	}
	for i := 0; i < len(s.params); i++ {
		switch s.params[i] {
		case 0:
			s.pen = 0
		case 2:
			s.pen |= dim
		case 7:
			s.pen |= inverse
		case 22:
			s.pen &^= dim
		case 27:
			s.pen &^= inverse
		case 38, 48, 58: // a colour: a number, or three
			switch s.arg(i+1, 0) {
			case 2:
				i += 4
			case 5:
				i += 2
			}
		}
		for s.parts>>(i+1)&1 != 0 {
			i++
		}
	}
}

// change carries out a sequence that changes the text.
func (s *Screen) change(b byte, n int) {
	switch b {
	case 'J':
		s.eraseScreen(s.arg(0, 0))
	case 'K':
		s.eraseLine(s.arg(0, 0))
	case 'X':
		s.erase(s.y, s.x, s.x+n)
	case '@':
		s.shift(n)
	case 'P':
		s.shift(-n)
	case 'L', 'M':
		if s.y < s.top || s.y > s.bottom {
			return
		}
		if b == 'L' {
			n = -n
		}
		s.scroll(s.y, s.bottom, n)
	case 'S':
		s.scroll(s.top, s.bottom, n)
	case 'T':
		s.scroll(s.top, s.bottom, -n)
	case 'b':
		for range min(n, s.cols*s.rows) {
			if s.last != 0 {
				s.put(s.last, max(1, s.width(s.last)))
			}
		}
	}
}

// eraseLine blanks the row of the cursor: 0 is what is behind it, 1 before it, 2 both.
func (s *Screen) eraseLine(which int) {
	switch which {
	case 0:
		s.erase(s.y, s.x, s.cols)
	case 1:
		s.erase(s.y, 0, s.x+1)
	case 2:
		s.erase(s.y, 0, s.cols)
	}
}

// eraseScreen does the same with the screen; 3 are the rows that scrolled away.
func (s *Screen) eraseScreen(which int) {
	if which == 0 || which == 2 {
		s.eraseRows(s.y+1, s.rows)
	}
	if which == 1 || which == 2 {
		s.eraseRows(0, s.y)
	}
	s.eraseLine(which)
}

func (s *Screen) setRegion(top, bottom int) {
	bottom = min(bottom, s.rows-1)
	if top < bottom {
		s.top, s.bottom = top, bottom
		s.moveRow(0, 0)
	}
}

func (s *Screen) setMode(mode int, on bool) {
	if s.prefix == 0 {
		if mode == 4 {
			s.insert = on
		}
		return
	}
	switch mode {
	case 6:
		s.origin = on
		s.moveRow(0, 0)
	case 7:
		s.noWrap = !on
	case 1048:
		if on {
			s.saved = s.cursor
		} else {
			s.restore(s.saved)
		}
	case 47, 1047, 1049:
		s.changeScreen(mode, on)
	}
}

// changeScreen shows the main or the second screen; 1049 also begins with an empty one, and returns to
// where the cursor was.
func (s *Screen) changeScreen(mode int, second bool) {
	if s.second != second {
		if mode == 1049 && second {
			s.savedMain = new(s.cursor)
		}
		s.grid, s.hidden, s.second = s.hidden, s.grid, second
		if mode == 1049 && second {
			s.eraseRows(0, s.rows)
		}
	}
	if mode == 1049 && !second && s.savedMain != nil {
		s.restore(*s.savedMain)
	}
}
