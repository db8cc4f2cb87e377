package main

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"net/http/httptest"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"resumed/internal/control"
	"resumed/internal/limit"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
	"resumed/internal/usage"
	"resumed/internal/webui"
)

// day is a daemon after a day of work: a limit that was over and came again, an outage, hours without a
// daemon, sessions that need a person.
type day struct {
	*crowd
	status control.Status
	steps  []control.Step
}

// The accounts of that day.
const ann, codexes = "claude-code:ann@example.com", "codex:default"

func newDay() *day {
	d := &day{crowd: newCrowd(0)}
	const said = "You've hit your 5-hour limit · resets 5pm"
	for i, project := range []string{"shop", "search-index", "mobile"} {
		id := fmt.Sprintf("4f2a%d", i)
		d.add(view.Session{
			ID: id, Cwd: "/home/ann/src/" + project, State: resume.Waiting, Class: limit.UsageLimit, Reason: "usage limit: " + said, Text: said,
			LimitedAt: d.at(-1.2), ResetAt: d.at(1.8), ResetFrom: limit.Words, NextAt: d.at(1.83 + float64(i)/50), MaxRetries: 5, Program: "/usr/local/bin/claude",
		}, "usage_limit", -9.5, -1.2)
		d.resumed(id, -5.8, "usage_limit", resume.Recovered, "watching")
	}
	d.add(view.Session{
		ID: "81c0", Cwd: "/home/ann/src/api", State: resume.Waiting, Class: limit.Overloaded, Reason: "provider overloaded: API Error: 529 Overloaded", Text: "API Error: 529 Overloaded",
		LimitedAt: d.at(-1), NextAt: d.at(.1), GivesUpAt: d.at(11), Attempt: 2, Attempts: []view.Attempt{
			{N: 1, StartedAt: d.at(-.8), EndedAt: d.at(-.79), DelaySeconds: 30, Outcome: resume.Failed, Error: "exit status 1: API Error: 529"},
			{N: 2, StartedAt: d.at(-.4), EndedAt: d.at(-.39), DelaySeconds: 60, Outcome: resume.Failed, Error: "exit status 1: API Error: 529"},
		},
	}, "overloaded", -1)
	d.resumed("81c0", -.8, "overloaded", resume.Failed, "waiting")
	d.resumed("81c0", -.4, "overloaded", resume.Failed, "waiting")
	d.add(view.Session{
		ID: "e7b3", Cwd: "/home/ann/src/web", State: resume.Parked, Class: limit.Auth, Reason: "sign-in needed: OAuth token has expired", Remedy: "run claude, then /login",
		LimitedAt: d.at(-8), MaxRetries: 5,
	}, "auth", -8)
	d.add(view.Session{ID: "0198", Account: codexes, Cwd: "/home/ann/src/billing", State: resume.Resuming, Class: limit.RateLimit, Reason: "the wait is over", Attempt: 1, MaxRetries: 5, LimitedAt: d.at(-.5)}, "rate_limit", -.5)
	d.status = control.Status{
		Accounts: []control.Account{
			{Name: ann, State: "open", ResetAt: d.at(1.8), Sessions: 9, Windows: []usage.Window{
				{Kind: usage.FiveHours, Used: 100, ResetsAt: *d.at(1.8), At: *d.at(-1.2)},
				{Kind: usage.SevenDays, Used: 84, ResetsAt: *d.at(60), At: *d.at(-1.2), FullAt: d.at(20), Earliest: d.at(15), Latest: d.at(26)},
			}},
			{Name: codexes, State: "half_open", Sessions: 2, Windows: []usage.Window{{Kind: usage.FiveHours, Used: 42.4, ResetsAt: *d.at(3), At: *d.at(-.2)}}},
		},
		Daemon: control.Daemon{
			PID: 4242, Version: "1.0.0", StartedAt: *d.at(-14), Config: control.Config{Path: "/home/ann/.config/resumed/resumed.toml", LoadedAt: *d.at(-14), OK: true},
			Agents: []control.Watched{{Name: "claude-code", Sessions: 9, MovedAt: d.at(-.01)}, {Name: "codex", Sessions: 2, MovedAt: d.at(-2)}},
		},
	}
	return d
}

// at returns a time, in hours from now.
func (d *day) at(hours float64) *time.Time {
	return new(d.started.Add(time.Duration(hours * float64(time.Hour))))
}

