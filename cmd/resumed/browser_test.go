package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

// browser is a headless browser that shows the page.
type browser struct {
	t   *testing.T
	ctx context.Context

	high int64 // height of the window in pixels; 0: that of most screens

	mu         sync.Mutex
	asked      []string // the addresses that were requested
	complaints []string
}

func newBrowser(t *testing.T) *browser {
	t.Helper()
	path, err := exec.LookPath("chromium-headless-shell") // shows the same at half the cost
	if err != nil {
		path, err = exec.LookPath("chromium")
	}
	if err != nil {
		require.Empty(t, os.Getenv("CI"), "CI has a browser")
		t.Skip("THE PAGE IS NOT TESTED IN A BROWSER HERE: there is no chromium")
	}
	// It would check for updates and the like; nothing may leave this machine.
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
		chromedp.WindowSize(1280, 900), chromedp.WSURLReadTimeout(patience))
	ctx, endProcess := chromedp.NewExecAllocator(t.Context(), options...)
	ctx, endTab := chromedp.NewContext(ctx)
	b := &browser{t: t, ctx: ctx}
	var noting sync.WaitGroup
	t.Cleanup(func() { endTab(); endProcess(); noting.Wait() })
	complaints, requests := chromedp.Console(ctx), chromedp.Events(ctx, network.RequestWillBeSent)
	noting.Go(func() {
		for message := range complaints {
			b.note(&b.complaints, message.Text)
		}
	})
	noting.Go(func() {
		for request := range requests {
			if request.Request != nil {
				b.note(&b.asked, request.Request.URL)
			}
		}
	})
	_, err = chromedp.Call(ctx, network.Enable, network.EnableParams{})
	require.NoError(t, err)
	return b
}

func (b *browser) note(list *[]string, text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if text != "" {
		*list = append(*list, text)
	}
}

func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	for _, step := range steps {
		err := chromedp.Do(ctx, step)
		for err != nil && ctx.Err() == nil && strings.Contains(err.Error(), "Could not find node") {
			err = chromedp.Do(ctx, step) // the page drew it again after it was found
		}
		require.NoError(b.t, err)
	}
}

// eval returns the value of an expression as text.
func (b *browser) eval(expression string) string {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string]("String("+expression+")"))
	require.NoError(b.t, err)
	return text
}

