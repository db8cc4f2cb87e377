package vtscreen

import (
	"unicode/utf8"
)

// parser is where in a sequence of control characters the output is.
type parser struct {
	state   state
	partial []byte // the beginning of a character whose other bytes come later

	params []int // of a control sequence
	prefix byte  // < = > or ?
	inter  byte  // what stands before the last byte; of an escape too
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

// maxParams is how many parameters of a sequence are read.
const maxParams = 32

// Write interprets output. It never fails.
func (s *Screen) Write(output []byte) (int, error) {
	for i := 0; i < len(output); {
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
			s.partial = s.partial[:0]
			s.print(output[i:end])
			i = end
		case b < utf8.RuneSelf:
			s.partial = s.partial[:0]
			s.control(b)
			i++
		default:
			i += s.decode(output[i:])
		}
	}
	return len(output), nil
}

// decode shows the next character that is not ASCII, and returns how many bytes of it were read.
func (s *Screen) decode(output []byte) int {
	if len(s.partial) > 0 {
		s.partial = append(s.partial, output[0])
		if utf8.FullRune(s.partial) {
			r, _ := utf8.DecodeRune(s.partial)
			s.partial = s.partial[:0]
			s.printRune(r)
		}
		return 1
	}
	if !utf8.FullRune(output) {
		s.partial = append(s.partial, output...)
		return len(output)
	}
	r, n := utf8.DecodeRune(output)
	s.printRune(r)
	return n
}

// control carries out a control character.
func (s *Screen) control(b byte) {
	switch b {
	case '\b':
		s.moveTo(s.x-1, s.y)
	case '\t':
		s.moveTo((s.x/tabWidth+1)*tabWidth, s.y)
	case '\n', '\v', '\f':
		s.feed()
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

// step interprets a byte of a sequence.
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

// param reads a byte of the parameters. Parts of a parameter, after a colon, only concern colours.
func (s *Screen) param(b byte) {
	if len(s.params) == 0 {
		s.params = append(s.params, 0)
	}
	last := &s.params[len(s.params)-1]
	switch {
	case b >= ':' && len(s.params) < maxParams:
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
		s.state, s.params, s.prefix = sequence, s.params[:0], 0
	case ']', 'k':
		s.state = title
	case 'P', 'X', '^', '_':
		s.state = text
	case '7':
		s.saved = s.cursor
	case '8':
		s.restore(s.saved)
	case 'D':
		s.feed()
	case 'E':
		s.x = 0
		s.feed()
	case 'M':
		s.feedBack()
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
