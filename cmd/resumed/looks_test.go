package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

// look is a colour scheme and a width of the page.
type look struct {
	scheme string
	width  int64
}

// looks are those that must work: from a phone to a wide screen, light and dark.
var looks = []look{
	{"light", 390}, {"dark", 390}, {"light", 1024}, {"dark", 1024}, {"light", 1440}, {"dark", 1440}, {"light", 2560}, {"dark", 2560},
}

// as sets the look of the browser.
func (b *browser) as(l look) {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: l.scheme}},
	})
	require.NoError(b.t, err)
	b.do(chromedp.EmulateViewport(l.width, cmp.Or(b.high, 800)))
	b.until("it is as wide as it should be", fmt.Sprintf("innerWidth === %d", l.width))
}

// shots checks that the page fits every look, and stores screenshots if SCREENSHOTS names a directory.
func (b *browser) shots(name string) {
	b.t.Helper()
	dir, shown := os.Getenv("SCREENSHOTS"), looks
	if dir == "" {
		shown = []look{{"light", 390}, {"dark", 1024}, {"light", 1440}, {"dark", 2560}} // a scheme changes no width
	}
	for _, l := range shown {
		b.as(l)
		b.until("nothing is wider than the screen", `document.documentElement.scrollWidth <= innerWidth`)
		if dir != "" {
			png, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
			require.NoError(b.t, err)
			require.NoError(b.t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s-%d-%s.png", name, l.width, l.scheme)), png, 0o600))
		}
	}
	b.as(look{"light", 1280})
}

// newLook returns a browser for a test of what the page shows. Those are a sixth of what all tests of the program
// compute, and few changes touch the page: where nobody asks for them, CI tries them.
func newLook(t *testing.T) *browser {
	t.Helper()
	if os.Getenv("LOOKS") == "" && os.Getenv("SCREENSHOTS") == "" {
		t.Skip("WHAT THE PAGE SHOWS IS NOT TRIED HERE: make test does, and LOOKS=1 go test")
	}
	return newBrowser(t)
}

func innerText(selector string) string {
	return fmt.Sprintf(`document.querySelector('%s').innerText`, selector)
}

// If there is nothing to do, the page says so, and what is watched.
func TestBrowserShowsThatAllIsWell(t *testing.T) {
	b := newBox(t)
	w := newLook(t)
	b.write(configFile, bot+served)
	b.start()
	w.do(chromedp.Navigate(b.page()))
	w.until("it says that all is well", innerText("#sentence")+`.startsWith('All is well')`)
	w.until("it says who is watched", innerText("#empty")+`.includes('mybot')`)
	require.Contains(t, w.eval(innerText("#empty")), "claude-code")
	require.Equal(t, "false", w.eval(`document.querySelector('#sessions-section').checkVisibility()`))
	w.shots("empty")

	var off strings.Builder
	off.WriteString(served)
	for _, agent := range b.status().Daemon.Agents {
		if agent.Name != "mybot" {
			fmt.Fprintf(&off, "[[agent]]\nname = %q\nenabled = false\n", agent.Name)
		}
	}
	b.reconfigure(off.String())
	w.until("it says that nothing is watched", innerText("#sentence")+` === 'Nothing is watched: the configuration turns all agents off.' && !document.querySelector('#empty').checkVisibility()`)
}

// A session goes through all its states while the page and its drawer are open.
func TestBrowserFollowsAnInterruption(t *testing.T) {
	b := newBox(t)
	w := newBrowser(t)
	const markup = `<img src=x onerror=document.title='owned'>`
	config := func(delay string) string {
		return bot + served + "[resume]\nstagger = \"0s\"\nsettle = \"0s\"\n[backoff]\nmax_delay = \"2h\"\nmax_retries = 2\nbase_delay = \"" + delay + "\"\n"
	}
	b.write(configFile, config("1h"))
	b.write("bot/resume.sh", recordCall+"until [ -e say ]; do sleep 0.1; done\necho \"I said "+markup+"\"\nuntil [ -e go ]; do sleep 0.1; done\nrm go\nexit 3")
	b.write("bot/logs/s1.log", "step 1\n")
	b.start()
	w.do(chromedp.Navigate(b.page()))
	w.until("all is well", innerText("#sentence")+` === 'All is well: of 1 session none is stopped.'`)

	b.appendTo("bot/logs/s1.log", "rate limited\n")
	w.until("it waits", innerText("#sentence")+` === '1 waits.'`)
	w.until("it stands in its group", innerText(".group .cause")+` === 'Waiting: rate limit'`)
	w.until("its time is drawn", of("s1", ".strip svg .span.limited.expected")+` !== null`)
	w.do(chromedp.Click(chromedp.CSS(".account > button")))
	w.until("its account's too", `document.querySelector('#accounts .strip svg .limited') !== null`)
	w.do(chromedp.Click(chromedp.CSS(`[data-key="mybot/s1"] .open`)))
	w.until("the drawer tells what was decided", drawer+`.innerText.includes('What was decided')`)
	require.Equal(t, "rate limited", w.eval(`document.querySelector('[data-part=evidence] pre').textContent`), "the record, in the agent's words")
	require.Contains(t, w.eval(drawer+".innerText"), "exponential 1h", "the backoff curve")
	require.Equal(t, "1", w.eval(`document.querySelectorAll('.curve .wait.here').length`), "and where it stands")
	require.Equal(t, "true", w.eval(`document.querySelector('#drawer .strip .away') !== null`), "before the first daemon there was none")
	require.Contains(t, w.eval(drawer+".textContent"), "no daemon ran")
	require.Equal(t, "why", w.eval(`document.querySelector('#parts section').dataset.part`), "why it is not resumed comes first")
	require.Contains(t, w.eval(drawer+".innerText"), "sh ./resume.sh s1 continue", "the command of the next resume")
	status, _, _ := b.run("status", "s1")
	for _, label := range []string{"session", "account", "directory", "state", "why", "attempts", "class", "limited at", "transcript"} {
		require.Contains(t, status, label)
		require.Contains(t, w.eval(drawer+".innerText"), label, "the same facts as status")
	}
	w.shots("drawer")

	b.reconfigure(config("1s"))
	w.until("it is being resumed", innerText("#sentence")+` === '1 is being resumed.'`)
	w.until("the drawer shows the resume", drawer+`.innerText.includes('running')`)
	w.until("it has written nothing", `document.querySelector('#parts .run pre')?.textContent === 'No output.'`)
	b.write("bot/say", "")
	w.until("its output is there", `document.querySelector('#parts .run pre')?.textContent.includes('I said ')`)
	require.Contains(t, w.eval(`document.querySelector('[data-part=Resumes] .run pre').textContent`), markup, "what a run wrote is text, and stands with its resume")
	b.write("bot/go", "")
	b.until("the last one runs", func() bool { return len(b.calls()) == 2 })
	b.write("bot/go", "")
	b.untilState("s1", resume.GaveUp)
	w.until("it needs a person", innerText("#sentence")+` === '1 needs you.'`)
	w.until("the drawer knows", `document.querySelector('#drawer .facts .state').textContent === 'gave up'`)
	w.until("its resumes are on the strip", `document.querySelectorAll('#drawer .strip .mark.resume').length > 0`)
	require.Equal(t, "(1) resumed", w.eval("document.title"))
	require.Equal(t, "0", w.eval("document.querySelectorAll('img').length"), "no markup was read")

	w.do(chromedp.KeyEvent(kb.Escape))
	w.until("the focus is back in the list", `document.activeElement.closest('[data-key="mybot/s1"]') !== null`)
	w.do(chromedp.KeyEvent(kb.ArrowUp))
	w.until("an arrow goes to its group", `document.activeElement.closest('h3')?.textContent.includes('Gave up')`)
	w.shots("gave-up")
	w.mu.Lock()
	defer w.mu.Unlock()
	require.Empty(t, w.complaints, "nothing was refused and nothing broke")
}

// Many sessions are shown as a few groups, and only visible rows are created.
func TestBrowserFoldsManySessions(t *testing.T) {
	b := newBox(t)
	w := newLook(t)
	b.write(configFile, bot+served)
	const many = 450
	for i := range many {
		b.write(fmt.Sprintf("bot/logs/s%03d.log", i), fmt.Sprintf("rate limited, retry in %dm\n", 60+i))
	}
	b.start()
	b.until("all are known", func() bool { return len(b.status().Sessions) == many })

	w.do(chromedp.Navigate(b.page()))
	w.until("they are one group", fmt.Sprintf(`document.querySelectorAll('.group').length === 1 && `+innerText(".group .many")+` === '%d sessions'`, many))
	w.shots("many")
	require.Equal(t, "0", w.eval(`document.querySelectorAll('.session').length`), "which is folded")
	w.do(chromedp.Focus(chromedp.CSS(".group button")), chromedp.KeyEvent(kb.Enter))
	w.until("it opens by the keyboard", `document.querySelectorAll('.session').length > 5`)
	require.Equal(t, "mybot/s000", w.eval(`document.querySelector('.session').dataset.key`), "the next one first")
	rows := `document.querySelectorAll('.session').length < 60`
	require.Equal(t, "true", w.eval(rows), "only what can be seen is made")
	w.shots("opened")

	w.do(chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.ArrowDown))
	w.until("arrows go from its head down the list", `document.activeElement.closest('.session')?.dataset.key === 'mybot/s001'`)
	w.eval(`(() => { for (let i = 0; i < 98; i++) document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowDown', bubbles: true})) })()`)
	require.Equal(t, "mybot/s099", w.eval(`document.activeElement.closest('.session')?.dataset.key`), "and many go beyond what was made, before any of that is drawn")
	w.eval(`(() => { const [one, other] = document.querySelectorAll('.session .open'); one.click(); document.querySelector('#close').click(); other.click() })()`)
	w.until("who goes quickly from one to the next sees the next", `document.querySelector('#drawer .facts') !== null`)
	w.do(chromedp.KeyEvent(kb.Escape))
	w.until("the drawer is closed", `!`+drawer+`.open`)
	beside := `((row) => { const name = row.querySelector('.project'); name.textContent = 'متجر'; row.querySelector('.who').textContent = '0198c1'; return row.querySelector('.who').getBoundingClientRect().left >= name.getBoundingClientRect().right })(document.querySelector('.session'))`
	require.Equal(t, "true", w.eval(beside), "a name from right to left leaves what follows it where it is")
	w.eval("scrollTo(0, document.body.scrollHeight)")
	w.until("the last one counts down where it is seen", of("s449", ".next")+`?.textContent.startsWith('in 8h ')`)
	require.Equal(t, "true", w.eval(rows))
	require.Equal(t, fmt.Sprint(many), w.eval(`document.querySelector('.session').getAttribute('aria-setsize')`))

	w.do(chromedp.SendKeys(chromedp.CSS("#search"), "s123"))
	w.until("what is looked for is found", `document.querySelectorAll('.session').length === 1 && `+of("s123", ".next")+` !== null`)
	w.do(chromedp.KeyEvent("x"))
	w.until("it says that there is none", `document.querySelector('#none').checkVisibility()`)
	w.do(chromedp.Click(chromedp.CSS("#clear")))
	w.until("all are back", innerText(".group .many")+` === '450 sessions'`)
}

