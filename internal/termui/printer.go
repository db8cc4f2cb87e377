package termui

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Printer collects lines and tables for people, no wider than its page.
type Printer struct {
	Page
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

// Table prints rows in columns; the last column takes the room that is left.
func (p *Printer) Table(rows [][]Cell) { p.Lines(p.table(rows)...) }

func (p Page) table(rows [][]Cell) (lines []string) {
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
