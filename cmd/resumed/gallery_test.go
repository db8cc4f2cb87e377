package main

import (
	"context"
	"fmt"
	"testing"
	"time"

	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"resumed/internal/control"
	"resumed/internal/limit"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

// gallery is a day with a session in every state, tasks, and a fleet.
type gallery struct {
	*day
	given chan string // orders for tasks and other hosts
}

func newGallery() gallery {
	g := gallery{newDay(), make(chan string, 10)}
	needs := func(id, project, need, reason, remedy string, state resume.State) {
		g.add(view.Session{
			ID: id, Cwd: "/home/ann/src/" + project, State: state, Class: limit.Network, Needs: &need, Reason: reason, Remedy: remedy, LimitedAt: g.at(-.2), MaxRetries: 5,
		}, "network", -.2)
	}
	needs("a1f0", "docs", "permission", "asks for permission: Bash(npm publish)", "", resume.Parked)
	needs("b2e1", "infra", "start_unseen", "its start was not seen: `resumed retry b2e1` continues it with your settings as they are now", "", resume.Parked)
	needs("b2e2", "infra-modules", "start_unseen", "its start was not seen: `resumed retry b2e2` continues it with your settings as they are now", "", resume.Parked)
	needs("c3d2", "billing-service-with-a-long-name", "retry", "no network: getaddrinfo ENOTFOUND api.anthropic.com", "look at what it said (resumed logs c3d2)", resume.GaveUp)
	needs("d4c3", "labs", "new_thing", "something that this page does not know", "", resume.Parked)
	g.add(view.Session{ID: "e5b4", Cwd: "/home/ann/src/blog", State: resume.Waiting, Paused: true, Class: limit.UsageLimit, Reason: "usage limit", LimitedAt: g.at(-3), NextAt: g.at(2), MaxRetries: 5}, "usage_limit", -3)
	g.add(view.Session{ID: "f6a5", Cwd: "/home/ann/src/cli", State: resume.Watching, Why: resume.WhyWorksAgain, Reason: "works again after 1 resume", LimitedAt: g.at(-6)}, "usage_limit", -6)
	g.add(view.Session{ID: "f6a6", Cwd: "/home/ann/src/old", State: resume.Watching, Why: resume.WhyCancelled, Reason: "cancelled by you", LimitedAt: g.at(-6)}, "usage_limit", -6)
	g.add(view.Session{ID: "f6a7", Cwd: "/home/ann/src/left", State: resume.Watching, Why: resume.WhyCleared, Reason: "left by you with /clear", LimitedAt: g.at(-6)}, "usage_limit", -6)
	g.status.Daemon.Queue = control.Queue{Queued: 2, Failed: 1}
	g.status.Daemon.Fleet = &control.DaemonFleet{State: "connected", Name: "laptop", Hosts: 3}
	return g
}

func (g gallery) Queue() control.Tasks { return tasks(g) }

// tasks is a queue that does not change.
type tasks gallery

func (q tasks) Tasks(context.Context) ([]view.Task, error) {
	return []view.Task{
		{N: 1, ID: "q1", Agent: "claude-code", Dir: "/home/ann/src/shop", Prompt: "Write the missing tests of the cart\nand run them", State: resume.TaskQueued, After: "reset", Reason: "waits until the account has room", AddedAt: q.at(-2), NextAt: q.at(1.8)},
		{N: 2, ID: "q2", Agent: "codex", Dir: "/home/ann/src/api", Prompt: "Update the dependencies", State: resume.TaskFailed, Reason: "exit status 1: no such model", AddedAt: q.at(-5)},
		{N: 3, ID: "q3", Agent: "claude-code", Dir: "/home/ann/src/web", Prompt: "Fix the login page", State: resume.TaskStarted, Reason: "started", AddedAt: q.at(-9), Session: new("e7b3")},
	}, nil
}

func (tasks) Enqueue(context.Context, view.TaskOrder) (view.Task, error) { return view.Task{}, nil }

func (tasks) Edit(context.Context, string, view.TaskOrder) (view.Task, error) {
	return view.Task{}, nil
}

func (q tasks) Drop(_ context.Context, task string) (view.Task, error) {
	q.given <- "drop " + task
	return view.Task{}, nil
}
func (tasks) Move(context.Context, string, string) ([]view.Task, error) { return nil, nil }

// away is how many sessions are on two other hosts.
const away = 1250

// Fleet returns pages of them.
func (g gallery) Fleet(_ context.Context, after string, most int) (control.Fleet, error) {
	from := 0
	_, _ = fmt.Sscan(after, &from)
	f := control.Fleet{
		Hosts:    []control.FleetHost{{Name: "laptop", State: "alive", SeenAt: time.Now()}, {Name: "build", State: "alive", SeenAt: time.Now()}, {Name: "desk", State: "gone", SeenAt: *g.at(-4), SkewSeconds: 40}},
		Accounts: []control.FleetAccount{{Name: ann, State: "open", ResetAt: g.at(1.8), By: "build", Hosts: 2, Sessions: away}},
	}
	for i := from; i < min(from+most, away); i++ {
		host := []string{"build", "desk"}[i/(away/2)]
		f.Sessions = append(f.Sessions, control.FleetSession{Host: host, Session: view.Session{
			ID: fmt.Sprintf("%04d", i), Name: fmt.Sprintf("%04d", i), Agent: "claude-code", Cwd: fmt.Sprintf("/src/project-%d", i%5), State: resume.Waiting, Class: limit.UsageLimit,
			Reason: "usage limit: resets 5pm", LimitedAt: g.at(-1), NextAt: g.at(1.8),
		}})
	}
	if from == 0 {
		unseen := &f.Sessions[1]
		unseen.State, unseen.Needs, unseen.NextAt = resume.Parked, new("start_unseen"), nil
		f.Sessions[2].State, f.Sessions[2].NextAt = resume.GaveUp, nil
	}
	if from+most < away {
		f.Next = fmt.Sprint(from + most)
	}
	return f, nil
}

func (g gallery) ForgetAccount(context.Context, string) error { return nil }

func (g gallery) DoAway(_ context.Context, host, session string, order control.Action) (view.Session, error) {
	g.given <- fmt.Sprint(order, " ", host, " ", session)
	return view.Session{State: resume.Waiting, Reason: "asked for by laptop"}, nil
}

// Do refuses to resume a session before its provider's time.
func (g gallery) Do(ctx context.Context, key resume.Key, order control.Action) (view.Session, error) {
	if key.ID == "q2" && order == control.Due {
		return view.Session{}, control.ErrEarly
	}
	if key.ID[0] == 'q' {
		g.given <- fmt.Sprint(order, " ", key)
		return view.Session{State: resume.Waiting, Reason: "due now"}, nil
	}
	status, err := g.Status(ctx, true, key)
	if err == nil && order == control.Due && status.Sessions[0].ResetAt != nil {
		return view.Session{}, fmt.Errorf("%w until %s", control.ErrEarly, status.Sessions[0].ResetAt.UTC().Format(time.RFC3339))
	}
	return g.crowd.Do(ctx, key, order)
}

// show opens a view.
func (b *browser) show(view string) {
	b.t.Helper()
	b.eval(`document.querySelector('nav [data-view=` + view + `]').click()`)
	b.until("the view is shown", fmt.Sprintf(`document.body.dataset.view === '%[1]s' && document.querySelectorAll('#%[1]s-section li').length > 0`, view))
}

// wideAndSmall are two looks that have all colours and all layouts.
var wideAndSmall = []look{{"light", 1440}, {"dark", 390}}

const asked = `document.querySelector('#ask').checkVisibility()`

// Every state of a session, and every view, can be read by everybody and fits every screen.
func TestPageOfEveryState(t *testing.T) {
	t.Parallel()
	w := newLook(t)
	openPage(w, newGallery())
	w.until("it is drawn", `document.querySelectorAll('.session .strip svg').length > 5`)
	require.Equal(t, "Asks for a permission|Gave up: no network|Needs new thing|Needs your word: its start was not seen|Parked: sign-in needed|Being resumed|Waiting: provider overloaded|Waiting: usage limit|Paused|Back at work|Cancelled|Not stopped",
		w.eval(`[...document.querySelectorAll('.group .cause')].map((each) => each.textContent).join('|')`), "what needs a person first, also what the page does not know")
	require.Equal(t, "look at what it said (resumed logs c3d2)|resumed logs c3d2",
		w.eval(`[document.querySelector('[data-key$="/c3d2"] .why').textContent, document.querySelector('[data-key$="/c3d2"] .copy').title].join('|')`), "what helps is on the row, and its command can be copied")
	require.Regexp(t, `^stopped \d+ min ago, `, w.eval(`document.querySelector('[data-key$="/c3d2"] .stopped').textContent`))
	require.Equal(t, "40", w.eval(`document.querySelector('.session').getBoundingClientRect().height`))
	w.shots("gallery")
	w.accessible("every state", wideAndSmall...)
	for _, view := range []string{"queue", "history", "fleet"} {
		w.show(view)
		w.shots("gallery-" + view)
		w.accessible(view, look{"dark", 1440})
	}
	require.Equal(t, "build · project-1: 100 sessions, 1 needs you|build · project-2: 100 sessions, 1 needs you|build · project-0: 100 sessions",
		w.eval(`[...document.querySelectorAll('#fleet-sessions .group')].slice(0, 3).map((each) => each.querySelector('.cause').textContent + ': ' + each.querySelector('.many').textContent).join('|')`), "what needs a person comes first")
	require.Contains(t, w.eval(innerText("#fleet-line")), "; 500 of its sessions are on this page")
	require.Equal(t, "false", w.eval(`document.querySelector('#sentence').checkVisibility()`), "it is about this machine")
	w.do(chromedp.KeyEvent("/"))
	require.Equal(t, "fleet-search", w.eval("document.activeElement.id"), "each view has its search")
	w.eval(`document.activeElement.value = ''`) // the driver sends the letter of a key also if the key was taken
	w.do(chromedp.KeyEvent("desk project-4"))
	w.until("what is looked for on all hosts is found", `document.querySelectorAll('#fleet-sessions li').length === 125 && document.querySelectorAll('#fleet-sessions .group').length === 1`)

	// The list beside the details has the columns that fit there.
	w.as(look{"light", 1024})
	w.show("history")
	w.eval(`document.querySelector('#history .open').click()`)
	w.until("it is open", drawer+`.open`)
	require.Equal(t, "true", w.eval(`[...document.querySelectorAll('#history .line > *')].every((each) => each.getBoundingClientRect().right <= document.querySelector('#history').getBoundingClientRect().right)`))
	w.eval(`document.querySelector('#close').click()`)
	require.Equal(t, "#/history", w.eval("location.hash"), "a reload shows what is shown")
	w.do(chromedp.SendKeys(chromedp.CSS("#history-search"), "nosuch"))
	w.until("it does not say that nothing has happened", innerText("#history-none")+` === 'No step matches.'`)
	w.show("sessions")
	require.Equal(t, "true", w.eval(`((why) => why.scrollWidth <= why.clientWidth)(document.querySelector('[data-key$="/c3d2"] .why'))`), "what helps can be read")

	w.as(look{"light", 1440})
	w.eval(`[...document.querySelectorAll('.pick')].slice(0, 3).forEach((each) => each.click())`)
	w.eval(`document.querySelector('#picked [data-order=pause]').click()`)
	w.until("it asks before it does something to several", asked)
	w.shots("gallery-ask")
	w.do(chromedp.KeyEvent("?"))
	w.until("it helps", `document.querySelector('#help').checkVisibility()`)
	w.shots("gallery-help")
	w.accessible("with a question and help", look{"light", 390})
	w.mu.Lock()
	defer w.mu.Unlock()
	require.Empty(t, w.complaints, "nothing was refused and nothing broke")
}

// The keyboard does everything, from the load on.
func TestPageByKeyboard(t *testing.T) {
	t.Parallel()
	w := newLook(t)
	openPage(w, newGallery())
	w.as(look{"light", 1440})
	at := func(what, id string) {
		t.Helper()
		w.until(what, `document.activeElement.closest('.session')?.dataset.key.endsWith('/`+id+`')`)
	}
	w.until("it is drawn", `document.querySelectorAll('.session').length > 5`)
	w.do(chromedp.KeyEvent("j"))
	at("the first key goes to the first session", "a1f0")
	w.do(chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent("j"))
	at("over the head of the next group", "c3d2")
	w.do(chromedp.KeyEvent(kb.ArrowUp), chromedp.KeyEvent("k"))
	at("and back", "a1f0")
	w.do(chromedp.KeyEvent("x"))
	w.until("it is selected", `document.querySelector('#picked b').textContent === '1 session selected'`)

	w.do(chromedp.KeyEvent(kb.Enter))
	w.until("it is open", drawer+`.open && document.querySelector('#drawer-title').textContent.startsWith('docs')`)
	require.Equal(t, "true", w.eval(`document.querySelector('#drawer').contains(document.activeElement) && !document.querySelector('#drawer').matches(':modal')`))
	w.do(chromedp.KeyEvent("j"))
	w.until("the next one is shown beside the list", `document.querySelector('#drawer-title').textContent.startsWith('billing-service') && document.querySelector('[aria-current=true]').dataset.key.endsWith('/c3d2')`)
	w.do(chromedp.Click(chromedp.CSS("#before")))
	w.until("and the one before", `document.querySelector('#drawer-title').textContent.startsWith('docs')`)
	w.shots("gallery-drawer")
	w.do(chromedp.KeyEvent(kb.Escape))
	w.until("it is closed", `!`+drawer+`.open`)
	at("the focus is back", "a1f0")
	w.do(chromedp.KeyEvent(kb.Escape))
	w.until("nothing is selected", `document.querySelector('#picked').hidden`)

	w.do(chromedp.KeyEvent("/"))
	w.eval(`document.activeElement.value = ''`) // as above
	w.do(chromedp.KeyEvent("shop"))
	w.until("it is found", `document.querySelectorAll('.session').length === 1`)
	w.do(chromedp.KeyEvent(kb.ArrowDown))
	at("an arrow leaves the search", "4f2a0")
	w.eval(`document.activeElement.closest('.session').querySelector('[data-order=cancel]').focus()`)
	w.do(chromedp.KeyEvent(kb.Enter))
	w.until("it asks before a cancel", asked)
	require.Equal(t, "Stop waiting for it", w.eval(`document.querySelector('#ask-yes').textContent`))
	w.do(chromedp.KeyEvent(kb.Enter))
	w.until("nothing is done", `!`+asked)
	w.eval(`document.querySelector('.session [data-order=retry]').focus()`)
	w.do(chromedp.KeyEvent(kb.Enter))
	w.until("it asks before the provider's time", asked+` && document.querySelector('#ask').innerText.includes('asked to wait until')`)
	require.Equal(t, "Keep waiting", w.eval("document.activeElement.textContent"), "the answer that changes nothing has the focus")
	w.do(chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Enter))
	w.until("it is resumed", innerText("#said")+`.includes('asked for by you')`)
	w.until("and nothing is asked", `!`+asked)
}

