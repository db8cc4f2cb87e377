//go:build !windows

package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"

	"resumed/internal/logging"
	"resumed/internal/termui"
)

// The colours, by the names that the commands use.
type colour = termui.Colour

const (
	none   = termui.None
	red    = termui.Red
	green  = termui.Green
	yellow = termui.Yellow
	blue   = termui.Blue
	bold   = termui.Bold
	dim    = termui.Dim
)

// cell is one field of a table.
type cell struct {
	text   string
	colour colour
}

func plain(text string) cell { return cell{text, none} }
func head(text string) cell  { return cell{text, bold} }

// page is output for people: as wide as their terminal, in colours where they
// can be seen.
type page struct {
	out      io.Writer
	text     strings.Builder
	width    int // 0: no bound
	coloured bool
}

func newPage(out io.Writer) *page {
	p := &page{out: out, coloured: logging.Colours(out)}
	if logging.IsTerminal(out) {
		p.width = 80
		if width, _, err := term.GetSize(int(out.(*os.File).Fd())); err == nil && width > 0 {
			p.width = width
		}
	}
	return p
}

func (p *page) paint(c colour, text string) string { return termui.Paint(p.coloured).In(c, text) }

func (p *page) line(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if p.width > 0 {
		text = ansi.Truncate(text, p.width, "…")
	}
	p.text.WriteString(text + "\n")
}

// table prints rows in columns; the last one takes what room is left.
func (p *page) table(rows [][]cell) {
	if len(rows) == 0 {
		return
	}
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, c := range row[:len(row)-1] {
			widths[i] = max(widths[i], ansi.StringWidth(c.text))
		}
	}
	for _, row := range rows {
		var b strings.Builder
		for i, c := range row[:len(row)-1] {
			b.WriteString(p.paint(c.colour, c.text))
			b.WriteString(strings.Repeat(" ", widths[i]-ansi.StringWidth(c.text)+2))
		}
		last := row[len(row)-1]
		b.WriteString(p.paint(last.colour, last.text))
		p.line("%s", b.String())
	}
}

func (p *page) flush() error {
	_, err := io.WriteString(p.out, p.text.String())
	return err
}

// view returns where something is shown as it is now.
func (p *page) view() termui.Page {
	return termui.Page{Width: p.width, Paint: termui.Paint(p.coloured), Now: time.Now()}
}
