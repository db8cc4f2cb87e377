package custom

import (
	"regexp"
	"regexp/syntax"
	"slices"
)

// needlesOf returns strings of which every line that matches any of the
// patterns has at least one, or nil where there are none such.
func needlesOf(patterns []*regexp.Regexp) []string {
	var all []string
	for _, re := range patterns {
		parsed, err := syntax.Parse(re.String(), syntax.Perl)
		if err != nil {
			return nil
		}
		needles := required(parsed.Simplify())
		if len(needles) == 0 {
			return nil
		}
		all = append(all, needles...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// minNeedle is how long a needle must be to be worth a search.
const minNeedle = 3

// required returns strings of which whatever matches has one.
func required(re *syntax.Regexp) []string {
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase == 0 && len(string(re.Rune)) >= minNeedle {
			return []string{string(re.Rune)}
		}
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return required(re.Sub[0])
		}
	case syntax.OpConcat:
		var best []string
		for _, sub := range re.Sub {
			if found := required(sub); better(found, best) {
				best = found
			}
		}
		return best
	case syntax.OpAlternate:
		var all []string
		for _, sub := range re.Sub {
			found := required(sub)
			if len(found) == 0 {
				return nil
			}
			all = append(all, found...)
		}
		return all
	}
	return nil
}

// better reports whether a is the sharper sieve: fewer needles, then longer.
func better(a, b []string) bool {
	if len(a) == 0 || len(b) == 0 {
		return len(b) == 0 && len(a) > 0
	}
	if len(a) != len(b) {
		return len(a) < len(b)
	}
	return shortest(a) > shortest(b)
}

func shortest(needles []string) int {
	n := len(needles[0])
	for _, s := range needles[1:] {
		n = min(n, len(s))
	}
	return n
}