// A page whose daemon is gone does not say that all is well.
func TestPageOfADeadDaemon(t *testing.T) {
	t.Parallel()
	w := newBrowser(t)
	end := openPage(w, newGallery())
	w.until("it is live", `document.querySelector('#link').textContent === 'live' && document.title === '(6) resumed'`)
	icon := w.eval(`document.querySelector('#icon').href`)
	w.show("queue")
	w.show("history")
	steps := w.eval(`document.querySelectorAll('#history .step').length`)
	require.NotEqual(t, "0", steps)
	const asks = `performance.getEntriesByType('resource').filter((r) => r.name.includes('history?')).length`
	asked := w.eval(asks)
	w.show("sessions")
	end()
	w.until("it says so", `document.querySelector('#lost').checkVisibility() && document.querySelector('#sentence').textContent === 'The daemon does not answer.'`)
	require.Equal(t, "not connected · resumed", w.eval("document.title"))
	require.NotEqual(t, icon, w.eval(`document.querySelector('#icon').href`))
	require.Contains(t, w.eval(`getComputedStyle(document.querySelector('#sessions-section')).filter`), "grayscale")
	w.accessible("without a daemon", look{"dark", 1440})
	w.show("queue")
	w.show("history")
	w.until("it was asked for in vain", asks+" > "+asked)
	require.Equal(t, steps, w.eval(`document.querySelectorAll('#history .step').length`), "what was read stays")
	require.Equal(t, "3", w.eval(`document.querySelectorAll('#queue .task').length`), "what was read stays")
	w.show("sessions")
	w.shots("gallery-lost")
}

