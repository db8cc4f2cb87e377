package screen

import (
	"slices"
	"strings"
	"unicode"

	"resumed/internal/lazy"
)

// look is how a character is shown.
type look uint8

const (
	dim look = 1 << iota
	inverse
)

// sequences are those in the text of a terminal. The first group is the numbers of one that changes how
// characters are shown; the others are links.
var sequences = lazy.Regexp(`\x1b\[([\d;:]*)m|\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)`)

// colours are those whose numbers would mean something else alone, and the parts of a number, after a colon.
var colours = lazy.Regexp(`(^|;)[345]8(?:;5;\d*|;2;\d*;\d*;\d*)|:[\d:]*`)

// readLooks returns the rows without sequences, and how each character of them is shown.
func readLooks(text string) (lines []string, looks [][]look) {
	lines = strings.Split(text, "\n")
	looks = make([][]look, len(lines))
	var now look
	for i, line := range lines {
		var plain strings.Builder
		add := func(text string) {
			plain.WriteString(text)
			for range text {
				looks[i] = append(looks[i], now)
			}
		}
		end := 0
		for _, m := range sequences().FindAllStringSubmatchIndex(line, -1) {
			add(line[end:m[0]])
			if end = m[1]; m[2] >= 0 {
				now = now.changed(line[m[2]:m[3]])
			}
		}
		add(line[end:])
		lines[i] = plain.String()
	}
	return lines, looks
}

func (l look) changed(numbers string) look {
	for number := range strings.SplitSeq(colours().ReplaceAllString(numbers, "${1}1"), ";") {
		switch strings.TrimLeft(number, "0") {
		case "":
			l = 0
		case "2":
			l |= dim
		case "7":
			l |= inverse
		case "22":
			l &^= dim
		case "27":
			l &^= inverse
		}
	}
	return l
}

// hints are in the empty composer after an error, since 2.1.326. Without colours they look like a draft.
var hints = []string{"Resend your message to try again", "Once fixed, resend your message", "Run /rewind to go back"}

// isHint reports whether the text in the composer is no draft but a hint: it is dim, but for the cursor on its first
// character, which is inverse. If nothing on the screen is dim, only the known hints are. A narrow terminal cuts them.
func isHint(draft string, lines []string, looks [][]look, dimmed bool) bool {
	dims := 0
	for i, row := range looks {
		runes := []rune(lines[i])
		for j, l := range row {
			first, cursor := i == 0 && j == beforeText, l&inverse != 0
			switch {
			case i == 0 && j < beforeText:
			case cursor && !first:
				return false // behind a draft
			case l&dim != 0:
				dims++
			case dimmed && !cursor && j < len(runes) && !unicode.IsSpace(runes[j]):
				return false
			}
		}
	}
	if dimmed {
		return dims > 0
	}
	begins, cut := strings.CutSuffix(draft, "…")
	return slices.ContainsFunc(hints, func(hint string) bool {
		return draft == hint || cut && len(begins) > 9 && strings.HasPrefix(hint, begins)
	})
}
