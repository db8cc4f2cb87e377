package main

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

// accessible checks that axe-core finds no accessibility problem on the current page. testdata/axe is
// version 4.14.0 from npm, unchanged (MPL-2.0).
func (b *browser) accessible(what string, looks ...look) {
	b.t.Helper()
	script, err := os.ReadFile("testdata/axe/axe.min.js")
	require.NoError(b.t, err)
	if b.eval(`'axe' in window`) == "false" { // once per page: it has half a megabyte
		_, err = chromedp.Run(b.ctx, chromedp.Evaluate[bool](string(script)+"\n;true"))
		require.NoError(b.t, err)
	}
	if len(looks) == 0 {
		looks = []look{{"light", 1280}, {"dark", 1280}, {"light", 360}, {"dark", 360}}
	}
	for _, l := range looks {
		b.as(l)
		// axe takes its measures once, so it begins when the list is drawn for the new width.
		b.eval(`(window.found = '', requestAnimationFrame(() => requestAnimationFrame(() => axe.run(document, {resultTypes: ['violations']}).then((r) => { window.found = JSON.stringify(r.violations) }))), 0)`)
		b.until("axe has looked", `window.found !== ''`)
		var found []struct {
			ID, Impact, Help string
			Nodes            []struct{ HTML, FailureSummary string }
		}
		require.NoError(b.t, json.Unmarshal([]byte(b.eval("window.found")), &found))
		require.Empty(b.t, found, "%s, %s, %d pixels wide", what, l.scheme, l.width)
	}
}

func TestPageIsForEverybody(t *testing.T) {
	b := newBox(t)
	w := newLook(t)
	b.write(configFile, bot+served+"[resume]\nstagger = \"0s\"\n[backoff]\nbase_delay = \"100ms\"\nmax_retries = 1\n[notify]\ngroup_wait = \"0s\"\n"+
		"[[notify.webhook]]\nname = \"dead\"\nurl = \"http://127.0.0.1:9/\"\n")
	b.write("bot/resume.sh", recordCall+"echo trying\nexit 3")
	b.start()
	w.do(chromedp.Navigate(b.page()))
	w.until("all is well", `document.querySelector('#empty').checkVisibility()`)
	w.accessible("with nothing to show")

	b.write("bot/logs/hopeless.log", "rate limited\n")
	b.untilState("hopeless", resume.GaveUp)
	b.write("bot/logs/patient.log", "rate limited, retry in 1h\n")
	b.untilState("patient", resume.Waiting)
	w.until("what was not delivered is told, as by status", `document.querySelector('#notes').innerText.includes('notices by dead: ')`)
	w.as(look{"light", 1280})
	w.do(chromedp.Click(chromedp.CSS(".account > button")))
	w.until("time is drawn", of("patient", ".strip svg")+` !== null && document.querySelector('#accounts .strip svg') !== null`)
	w.accessible("with sessions")

	w.as(look{"light", 1280})
	w.do(chromedp.Click(chromedp.CSS(`[data-key="mybot/hopeless"] .open`)))
	w.until("all of it is there", `document.querySelector('#parts .run') !== null`)
	w.eval(`document.querySelectorAll('#drawer details').forEach((each) => { each.open = true })`)
	w.accessible("with the drawer open")
}