// recorder keeps the notices that a page sends, in a browser that allows them.
const recorder = `window.sent = []; window.Notification = class { static permission = 'default'; static async requestPermission() { return Notification.permission = 'granted'; } constructor(title, options) { sent.push(title + ': ' + options.body); } }`

// Notices are sent after the person has asked for them, for what needs them from then on. A theme that
// was chosen stays.
func TestPageNotifiesAndKeepsItsTheme(t *testing.T) {
	t.Parallel()
	w := newLook(t)
	_, err := chromedp.Call(w.ctx, cdppage.AddScriptToEvaluateOnNewDocument, cdppage.AddScriptToEvaluateOnNewDocumentParams{Source: recorder})
	require.NoError(t, err)
	g := newGallery()
	end := openPage(w, g)
	w.as(look{"light", 1440})
	needs := func(id string) {
		g.mu.Lock()
		g.sessions = append(g.sessions, view.Session{Agent: "claude-code", ID: id, Name: id, Cwd: "/src/" + id, State: resume.GaveUp, Remedy: "do this", Account: ann})
		g.mu.Unlock()
		g.changes.Note(resume.Key{Agent: "claude-code", ID: id})
		w.until("it is shown", `document.querySelector('[data-key="claude-code/`+id+`"]') !== null`)
	}
	w.until("it is drawn", `document.querySelectorAll('.session').length > 5`)
	needs("early")
	require.Empty(t, w.eval("sent.join()"), "nobody asked for notices")
	w.do(chromedp.Click(chromedp.CSS("#notify")))
	w.until("it is on", `document.querySelector('#notify').getAttribute('aria-pressed') === 'true'`)
	needs("late")
	w.until("it is sent", `sent.join() === 'late needs you: do this'`)

	ground := func() string { return w.eval("getComputedStyle(document.body).backgroundColor") }
	light := ground()
	w.do(chromedp.Click(chromedp.CSS("#theme")))
	require.Equal(t, light, ground(), "light, as the system")
	w.do(chromedp.Click(chromedp.CSS("#theme")))
	dark := ground()
	require.NotEqual(t, light, dark)
	w.do(chromedp.Reload())
	w.until("it is drawn again", `document.querySelectorAll('.session').length > 5`)
	require.Equal(t, dark, ground())
	require.Equal(t, "Theme: dark", w.eval(innerText("#theme")))

	end()
	w.show("history")
	w.until("what was never read is missing", innerText("#history")+` === 'The history could not be read: the daemon does not answer'`)
}

