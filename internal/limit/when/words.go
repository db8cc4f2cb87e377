package when

import (
	_ "embed"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"resumed/internal/limit/token"
)

// words.tsv has the words of times in the languages that agents are used in.
//
//go:embed words.tsv
var wordsFile string

type set = map[string]bool

var (
	months    = map[string]time.Month{}
	weekdays  = map[string]time.Weekday{}
	daysAhead = map[string]int{}     // words such as "tomorrow", and how many days ahead they are
	halves    = map[string]int{}     // hours to add for a word before the hour: 下午3点
	numbers   = map[string]float64{} // amounts in words; they count only before a unit
	units     = map[string]time.Duration{}

	// Zones by their usual abbreviations. A name of a place has that place's summer time; a name of a
	// season has a fixed offset.
	placeZones = map[string]string{}
	fixedZones = map[string]int{} // seconds

	midnights   = set{}
	andWords    = set{} // join the parts of a length
	joiners     = set{} // join the parts of a date: "Monday, the 4th of May at 5pm"
	hourWords   = set{} // make the number before them an hour of the day: 15 Uhr, 15点
	fillers     = set{} // may come between the word that announces a time and the time
	clockWords  = set{} // come before a time of day and never before a duration: "à 15h30" is not a wait of fifteen hours
	lengthWords = set{} // come before a duration and never before a day: in "in Sat", Sat is not Saturday
	bygone      = set{} // come before a reset in the past: "last reset: 10:00"
	lasting     = set{} // come before the end of something else: "valid until Dec 1"
	particles   = set{} // come between a time and its closer

	anchors token.Lexicon[anchor]
	closers token.Lexicon[anchor] // announce the time before them: "2h until the reset", "15分钟后再试"
)

func init() { token.BeforeFirstCut(readWords) }

func readWords() {
	sets := map[string]set{
		"midnight": midnights, "and": andWords, "joiner": joiners, "hour": hourWords, "filler": fillers, "clock": clockWords, "length": lengthWords, "bygone": bygone, "lasting": lasting, "particle": particles,
	}
	kinds := map[string]anchor{"lifts": lifts, "again": again, "continues": continues, "header": header}
	for columns := range token.Rows(wordsFile) {
		kind, value, words := columns[0], columns[1], columns[2]
		switch kind {
		case "anchor":
			anchors.Add(kinds[value], words)
			continue
		case "closer":
			closers.Add(kinds[value], words)
			continue
		}
		for w := range strings.FieldsSeq(words) {
			token.LearnGlyphs(w)
			if sets[kind] != nil {
				sets[kind][w] = true
			} else {
				learn(kind, value, w)
			}
		}
	}
}

func learn(kind, value, word string) {
	n, _ := strconv.Atoi(value)
	switch kind {
	case "month":
		months[word] = time.Month(n)
	case "weekday":
		weekdays[word] = time.Weekday(n)
	case "ahead":
		daysAhead[word] = n
	case "half":
		halves[word] = n
	case "number":
		numbers[word] = float64(n)
	case "unit":
		units[word], _ = time.ParseDuration(value)
	case "place":
		placeZones[word] = value
	case "offset":
		fixedZones[word] = n * 60
	default:
		panic("words.tsv: no kind is called " + kind)
	}
}

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
	s.closed = slices.ContainsFunc(s.toks, closers.StartsPhrase)
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
