package termui

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"resumed/internal/humanize"
	"resumed/internal/resume/view"
)

// Printer collects lines and tables for people, no wider than its page.
type Printer struct {
	Renderer
	text strings.Builder
}

// Wrapped prints a text in as many lines as it needs.
func (p *Printer) Wrapped(text string) { p.Lines(p.wrap(text, "")...) }

// Lines prints lines as they are.
func (p *Printer) Lines(lines ...string) {
	for _, line := range lines {
		p.text.WriteString(line + "\n")
	}
}

// String returns what was printed.
func (p *Printer) String() string { return p.text.String() }

// Text prints text as it is.
func (p *Printer) Text(text string) { p.text.WriteString(text) }

// Line prints one line, cut at the width of the page.
func (p *Printer) Line(format string, args ...any) {
	p.text.WriteString(p.cut(fmt.Sprintf(format, args...)) + "\n")
}

// Row returns cells without a colour.
func Row(texts ...string) []Cell { return rowIn(None, texts) }

// Head returns the first row of a table.
func Head(titles ...string) []Cell { return rowIn(Bold, titles) }

func rowIn(colour Colour, texts []string) []Cell {
	cells := make([]Cell, len(texts))
	for i, text := range texts {
		cells[i] = Cell{text, colour}
	}
	return cells
}

// Table prints rows in columns. What does not fit of the last column continues below it.
func (p *Printer) Table(rows [][]Cell) { p.Lines(slices.Concat(p.wrapped(rows)...)...) }

// TableOrGroups prints rows in columns. If they are too wide for the page, the first column becomes a line
// above the rows that share it.
func (p *Printer) TableOrGroups(rows [][]Cell) {
	lines := Renderer{Paint: p.Paint}.table(rows)
	if p.Width > 0 && slices.ContainsFunc(lines, func(line string) bool { return ansi.StringWidth(line) > p.Width }) {
		rest := make([][]Cell, len(rows))
		for i, row := range rows {
			rest[i] = row[1:]
		}
		lines = nil
		for i, parts := range p.wrapped(rest) {
			if i > 0 && (i == 1 || rows[i][0] != rows[i-1][0]) {
				lines = append(lines, p.Paint.In(Bold, rows[i][0].Text))
			}
			lines = append(lines, parts...)
		}
	}
	p.Lines(lines...)
}

// wrapped returns the lines of each row. A word that is too long is not broken: it may be a path or a command.
func (p Renderer) wrapped(rows [][]Cell) [][]string {
	const least, indent = 16, "    " // width that the last column needs beside the others
	lines, other := make([][]string, len(rows)), slices.Clone(rows)
	for i, row := range rows {
		other[i] = append(slices.Clone(row[:len(row)-1]), Cell{})
	}
	for i, line := range (Renderer{Paint: p.Paint}).table(other) {
		last, room := rows[i][len(rows[i])-1], p.Width-ansi.StringWidth(line)
		parts := Wrap(last.Text, room)
		switch wide := func(part string) bool { return ansi.StringWidth(part) > max(room, least) }; {
		case len(parts) == 0:
			parts = []string{""}
		case p.Width > 0 && (room < least || slices.ContainsFunc(parts, wide)):
			lines[i], line, parts = p.wrap(strings.TrimRight(line, " "), ""), indent, Wrap(last.Text, p.Width-len(indent))
		}
		for _, part := range parts {
			lines[i] = append(lines[i], strings.TrimRight(line+p.Paint.In(last.Colour, part), " "))
			line = strings.Repeat(" ", ansi.StringWidth(line))
		}
	}
	return lines
}

func (p Renderer) table(rows [][]Cell) (lines []string) {
	var widths []int
	for _, row := range rows {
		widths = append(widths, make([]int, max(0, len(row)-len(widths)))...)
		for i, c := range row[:len(row)-1] {
			widths[i] = max(widths[i], ansi.StringWidth(c.Text))
		}
	}
	for _, row := range rows {
		var b strings.Builder
		for i, c := range row {
			b.WriteString(p.Paint.In(c.Colour, c.Text))
			if i < len(row)-1 {
				b.WriteString(strings.Repeat(" ", widths[i]-ansi.StringWidth(c.Text)+gap))
			}
		}
		lines = append(lines, p.cut(b.String()))
	}
	return lines
}

// Colour is one of the sixteen that every terminal theme defines, so that it is readable on dark and on
// light backgrounds. No state is blue, which is hard to read in many dark themes.
type Colour string

// The colours, and other ways to highlight text.
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

// tones are the colours of the tones.
var tones = map[humanize.Tone]Colour{
	humanize.Bad: Red, humanize.Wait: Yellow, humanize.Busy: Magenta, humanize.Good: Green, humanize.Still: Cyan,
}

// stateOf returns one word for the state of a session, and its colour.
func stateOf(s view.Session) (string, Colour) {
	word, tone := humanize.State(s)
	return word, tones[tone]
}

// Paint colours text if it is true.
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

// Wrap breaks a text into lines of a width, only between words: a command that is broken at its
// hyphens cannot be read. 0 or less: one line.
func Wrap(text string, width int) []string {
	if width <= 0 && text != "" {
		return []string{text}
	}
	var lines []string
	for word := range strings.FieldsSeq(text) {
		last := len(lines) - 1
		if last < 0 || ansi.StringWidth(lines[last]+" "+word) > width {
			lines = append(lines, word)
		} else {
			lines[last] += " " + word
		}
	}
	return lines
}
