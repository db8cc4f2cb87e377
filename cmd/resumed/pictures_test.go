package main

import (
	"bufio"
	"flag"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

var pictures = flag.String("pictures", "", "take the pictures of the README anew, into this directory")

// `make pictures` takes the pictures of the README: of a real run of the demo, and of the page on an
// ordinary day.
func TestPicturesOfTheReadme(t *testing.T) {
	if *pictures == "" {
		t.Skip("pictures are taken by make pictures")
	}
	b := newBox(t)
	require.NoError(t, os.WriteFile(filepath.Join(*pictures, "demo.svg"), []byte(moving("resumed demo", b.record("demo"))), 0o644))

	w := newBrowser(t)
	w.do(chromedp.EmulateViewport(1100, 900))
	newDay().open(w)
	png, err := chromedp.Run(w.ctx, chromedp.CaptureScreenshot())
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(*pictures, "page.png"), png, 0o644))

	path, err := filepath.Abs(filepath.Join(*pictures, "demo.svg"))
	require.NoError(t, err)
	w.do(chromedp.EmulateViewport(900, 700), chromedp.Navigate("file://"+path))
	w.until("it has moved to its end", `getComputedStyle([...document.querySelectorAll('text')].at(-1)).opacity === '1'`)
}

// said is a printed line, and its time after the start.
type said struct {
	at   time.Duration
	text string
}

// record records when the demo prints each line.
func (b *box) record(args ...string) []said {
	b.t.Helper()
	cmd := exec.Command(b.binary, args...)
	cmd.Env, cmd.Dir = b.env(), b.home
	out, err := cmd.StdoutPipe()
	require.NoError(b.t, err)
	began := time.Now()
	require.NoError(b.t, cmd.Start())
	var lines []said
	for scanner := bufio.NewScanner(out); scanner.Scan(); {
		lines = append(lines, said{time.Since(began), scanner.Text()})
	}
	require.NoError(b.t, cmd.Wait())
	return lines
}

const (
	step    = 19              // from line to line
	shown   = 5 * time.Second // how long the end stays
	columns = 110             // longer lines are cut
	svgHead = "  <style>text{font:13px ui-monospace,Menlo,Consolas,monospace;fill:#d6deeb;white-space:pre}.who{fill:#7fdbca}.bad{fill:#ef8a80}.tell{fill:#ecc48d}.dim{fill:#7a8ba3}\n"
	calm    = "@media(prefers-reduced-motion:reduce){text{animation:none!important;opacity:1!important}}"
)

// moving draws lines that appear at the time they were printed, in a loop. It has no script, so that a
// README can show it as a picture.
func moving(command string, lines []said) string {
	whole := lines[len(lines)-1].at + shown
	height := (len(lines) + 3) * step
	var b strings.Builder
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 900 %d\" role=\"img\" aria-label=\"A recorded run of resumed demo\">\n%s", height, svgHead)
	for i, line := range lines {
		at := 100 * line.at.Seconds() / whole.Seconds()
		fmt.Fprintf(&b, "@keyframes l%d{0%%,%.2f%%{opacity:0}%.2f%%,100%%{opacity:1}}.l%d{animation:l%d %.1fs infinite}\n", i, at, at+0.01, i, i, whole.Seconds())
	}
	fmt.Fprintf(&b, "%s</style>\n  <rect width=\"900\" height=\"%d\" rx=\"8\" fill=\"#0b1622\"/>\n  <text x=\"16\" y=\"%d\"><tspan class=\"dim\">$ </tspan>%s</text>\n", calm, height, step+6, command)
	for i, line := range lines {
		text := []rune(line.text)
		if len(text) > columns {
			text = append(text[:columns-1], '…')
		}
		fmt.Fprintf(&b, "  <text class=\"l%d %s\" x=\"16\" y=\"%d\">%s</text>\n", i, tone(line.text), (i+2)*step+6, html.EscapeString(string(text)))
	}
	return b.String() + "</svg>\n"
}

func tone(line string) string {
	switch {
	case strings.Contains(line, "  webhook  "):
		return "tell"
	case strings.Contains(line, "error") || strings.Contains(line, "gave up"):
		return "bad"
	case strings.Contains(line, "  resumed  "):
		return "who"
	default:
		return ""
	}
}
