package termui

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"resumed/internal/humanize"
	"resumed/internal/resume/view"
)

// Colour is one of the sixteen that every terminal theme defines, so that it
// can be read on dark and on light. No state has blue, which many dark themes
// drown.
type Colour string

// The colours, and the two ways to set text apart without one.
const (
	None    Colour = ""
	Red     Colour = "31"
	Green   Colour = "32"
	Yellow  Colour = "33"
	Blue    Colour = "34"
	Magenta Colour = "35"
	Cyan    Colour = "36"
	Bold    Colour = "1"
	Dim     Colour = "2"
	Reverse Colour = "7"
)

// tones are the colours of what is said of sessions and limits.
var tones = map[humanize.Tone]Colour{
	humanize.Bad: Red, humanize.Wait: Yellow, humanize.Busy: Magenta, humanize.Good: Green, humanize.Still: Cyan,
}

// stateOf says in a word how a session stands, and in which colour.
func stateOf(s view.Session) (string, Colour) {
	word, tone := humanize.State(s)
	return word, tones[tone]
}

// Paint colours text where it is true, and leaves it as it is elsewhere.
type Paint bool

// In returns the text in a colour.
func (p Paint) In(c Colour, text string) string {
	if !p || c == None || text == "" {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}

// Cell is one field of a table.
type Cell struct {
	Text   string
	Colour Colour
}

// fill cuts or pads text to a width in columns of the terminal.
func fill(text string, width int) string {
	text = cut(text, width)
	return text + strings.Repeat(" ", max(0, width-ansi.StringWidth(text)))
}

func cut(text string, width int) string { return ansi.Truncate(text, max(0, width), "…") }

// wrap breaks text into lines of a width; 0 means no bound.
func wrap(text string, width int) []string {
	if width > 0 {
		text = ansi.Wrap(text, width, "")
	}
	return strings.Split(text, "\n")
}
