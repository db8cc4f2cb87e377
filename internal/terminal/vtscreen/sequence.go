package vtscreen

// arg returns the n-th parameter, or usual if it is missing or 0.
func (s *Screen) arg(n, usual int) int {
	if n < len(s.params) && s.params[n] != 0 {
		return s.params[n]
	}
	return usual
}

// carryOut carries out a control sequence that ends with this byte.
func (s *Screen) carryOut(b byte) {
	switch {
	case s.inter == '!' && b == 'p': // a soft reset
		s.top, s.bottom, s.origin, s.insert, s.noWrap, s.lineDrawing = 0, s.rows-1, false, false, false, [2]bool{}
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
	default:
		s.change(b, n)
	}
}

// change carries out a sequence that changes the text.
func (s *Screen) change(b byte, n int) {
	switch b {
	case 'J':
		s.eraseScreen(s.arg(0, 0))
	case 'K':
		switch s.arg(0, 0) {
		case 0:
			s.erase(s.y, s.x, s.cols)
		case 1:
			s.erase(s.y, 0, s.x+1)
		case 2:
			s.erase(s.y, 0, s.cols)
		}
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

func (s *Screen) eraseScreen(which int) {
	switch which {
	case 0:
		s.erase(s.y, s.x, s.cols)
		s.eraseRows(s.y+1, s.rows)
	case 1:
		s.eraseRows(0, s.y)
		s.erase(s.y, 0, s.x+1)
	case 2:
		s.eraseRows(0, s.rows)
	} // 3 are the rows that scrolled away
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
