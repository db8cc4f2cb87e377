package config

import "strings"

// nearest returns the word that was likely meant, or "".
func nearest(word string, words []string) string {
	word = strings.ToLower(word)
	if word == "" {
		return ""
	}
	best, least := "", len(word)/3+2
	for _, w := range words {
		if d := distance(word, strings.ToLower(w)); d < least {
			best, least = w, d
		}
	}
	if best != "" {
		return best
	}
	for _, w := range words {
		if len(word) >= 3 && (strings.HasPrefix(w, word) || strings.HasPrefix(word, w)) {
			return w
		}
	}
	return ""
}

// distance counts the letters to put in, take out, change or swap with their
// neighbour to make b of a.
func distance(a, b string) int {
	before, last, row := []int(nil), make([]int, len(b)+1), []int(nil)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row = make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			row[j] = min(row[j-1]+1, last[j]+1, last[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