func (b *browser) until(what, expression string) {
	b.t.Helper()
	deadline := time.Now().Add(patience)
	for b.eval(expression) != "true" {
		if time.Now().After(deadline) {
			b.t.Fatalf("waited %s in vain: %s; the page says:\n%s", patience, what, b.eval("document.body.innerText"))
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// drawer is the expression for the element with all details of one session.
const drawer = `document.querySelector('#drawer')`

// of returns the expression for an element in a session's row.
func of(id, selector string) string {
	return fmt.Sprintf(`document.querySelector('[data-key="mybot/%s"] %s')`, id, selector)
}

func TestPersonSteersFromTheBrowser(t *testing.T) {
	b := newBox(t)
	w := newBrowser(t)
	const markup = `<img src=x onerror=document.title='owned'>`
	b.write(configFile, bot+served+"[resume]\nstagger = \"0s\"\n[backoff]\nbase_delay = \"100ms\"\nmax_retries = 1\n")
	b.write("bot/resume.sh", recordCall+"exit 3")
	b.write("bot/logs/hopeless.log", "rate limited\n")
	b.start()
	b.untilState("hopeless", resume.GaveUp) // before the account is known to be limited for an hour
	b.write("bot/logs/patient.log", "rate limited, retry in 1h "+markup+"\n")
	b.untilState("patient", resume.Waiting)
	link := b.page()

	w.do(chromedp.Navigate(link), chromedp.WaitVisible(chromedp.CSS("#sessions li")))
	w.until("it is live", `document.querySelector('#link').textContent === 'live'`)
	require.NotContains(t, w.eval("location.href"), "token", "the address may be seen")
	require.Equal(t, "(1) resumed", w.eval("document.title"), "one needs a person, and no markup ran")
	require.Equal(t, "gave up", w.eval("document.querySelector('#sessions li .state').textContent"), "it comes first")
	require.Contains(t, w.eval(of("patient", ".why")+".textContent"), markup, "what an agent wrote is text")
	require.Equal(t, "0", w.eval("document.querySelectorAll('img').length"))
	require.Contains(t, w.eval("document.querySelector('#accounts').innerText"), "mybot:default")

	before := w.eval(of("patient", ".next") + ".textContent")
	require.Regexp(t, `^in (1h 0m|59m \d+s), `, before)
	b.write("bot/logs/soon.log", "rate limited, retry in 50m\n")
	w.until("a new session shows by itself", of("soon", ".next")+` !== null`)
	first := w.eval(of("soon", ".next") + ".textContent")
	w.until("its countdown ticks", of("soon", ".next")+`.textContent !== '`+first+`'`)

	// The keyboard alone pauses it, and the focus stays.
	w.do(chromedp.Focus(chromedp.CSS(`[data-key="mybot/soon"] [data-order=pause]`)), chromedp.KeyEvent(kb.Enter))
	w.until("it shows as paused", of("soon", ".state")+`.textContent === 'paused'`)
	require.Equal(t, "Unpause", w.eval("document.activeElement.textContent"))
	require.True(t, b.session("soon").Paused)
	w.shots("page")

	calls := len(b.calls())
	w.do(chromedp.Click(chromedp.CSS(`[data-key="mybot/patient"] [data-order=retry]`)))
	w.until("it asks, because the provider named a time", `document.querySelector('#ask').checkVisibility() && document.querySelector('#ask').innerText.includes('The provider asked to wait until ')`)
	w.do(chromedp.KeyEvent(kb.Escape))
	w.until("no is no", `!document.querySelector('#ask').checkVisibility() && document.querySelector('#said').textContent.includes('nothing was done')`)
	require.Len(t, b.calls(), calls)
	w.do(chromedp.Click(chromedp.CSS(`[data-key="mybot/patient"] [data-order=retry]`)), chromedp.WaitVisible(chromedp.CSS("#ask")), chromedp.Click(chromedp.CSS("#ask-yes")))
	b.until("it is resumed at once", func() bool { return len(b.calls()) > calls })
	w.do(chromedp.Click(chromedp.CSS(`[data-key="mybot/patient"] .open`)))
	w.until("what became of it shows", drawer+`.innerText.includes('waited')`)
	require.Contains(t, w.eval(drawer+".innerText"), markup, "evidence and reasons are text too")
	require.Equal(t, "0", w.eval("document.querySelectorAll('img').length"))
	w.do(chromedp.KeyEvent(kb.Escape))
	w.until("the drawer is closed", `!`+drawer+`.open`)

	w.do(chromedp.Click(chromedp.CSS("#pause")))
	w.until("all is paused", `document.querySelector('#notes').innerText.includes('Paused')`)
	require.True(t, b.status().Daemon.Paused)

	b.write(configFile, bot+served+"nonsense = 1\n")
	w.until("a bad configuration shows", `document.querySelector('#notes').innerText.includes('nonsense')`)
	w.shots("trouble")

	w.mu.Lock()
	defer w.mu.Unlock()
	require.NotEmpty(t, w.asked)
	require.Empty(t, w.complaints, "nothing was refused and nothing broke")
	origin := link[:strings.Index(link, "?")]
	for _, address := range w.asked {
		require.True(t, strings.HasPrefix(address, origin) || strings.HasPrefix(address, "data:"), address)
	}
}

// neighbour is another program on another port of this machine, and everything that a browser has sent
// to it.
func neighbour(t *testing.T) (address string, told func() string) {
	var mu sync.Mutex
	var all strings.Builder
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintln(&all, r.Method, r.URL, r.Header, string(body))
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<title>neighbour</title>")
	}))
	t.Cleanup(server.Close)
	return server.URL, func() string {
		mu.Lock()
		defer mu.Unlock()
		return all.String()
	}
}

// The word that a person gives by the button is remembered for that session, also by the next daemon.
func TestAButtonOfThePageIsAPersonsWord(t *testing.T) {
	b, w := newBox(t), newBrowser(t)
	b.vars = []string{"RESUMED_HTTP_LISTEN=127.0.0.1:0"}
	b.stoppedUnseen(map[string]string{claudeTranscript: promptLine(claudeSession, b.path("bot"), "work") + refusalLine(claudeSession, b.path("bot"))})
	b.untilState(claudeSession, resume.Parked)
	w.do(chromedp.Navigate(b.page()), chromedp.WaitVisible(chromedp.CSS("#sessions li")))
	const button = `[data-key="claude-code/` + claudeSession + `"] [data-order=retry]`
	require.Equal(t, "Continue", w.eval("document.querySelector('"+button+"').textContent"))
	w.shots("unseen")
	w.do(chromedp.Click(chromedp.CSS(button)), chromedp.WaitVisible(chromedp.CSS("#ask")))
	require.Equal(t, "Continue with your settings as they are now", w.eval("document.querySelector('#ask-yes').textContent"))
	require.Empty(t, b.calls())
	w.do(chromedp.Click(chromedp.CSS("#ask-yes")))
	b.until("it is continued", func() bool { return strings.Contains(b.read("calls"), "--resume "+claudeSession) })
	w.until("it is a try like others", `document.querySelector('`+button+`').textContent === 'Retry'`)

	b.appendTo(claudeTranscript, answerLine(claudeSession, b.path("bot"), "done"))
	b.untilState(claudeSession, resume.Watching)
	b.restart()
	before := strings.Count(b.read("calls"), "\n")
	b.appendTo(claudeTranscript, refusalLine(claudeSession, b.path("bot")))
	b.until("it is continued again", func() bool { return strings.Count(b.read("calls"), "\n") > before })
}