// Tasks of the queue and sessions of other hosts get orders where they are shown.
func TestPageOrdersTasksAndOtherHosts(t *testing.T) {
	t.Parallel()
	w := newLook(t)
	g := newGallery()
	openPage(w, g)
	w.as(look{"light", 1440})
	w.until("it is drawn", `document.querySelectorAll('.session').length > 5`)
	click := func(label string) {
		t.Helper()
		w.until("there is a button", fmt.Sprintf(`document.querySelector('[aria-label="%s"]') !== null`, label))
		w.eval(fmt.Sprintf(`document.querySelector('[aria-label="%s"]').click()`, label))
	}
	given := func() string {
		select {
		case order := <-g.given:
			return order
		case <-time.After(patience):
			return "no order"
		}
	}
	agree := func(text string) {
		t.Helper()
		w.until("it asks", asked+` && document.querySelector('#ask-text').textContent.includes('`+text+`')`)
		require.Empty(t, g.given, "nothing is done before the answer")
		w.eval(`document.querySelector('#ask-yes').click()`)
	}

	w.show("queue")
	require.Equal(t, "Start now Pause Remove|Retry Remove|", w.eval(`[...document.querySelectorAll('.task .orders')].map((each) => [...each.children].map((button) => button.textContent).join(' ')).join('|')`))
	click("Start now task 1")
	agree("task 1 waits until")
	require.Equal(t, "retry claude-code/q1", given())
	w.until("it says what came of it", innerText("#queue-said")+` === 'Start now task 1: waiting: due now'`)
	click("Retry task 2")
	agree("The provider asked to wait")
	require.Equal(t, "retry codex/q2", given(), "its account is limited")
	click("Remove task 2")
	agree("Remove task 2 from the queue?")
	require.Equal(t, "drop q2", given())
	w.until("it says so", innerText("#queue-said")+`.endsWith('removed from the queue')`)
	w.eval("document.activeElement.blur()")
	w.do(chromedp.KeyEvent("j"), chromedp.KeyEvent("j"))
	w.until("keys go from task to task", `document.activeElement.getAttribute('aria-label') === 'Retry task 2'`)
	first := `document.querySelector('.task')`
	w.eval(`(window.before = ` + first + `, 0)`)
	w.until("it is drawn anew", first+` !== window.before`)
	require.Equal(t, "Retry task 2", w.eval(`document.activeElement.getAttribute('aria-label')`), "and the focus stays")

	w.show("fleet")
	w.do(chromedp.KeyEvent("j"), chromedp.KeyEvent(kb.Enter))
	w.until("keys open a group", `document.querySelectorAll('#fleet-sessions .line').length === 100 && document.activeElement.closest('.group').querySelector('.line').dataset.tone === 'bad'`)
	w.eval(`document.querySelectorAll('#fleet-sessions [aria-expanded=false]').forEach((each) => each.click())`)
	click("Retry build/0000")
	agree("build/0000 waits until")
	require.Equal(t, "retry build claude-code/0000", given())
	w.until("it says what came of it", innerText("#fleet-said")+` === 'Retry build/0000: waiting: asked for by laptop'`)
	click("Retry build/0002")
	require.Equal(t, "due build claude-code/0002", given(), "the other host says if the provider asked to wait")
	require.Equal(t, "Pause Cancel|run resumed retry 0001 on build: its start was not seen", w.eval(`((line) => [...line.querySelectorAll('button')].map((each) => each.textContent).join(' ') + '|' + line.querySelector('.why').textContent)(document.querySelector('[aria-label="Pause build/0001"]').closest('.line'))`), "only a person there can give their word")
	click("Pause build/0005")
	require.Equal(t, "pause build claude-code/0005", given())
}