// The page shows times and durations like status.
func TestBrowserHasTheClockOfStatus(t *testing.T) {
	b := newBox(t)
	w := newBrowser(t)
	b.write(configFile, bot+served)
	b.start()
	w.do(chromedp.Navigate(b.page()))
	words, err := os.ReadFile("../../internal/webui/files/words.js") // the page contains them
	require.NoError(t, err)
	w.eval(`(() => {` + strings.ReplaceAll(string(words), "\nexport ", "\n") + `
		window.words = {span, until, clock, said, sentence, since}
	})()`)
	const noon = `new Date(2026, 10, 15, 13, 13).getTime()`
	for expression, want := range map[string]string{
		`words.span(-1)`: "0s", `words.span(40e3)`: "40s", `words.span(59600)`: "1m 0s", `words.span(107*60e3)`: "1h 47m", `words.span(52*3600e3)`: "2d 4h",
		`words.until(` + noon + `-1000, ` + noon + `)`:                                                                             "due now",
		`words.until(` + noon + `+107*60e3, ` + noon + `)`:                                                                         "in 1h 47m, 15:00",
		`words.until(` + noon + `+12*3600e3, ` + noon + `)`:                                                                        "in 12h 0m, Mon 01:13",
		`words.until(` + noon + `+10*86400e3, ` + noon + `)`:                                                                       "in 10d 0h, 25 Nov 13:13",
		`words.until(` + noon + `+60*86400e3, ` + noon + `)`:                                                                       "in 60d 0h, 14 Jan 2027",
		`words.since(` + noon + `-12*60e3, ` + noon + `)`:                                                                          "12 min ago, 13:01",
		`words.since(` + noon + `-59e3, ` + noon + `)`:                                                                             "just now, 13:12",
		`words.since(` + noon + `-26*3600e3, ` + noon + `)`:                                                                        "1 d ago, 14 Nov 11:13",
		`words.clock(` + noon + `+7000, ` + noon + `)`:                                                                             "13:13:07",
		`words.clock(` + noon + `-86400e3, ` + noon + `)`:                                                                          "14 Nov 13:13",
		`words.said('until ' + new Date(` + noon + `).toISOString().replace('.000', '') + ', 2026-99-99T00:00:00Z', ` + noon + `)`: "until 13:13:00, 2026-99-99T00:00:00Z",
		`words.sentence([0,0,0,0,0], 0)`:                                                                                           "All is well: there is no session yet.",
		`words.sentence([0,0,0,0,2], 12)`:                                                                                          "All is well: of 12 sessions none is stopped.",
		`words.sentence([1,0,2,0,0], 12)`:                                                                                          "1 needs you, 2 wait; 9 others are not stopped.",
		`words.sentence([2,1,1,1,0], 6)`:                                                                                           "2 need you, 1 is being resumed, 1 waits, 1 is paused; 1 other is not stopped.",
		`words.sentence([0,0,1,0,0], 1)`:                                                                                           "1 waits.",
	} {
		require.Equal(t, want, w.eval(expression), expression)
	}
	require.NotContains(t, w.eval("document.body.innerText"), "undefined")
}
