package rollout

import "bytes"

// usualOpening is opening for a line that is written as Codex writes nearly all of them.
func usualOpening(line []byte) (outer, payload []byte, ok bool) {
	s := steps{line}
	if _, ok := s.text(`{"timestamp":"`); !ok {
		return nil, nil, false
	}
	s.count(`,"ordinal":`)
	if outer, ok = s.text(`,"type":"`); !ok {
		return nil, nil, false
	}
	payload, ok = bytes.CutPrefix(s.rest, []byte(`,"payload":`))
	return outer, payload, ok && len(payload) > 0 && payload[0] == '{'
}

// usualRole is who speaks in a message that is written as Codex writes them.
func usualRole(payload []byte) (role []byte, ok bool) {
	s := steps{payload}
	if _, ok = s.text(`{"type":"`); !ok {
		return nil, false
	}
	s.text(`,"id":"`)
	return s.text(`,"role":"`)
}

// steps goes through what is known to come: a search of its end for each text, and
// none for names.
type steps struct{ rest []byte }

// text passes over a name, and over the text that it is of.
func (s *steps) text(name string) (text []byte, ok bool) {
	rest, ok := bytes.CutPrefix(s.rest, []byte(name))
	if !ok {
		return nil, false
	}
	end := bytes.IndexByte(rest, '"')
	if end < 0 || end > 0 && rest[end-1] == '\\' {
		return nil, false
	}
	s.rest = rest[end+1:]
	return rest[:end], true
}

// count passes over a name, and over the number that it is of, if it comes next.
func (s *steps) count(name string) {
	if rest, ok := bytes.CutPrefix(s.rest, []byte(name)); ok {
		for len(rest) > 0 && rest[0] >= '0' && rest[0] <= '9' {
			rest = rest[1:]
		}
		s.rest = rest
	}
}
