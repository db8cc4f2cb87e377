package gnuscreen

import (
	"bytes"
	"regexp"
	"strings"
	"unicode/utf8"
)

// lastTold is the last character that screen 4 writes into a file as it is. Of every other one it
// writes the lowest byte.
const lastTold = '\u00ff'

// secondHalf is what it writes for the second column of a wide character.
const secondHalf = 0xff

// drawn are the characters that agents draw with, by a lowest byte that stands for no other
// letter.
var drawn = map[byte]rune{0x00: '─', 0x02: '│', 0x14: '—', 0x19: '’', 0x94: '▔'}

// marks are characters that agents draw at the beginning of a row. Their lowest bytes are letters:
// ❯ is o. Where they may stand for either, the mark counts: it is what keeps a prompt from being
// typed.
var marks = []struct {
	row  *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`^( *)o([ \x{a0}]|$)`), "$1❯$2"},
	{regexp.MustCompile(`^( *|.*-- INSERT -- )õõ `), "$1⏵⏵ "},
	{regexp.MustCompile(`^( *|.*-- INSERT -- )ø `), "$1⏸ "},
	{regexp.MustCompile(`^( *)\x{a0} (\S)`), "$1⚠ $2"},
	{regexp.MustCompile(`^[;=63"&] (.*(?:\S&|\bRetrying in ))`), "✻ $1"},
	{regexp.MustCompile(`^([✻·*] .*\S)&`), "$1…"},
	{regexp.MustCompile(`(\S)&$`), "$1…"},
}

// Restored returns the text that GNU screen has written into a file, with the characters of which
// it has written only a part.
func Restored(data []byte) string {
	control := func(r rune) bool { return r < ' ' && r != '\n' }
	if utf8.Valid(data) && !bytes.ContainsFunc(data, control) {
		return string(data)
	}
	rows := bytes.Split(data, []byte("\n"))
	all := make([]string, len(rows))
	for i, row := range rows {
		all[i] = restored(row)
	}
	return strings.Join(all, "\n")
}

func restored(row []byte) string {
	var b strings.Builder
	for _, c := range row {
		switch r, ok := drawn[c]; {
		case ok:
			b.WriteRune(r)
		case c < ' ':
			b.WriteRune(utf8.RuneError)
		case c != secondHalf:
			b.WriteRune(rune(c))
		}
	}
	text := b.String()
	for _, m := range marks {
		text = m.row.ReplaceAllString(text, m.with)
	}
	return text
}
