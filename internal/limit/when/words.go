package when

import (
	_ "embed"
	"strconv"
	"strings"
	"time"

	"resumed/internal/limit/token"
)

// words.tsv has the words of times in the languages that agents are used in.
//
//go:embed words.tsv
var wordsFile string

// set is a set of words.
type set = map[string]bool

var (
	months    = map[string]time.Month{}
	weekdays  = map[string]time.Weekday{}
	daysAhead = map[string]int{}     // days that are named by how far ahead they are
	halves    = map[string]int{}     // hours that a word before the hour adds: 下午3点
	numbers   = map[string]float64{} // amounts in words; none of them is one but before a unit
	units     = map[string]time.Duration{}

	// Zones by the short names that people and agents use. A name that stands
	// for a place keeps that place's summer time; one that names the season does not.
	placeZones = map[string]string{}
	fixedZones = map[string]int{} // seconds

	midnights   = set{}
	andWords    = set{} // join the parts of a length
	joiners     = set{} // join the parts of a date: "Monday, the 4th of May at 5pm"
	hourWords   = set{} // make the number before them an hour of the day: 15 Uhr, 15点
	fillers     = set{} // may stand between the word that announces a time and the time
	clockWords  = set{} // stand before a time of day and never before a length: what follows "à 15h30" is no wait of fifteen hours
	lengthWords = set{} // stand before a length and never before a day: what follows "in Sat" is the rest of a word or a name
	bygone      = set{} // stand before a reset that has been: "last reset: 10:00"
	lasting     = set{} // stand before the end of something else: "valid until Dec 1"
	particles   = set{} // stand between a time and its closer

	anchors token.Lexicon[anchor]
	closers token.Lexicon[anchor] // announce the time before them: "2h until the reset", "15分钟后再试"
)

func init() {
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

// learn stores a word that stands for a value.
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