// add makes a session that was stopped at those hours.
func (d *day) add(v view.Session, class string, stopped ...float64) {
	v.Agent, v.Name, v.BornAt = "claude-code", v.ID, d.at(-30)
	if v.Account == "" {
		v.Account = ann
	} else {
		v.Agent = "codex"
	}
	d.sessions = append(d.sessions, v)
	for i, hour := range stopped {
		to := "waiting"
		if i == len(stopped)-1 && v.State == resume.Parked {
			to = "parked"
		}
		d.steps = append(d.steps, control.Step{At: *d.at(hour), Agent: v.Agent, Session: v.ID, Kind: to, From: "watching", To: to, Class: class, Reason: v.Reason})
	}
}

// resumed adds the steps of a resume at that hour: its outcome and the state after it.
func (d *day) resumed(id string, hour float64, class string, how resume.Outcome, to string) {
	d.steps = append(d.steps,
		control.Step{At: *d.at(hour), Agent: "claude-code", Session: id, Kind: "resuming", From: "waiting", To: "resuming", Class: class, Reason: "the wait is over"},
		control.Step{At: *d.at(hour + .02), Agent: "claude-code", Session: id, Kind: to, From: "resuming", To: to, Class: class, Outcome: how})
	slices.SortStableFunc(d.steps, func(a, b control.Step) int { return a.At.Compare(b.At) })
}

func (d *day) Status(ctx context.Context, all bool, only ...resume.Key) (control.Status, error) {
	status, err := d.crowd.Status(ctx, all, only...)
	status.Accounts, status.Daemon = d.status.Accounts, d.status.Daemon
	return status, err
}

func (d *day) Steps(_ context.Context, key resume.Key, _ time.Time, _ int) iter.Seq2[control.Step, error] {
	return func(yield func(control.Step, error) bool) {
		for _, step := range d.steps {
			if (key == resume.Key{} || key.ID == step.Session) && !yield(step, nil) {
				return
			}
		}
	}
}

func (d *day) OwnSteps(context.Context, time.Time) iter.Seq2[control.Step, error] {
	return func(yield func(control.Step, error) bool) {
		yield(control.Step{At: *d.at(-14), Kind: "started", AliveAt: *d.at(-17)}, nil)
	}
}

func (d *day) Detail(ctx context.Context, key resume.Key) (webui.Detail, error) {
	status, err := d.Status(ctx, true, key)
	seen := webui.Detail{Session: status.Sessions[0], GoOn: "claude --resume " + key.ID, Backoff: view.Backoff{Policy: "exponential 30s…15m ±20%, for 12h", Waits: []view.Wait{}}}
	seen.Backoff.Next, seen.Backoff.Stated = seen.Session.Attempt+1, seen.Session.ResetAt
	for n, wait := 1, 30.0; n <= 60; n, wait = n+1, min(2*wait, 900) {
		seen.Backoff.Waits = append(seen.Backoff.Waits, view.Wait{Attempt: n, BaseSeconds: wait, MinSeconds: .8 * wait, MaxSeconds: 1.2 * wait})
	}
	for _, try := range seen.Session.Attempts {
		seen.Runs = append(seen.Runs, webui.Run{N: try.N + 3, Began: *try.StartedAt, Ended: *try.EndedAt, How: "exit status 1", Text: fmt.Sprintf("try %d: API Error: 529 Overloaded", try.N)})
	}
	for step := range d.Steps(ctx, key, time.Time{}, 0) {
		seen.Steps = append(seen.Steps, step)
	}
	return seen, err
}

// openPage shows the page of a daemon, and returns what ends the daemon.
func openPage(w *browser, backend webui.Backend) (end func()) {
	page := webui.New(backend, webui.OpenGrants(w.t.TempDir()), slog.New(slog.DiscardHandler))
	server := httptest.NewServer(page)
	end = func() { server.CloseClientConnections(); server.Close() }
	w.t.Cleanup(end)
	query, err := page.Query(false)
	require.NoError(w.t, err)
	w.do(chromedp.Navigate(server.URL + "/?" + query))
	return end
}

// open shows the page of that day.
func (d *day) open(w *browser) {
	openPage(w, d)
	w.until("all of it is drawn", fmt.Sprintf(`document.querySelectorAll('.session .strip svg').length === %d`, len(d.sessions)))
}

