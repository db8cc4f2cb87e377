package limit

// anchor is what a word announces about the time that follows it.
type anchor uint8

const (
	lifts     anchor = iota + 1 // when the limit lifts
	again                       // when to ask again
	continues                   // when the agent goes on by itself
	header                      // a header quoted in words: a number is seconds
)

var anchors lexicon[anchor]

func init() {
	anchors.add(header, `
		retry after
	`)
	anchors.add(lifts, `
		reset|resets|resetting
		refresh|refreshes|refreshing
		renew|renews|renewing
		replenish|replenishes
		restored|lifted|lifts|unblocked|unlocked
		regain access
		available again?
		back online?
		resume|continue|start using * at|on|in
		cycle ends
		window ends
		until
		expires in|at
	`)
	anchors.add(again, `
		try again
		retry
		wait
		come|check back
		again
		continue at
	`)
	anchors.add(continues, `
		retrying (? # / # )? in
		retrying
		reconnecting
		continuing automatically?
		continue|resume|resuming automatically
		will continue|resume|retry
	`)
}

// anchored returns the time that the words of the message announce. A message
// of an agent that goes on by itself is read for when it does; any other for
// when the limit lifts, and then for when to ask again.
func (s *timeScan) anchored(running bool) (found, bool) {
	order := [...]anchor{lifts, again, continues}
	if running {
		order = [...]anchor{continues, again, lifts}
	}
	var best [continues + 1]found
	for i := range s.toks {
		kind, f, ok := s.announced(i)
		if ok && best[kind].end == 0 {
			best[kind] = f
			if kind == order[0] {
				break
			}
		}
	}
	for _, kind := range order {
		if f := best[kind]; f.end > 0 {
			return f, true
		}
	}
	return found{}, false
}

// announced reads the time that the word at toks[i] announces.
func (s *timeScan) announced(i int) (anchor, found, bool) {
	if s.toks[i].is("|") && i+1 < len(s.toks) && s.toks[i+1].glued {
		f, ok := s.epoch(i + 1)
		return lifts, f, ok
	}
	h, ok := anchors.at(s.toks, i)
	if !ok {
		return 0, found{}, false
	}
	f, ok := s.at(h.end)
	if h.means != header {
		return h.means, f, ok
	}
	if !ok {
		f, ok = s.seconds(s.skipFillers(h.end))
	}
	return again, f, ok
}
