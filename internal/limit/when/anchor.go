package when

import (
	"slices"
	"unicode/utf8"

	"resumed/internal/limit/token"
)

// anchor is what a word tells about the time that follows it.
type anchor uint8

const (
	lifts     anchor = iota + 1 // when the limit lifts
	again                       // when to ask again
	continues                   // when the agent continues by itself
	header                      // a header quoted in words: a number is seconds
)

// anchored returns the time that the message states. If the agent continues by itself, that is when it
// continues; otherwise when the limit lifts, or else when to try again.
func (s *timeScan) anchored(running bool) (Found, bool) {
	order := [...]anchor{lifts, again, continues}
	if running {
		order = [...]anchor{continues, again, lifts}
	}
	var best [continues + 1]Found
	s.closed = slices.ContainsFunc(s.toks, closers.Begins)
	for i := range s.toks {
		kind, f, ok := s.announced(i)
		if ok && best[kind].End == 0 {
			best[kind] = f
			if kind == order[0] {
				break
			}
		}
	}
	for _, kind := range order {
		if f := best[kind]; f.End > 0 {
			return f, true
		}
	}
	return Found{}, false
}

// announced reads the time after the anchor at toks[i].
func (s *timeScan) announced(i int) (anchor, Found, bool) {
	if s.toks[i].Is("|") && i+1 < len(s.toks) && s.toks[i+1].Glued {
		f, ok := s.epoch(i + 1)
		return lifts, f, ok
	}
	h, ok := anchors.At(s.toks, i)
	if !ok && s.closed {
		return s.followed(i)
	}
	if !ok {
		return 0, Found{}, false
	}
	if i > 0 && h.Means == lifts && (bygone[s.toks[i-1].Text] || s.toks[i].Is("until") && lasting[s.toks[i-1].Text]) {
		return 0, Found{}, false
	}
	f, ok := s.at(h.End)
	if h.Means != header {
		return h.Means, f, ok
	}
	if !ok {
		f, ok = s.seconds(s.skipFillers(h.End))
	}
	return again, f, ok
}

// followed reads a time at toks[i] if its anchor comes after it.
func (s *timeScan) followed(i int) (anchor, Found, bool) {
	t := s.toks[i]
	if _, weekday := weekdays[t.Text]; t.Kind != token.Number && !weekday && s.src[t.Start] < utf8.RuneSelf {
		return 0, Found{}, false
	}
	f, ok := s.at(i)
	if !ok {
		return 0, Found{}, false
	}
	end := f.End
	for end < len(s.toks) && particles[s.toks[end].Text] {
		end++
	}
	if last := s.toks[f.End-1]; last.Is("日後") || last.Is("日后") {
		return again, f, true
	}
	h, ok := closers.At(s.toks, end)
	return h.Means, f, ok
}
