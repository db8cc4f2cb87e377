package limit

import "unicode/utf8"

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
		reset|resets|refreshes|renews daily|weekly|monthly
		reset|resets|refreshes|renews every|each day|week|month|night at|on
		reset|resets|resetting
		refresh|refreshes|refreshing
		renew|renews|renewing|renewed
		replenish|replenishes|replenished|refilled
		window opens|reopens
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
		waiting|sleeping|pausing for?
		reconnecting
		continuing automatically?
		continue|resume|resuming automatically
		resuming|continuing
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
		return s.followed(i)
	}
	if i > 0 && h.means == lifts && (bygone[s.toks[i-1].text] || s.toks[i].is("until") && lasting[s.toks[i-1].text]) {
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

// bygone stand before a reset that has been: "last reset: 10:00".
var bygone = wordSet(`last previous was were been since letzte letzter letzten dernière dernier última último ultimo последний последнего
	上次 前回 마지막 지난`)

// lasting stand before the end of something else: "valid until Dec 1".
var lasting = wordSet("valid available active open free good runs")

// closers announce the time that stands before them: "2h until the reset",
// "15分钟后再试", "in 5 Minuten erneut".
var closers lexicon[anchor]

func init() {
	closers.add(lifts, `
		until|till|before your|the? next? * reset|resets|refresh|renewal
		zurückgesetzt|erneuert|aufgehoben
		重置|恢复|恢復|刷新|解除|解封
		リセット|再開|回復|解除
		재설정|초기화|갱신|복구|해제
	`)
	closers.add(again, `
		erneut|wieder
		后|後|之后|之後|以后|以後|后再|後再
		再试|重试|再試|重試|再試行|お試し
		후|뒤|다시
	`)
}

// particles stand between a time and its closer.
var particles = wordSet("に 以降 から より 에 이후 부터 uhr")

// followed reads a time at toks[i] that is announced by what stands behind it.
func (s *timeScan) followed(i int) (anchor, found, bool) {
	t := s.toks[i]
	if _, weekday := weekdays[t.text]; t.kind != number && !weekday && s.src[t.start] < utf8.RuneSelf {
		return 0, found{}, false
	}
	f, ok := s.at(i)
	if !ok {
		return 0, found{}, false
	}
	end := f.end
	for end < len(s.toks) && particles[s.toks[end].text] {
		end++
	}
	if last := s.toks[f.end-1]; last.is("日後") || last.is("日后") {
		return again, f, true
	}
	h, ok := closers.at(s.toks, end)
	return h.means, f, ok
}