// A browser sends its cookies to every port of a host, so to programs of all users. The secret of the
// page must stay with the page.
func TestOtherPortsAreToldNoSecret(t *testing.T) {
	b := newBox(t)
	w := newBrowser(t)
	b.write(configFile, bot+served)
	b.write("bot/logs/s1.log", "rate limited, retry in 1h\n")
	b.start()
	b.untilState("s1", resume.Waiting)
	link := b.page()
	origin, token, _ := strings.Cut(link, "?token=")
	const live = `document.querySelector('#link') !== null && document.querySelector('#link').textContent === 'live'`
	w.do(chromedp.Navigate(link))
	w.until("it is live", live)

	visit := "at/" + w.eval("localStorage.getItem('visit')")
	require.Empty(t, w.eval("document.cookie"), "no script reads the cookie")

	// The same tab shows what another program serves. It does not even know the path of the visit; what
	// it could do if it did, is tried too.
	elsewhere, told := neighbour(t)
	w.do(chromedp.Navigate(elsewhere + "/here"))
	require.Contains(t, told(), "GET /here")
	require.NotContains(t, told(), "Cookie")
	require.NotContains(t, told(), token)
	require.Equal(t, "0", w.eval("document.cookie.length + sessionStorage.length + localStorage.length"))
	for what, options := range map[string]string{
		visit + "/events":        `{credentials: 'include'}`,
		visit + "/pause":         `{method: 'POST', credentials: 'include', mode: 'no-cors'}`,
		visit + "/session/retry": `{method: 'POST', credentials: 'include', body: 'agent=mybot&id=s1'}`,
	} {
		w.eval(fmt.Sprintf(`(window.got = '', fetch('%s%s', %s).then((a) => { window.got = a.type }, () => { window.got = 'refused' }), 0)`, origin, what, options))
		w.until("the browser has its answer", `window.got !== ''`)
		require.Contains(t, []string{"refused", "opaque"}, w.eval("window.got"), what)
	}
	require.False(t, b.status().Daemon.Paused)

	// Back without the token, as a bookmark is, and after a reload, the page is still let in.
	w.do(chromedp.Navigate(origin))
	w.until("it is live again", live)
	require.Contains(t, visit, w.eval("localStorage.getItem('visit')"))
	w.do(chromedp.Reload())
	w.until("it is live after a reload", live)
	w.do(chromedp.Click(chromedp.CSS(`[data-key="mybot/s1"] [data-order=pause]`)))
	w.until("it takes orders", of("s1", ".state")+`.textContent === 'paused'`)
	require.NotContains(t, told(), visit)
	require.NotContains(t, b.logged(), visit)

	// A second tab is let in too. Under another name, the page is another one, and explains how to sign in.
	another := w.tab()
	another.do(chromedp.Navigate(origin))
	another.until("a second tab is live", live)
	origin = strings.Replace(origin, "127.0.0.1", "localhost", 1)
	another.do(chromedp.Navigate(origin))
	another.until("it says how", `document.querySelector('#locked').checkVisibility() && document.body.innerText.includes('resumed open')`)
	require.Equal(t, "false", another.eval(`document.querySelector('section').checkVisibility()`))
	another.shots("locked")
	another.do(chromedp.Navigate(origin + "?token=" + strings.Repeat("x", 40)))
	another.until("it says what is wrong with the link", `document.querySelector('#locked').innerText.includes('too old')`)
	require.Equal(t, origin, another.eval("location.href"))

	fresh, stderr, code := b.run("open", "--print", "--new-key")
	require.Zero(t, code, stderr)
	w.until("who is in is put out", `document.querySelector('#locked').checkVisibility()`)
	require.Equal(t, "false", w.eval(`document.querySelector('section').checkVisibility()`))
	w.do(chromedp.Navigate(strings.TrimSpace(fresh)))
	w.until("a new link lets in again", live)
}

// tab returns a new tab of the same browser.
func (b *browser) tab() *browser {
	ctx, end := chromedp.NewContext(b.ctx)
	b.t.Cleanup(end)
	_, err := chromedp.Call(ctx, network.Enable, network.EnableParams{}) // a tab exists as long as the context of its first call
	require.NoError(b.t, err)
	return &browser{t: b.t, ctx: ctx}
}