// A person who comes back to the page sees the past day, and what is next.
func TestPageOfAnOrdinaryDay(t *testing.T) {
	t.Parallel()
	w := newLook(t)
	newDay().open(w)
	require.Equal(t, "1 needs you, 1 is being resumed, 4 wait; 5 others are not stopped.", w.eval(innerText("#sentence")))
	require.Equal(t, "Parked: sign-in needed|Being resumed|Waiting: provider overloaded|Waiting: usage limit", w.eval(`[...document.querySelectorAll('.group .cause')].map((each) => each.textContent).join('|')`))
	w.eval(`document.querySelectorAll('.account > button').forEach((each) => each.click())`)
	w.until("their time is drawn", `document.querySelectorAll('#accounts .strip svg').length === 2`)
	require.Equal(t, "100 % used|84 % used|42 % used", w.eval(`[...document.querySelectorAll('.gauge .percent')].map((each) => each.textContent).join('|')`))
	require.Regexp(t, `^full .+ to .+, resets in 2d 1[12]h, `, w.eval(`document.querySelectorAll('.gauge .resets')[1].textContent`))

	require.Equal(t, "true", w.eval(`[...document.querySelectorAll('[data-key$="/4f2a0"] .strip rect')].every((each) => parseFloat(each.getAttribute('x')) + parseFloat(each.getAttribute('width')) <= 100.5)`), "what is beyond six hours is cut")
	require.Empty(t, w.eval(`[...document.querySelectorAll('[data-key$="/4f2a0"] .strip .mark.resume[data-tone=bad]')].join()`))
	w.eval(`document.querySelector('#zoom button:last-child').click()`)

	// Each strip has its times at the right place: now in the middle, 24 hours on each side.
	hours := func(key, part string) string {
		return w.eval(fmt.Sprintf(`[...document.querySelectorAll('[data-key$="/%s"] .strip %s')].map((each) => (parseFloat(each.getAttribute('x') ?? each.getAttribute('x1')) - 50) / 50 * 24).map((hour) => hour.toFixed(1)).join(' ')`, key, part))
	}
	require.Equal(t, "-9.5 -1.2 0.0", hours("4f2a0", ".limited"), "limited, limited again, and until when")
	require.Equal(t, "-24.0 -5.8", hours("4f2a0", ".working"))
	require.Equal(t, "-17.0", hours("4f2a0", ".away:not(.hatched)"), "no daemon ran")
	require.Equal(t, "-5.8", hours("4f2a0", ".mark.resume[data-tone=good]"))
	require.Equal(t, "1.8", hours("4f2a0", ".mark.reset"))
	require.Equal(t, "-0.8 -0.4", hours("81c0", ".mark.resume[data-tone=bad]"))
	require.Equal(t, "11.0", hours("81c0", ".mark.end"))
	require.Equal(t, "-8.0", hours("e7b3", ".stopped"))
	require.Regexp(t, `^usage limit: .+ to .+$`, w.eval(`document.querySelector('[data-key$="/4f2a0"] .strip g:has(.limited:not(.expected)) title').textContent`), "what a colour means is said where the pointer rests")
	w.shots("day")

	w.do(chromedp.Click(chromedp.CSS(`[data-key$="/81c0"] .open`)))
	w.until("all of it is there", `document.querySelectorAll('[data-part=Resumes] .run').length === 2`)
	require.Equal(t, "try 2: API Error: 529 Overloaded|try 1: API Error: 529 Overloaded", w.eval(`[...document.querySelectorAll('[data-part=Resumes] .run pre')].map((each) => each.textContent).join('|')`), "each resume with its output")
	require.Contains(t, w.eval(`document.querySelector('[data-part=backoff] p').textContent`), "Wait 3: 1m 36s to 2m 24s, until ")
	require.Equal(t, "3", w.eval(`[...document.querySelectorAll('.curve .wait')].findIndex((each) => each.matches('.here')) + 1`), "where it stands")
	require.Equal(t, "6 to 60", w.eval(`document.querySelector('[data-part=backoff] tbody tr:last-child td').textContent`), "what is the same is said once")
	if os.Getenv("SCREENSHOTS") != "" {
		w.high = 2600 // everything on one picture
		w.shots("day-drawer")
	}
}
