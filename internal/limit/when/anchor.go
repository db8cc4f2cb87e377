package when

import (
	"unicode/utf8"

	"resumed/internal/limit/token"
)

// anchor is what a word announces about the time that follows it.
type anchor uint8

const (
	lifts     anchor = iota + 1 // when the limit lifts
	again                       // when to ask again
	continues                   // when the agent goes on by itself
	header                      // a header quoted in words: a number is seconds
)

var anchors token.Lexicon[anchor]

func init() {
	anchors.Add(header, `
		retry after
	`)
	anchors.Add(lifts, `
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
		topped|filled up
		recovers|recover|returns|restarts
		refill|refills
		comes|come back
		starts|start|begins over|afresh|again
		renewal
		cycle ends
		window ends
		until
		expires in|at
	`)
	anchors.Add(again, `
		try again
		retry
		wait
		come|check back
		again
		continue at
	`)
	anchors.Add(continues, `
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
func (s *timeScan) anchored(running bool) (Found, bool) {
	order := [...]anchor{lifts, again, continues}
	if running {
		order = [...]anchor{continues, again, lifts}
	}
	var best [continues + 1]Found
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

// announced reads the time that the word at toks[i] announces.
func (s *timeScan) announced(i int) (anchor, Found, bool) {
	if s.toks[i].Is("|") && i+1 < len(s.toks) && s.toks[i+1].Glued {
		f, ok := s.epoch(i + 1)
		return lifts, f, ok
	}
	h, ok := anchors.At(s.toks, i)
	if !ok {
		return s.followed(i)
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

// bygone stand before a reset that has been: "last reset: 10:00".
var bygone = token.Set(`last previous was were been since letzte letzter letzten dernière dernier última último ultimo последний последнего
	上次 前回 마지막 지난`)

// lasting stand before the end of something else: "valid until Dec 1".
var lasting = token.Set("valid available active open free good runs")

// closers announce the time that stands before them: "2h until the reset",
// "15分钟后再试", "in 5 Minuten erneut".
var closers token.Lexicon[anchor]

func init() {
	closers.Add(lifts, `
		until|till|before your|the? next? * reset|resets|refresh|renewal
		zurückgesetzt|erneuert|aufgehoben
		重置|恢复|恢復|刷新|解除|解封
		リセット|再開|回復|解除
		재설정|초기화|갱신|복구|해제
	`)
	closers.Add(again, `
		erneut|wieder
		后|後|之后|之後|以后|以後|后再|後再
		再试|重试|再試|重試|再試行|お試し
		후|뒤|다시
	`)
}

// particles stand between a time and its closer.
var particles = token.Set("に 以降 から より 에 이후 부터 uhr")

// followed reads a time at toks[i] that is announced by what stands behind it.
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
