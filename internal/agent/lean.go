package agent

import "bytes"

// A text longer than longText is cut down to its beginning and its end.
const (
	longText = 8 << 10
	keptHead = 3 << 10
	keptTail = 1 << 10
)

// Lean returns a line of JSON with the middle of its long texts left out. What
// a record means is said in few words, and the parser spends most of its time on
// the others: answers, files, what tools print. Anything else is returned as it
// is, and so is a line that is no JSON.
func Lean(line []byte) []byte {
	var lean []byte
	taken := 0
	for i := 0; len(line)-i > longText; {
		step := bytes.IndexByte(line[i:], '"')
		if step < 0 {
			break
		}
		open := i + step
		end := closingQuote(line, open)
		if end < 0 {
			break
		}
		if end-open > longText {
			lean = append(lean, line[taken:cutBefore(line, open+keptHead)]...)
			lean = append(lean, " … "...)
			taken = cutAfter(line, end-keptTail, end)
		}
		i = end + 1
	}
	if lean == nil {
		return line
	}
	return append(lean, line[taken:]...)
}

// longestEscape is that of a character that needs two of them.
const longestEscape = len(`\ud83d\ude00`)

// cutBefore returns the last place at or before at where a text may be cut:
// neither an escape nor a character is torn there.
func cutBefore(line []byte, at int) int {
	if i := bytes.IndexByte(line[at-longestEscape:at], '\\'); i >= 0 {
		at += i - longestEscape
		if isHighHalf(line[at-longestEscape/2 : at]) {
			at -= longestEscape / 2
		}
		for line[at-1] == '\\' { // the first of a row begins an escape
			at--
		}
	}
	for line[at]&0xC0 == 0x80 {
		at--
	}
	return at
}

// isHighHalf reports whether the bytes are the first of two escapes that are
// one character.
func isHighHalf(b []byte) bool {
	return b[0] == '\\' && b[1] == 'u' && b[2]|0x20 == 'd' && bytes.IndexByte([]byte("89abAB"), b[3]) >= 0
}

// cutAfter returns the first place at or after at where a text may be cut, at
// the latest its end.
func cutAfter(line []byte, at, end int) int {
	for at < end {
		i := bytes.LastIndexByte(line[at-longestEscape:at], '\\')
		if i < 0 {
			break
		}
		at += i + 1
	}
	for at < end && line[at]&0xC0 == 0x80 {
		at++
	}
	return min(at, end)
}
