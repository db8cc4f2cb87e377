package main

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"net/http/httptest"
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

// hostile is a daemon with texts of a hostile agent only.
type hostile struct{ *crowd }

// markup is the text of such an agent, with its place.
func markup(where string) string {
	return where + `<img src=x onerror=document.title='owned'>"'><script>document.title='owned'`
}

func newHostile() hostile {
	h := hostile{newCrowd(0)}
	ago := new(time.Now().Add(-time.Hour))
	h.sessions = []view.Session{{
		ID: markup("id "), Name: markup("name "), Agent: markup("agent "), Account: markup("account "), Provider: markup("provider "), Cwd: "/src/" + markup("project "),
		Transcript: markup("transcript "), State: resume.Waiting, Class: limit.UsageLimit, Reason: markup("reason "), Text: markup("evidence "), NextAt: new(time.Now().Add(time.Hour)),
		LimitedAt: ago, MaxRetries: 5, Owner: &resume.Owner{PID: 1, Kind: markup("kind "), Tmux: markup("pane ")}, Program: markup("program "), Remedy: markup("remedy "), Needs: new(markup("needs ")),
		Started:  view.Start{Argv: []string{markup("argv ")}, Seen: true, Env: []string{markup("env ")}, Sandbox: new(markup("sandbox "))},
		Plan:     &view.Plan{Command: []string{markup("command ")}, Dir: markup("dir "), LeftOut: []string{markup("left ")}, Instead: markup("instead ")},
		Attempts: []view.Attempt{{N: 1, StartedAt: ago, Outcome: resume.Failed, Error: markup("error ")}},
	}}
	return h
}

func (h hostile) Status(ctx context.Context, all bool, only ...resume.Key) (control.Status, error) {
	status, err := h.crowd.Status(ctx, all, only...)
	status.Accounts = []control.Account{{
		Name: markup("account "), Provider: markup("provider "), State: "open", ResetAt: new(time.Now().Add(time.Hour)), Sessions: 1,
		Windows: []usage.Window{{Kind: markup("window "), Used: 50, ResetsAt: time.Now().Add(time.Hour), At: time.Now()}},
	}}
	status.Daemon.Version, status.Daemon.Config = markup("version "), control.Config{Path: markup("path "), Error: new(markup("config "))}
	status.Daemon.Problems = []string{markup("problem ")}
	status.Daemon.Agents = []control.Watched{{Name: markup("agent "), Sessions: 1}}
	status.Daemon.Notices = control.Notices{Channels: []control.Channel{{Name: markup("channel "), Pending: 1, LastError: markup("refusal ")}}}
	status.Daemon.Fleet = &control.DaemonFleet{State: "alone", Why: markup("why "), Name: markup("here "), Hosts: 2}
	return status, err
}

func (h hostile) Fleet(context.Context, string, int) (control.Fleet, error) {
	return control.Fleet{
		Hosts:    []control.FleetHost{{Name: markup("host "), State: "alive", SeenAt: time.Now()}},
		Accounts: []control.FleetAccount{{Name: markup("shared "), State: "open", By: markup("told "), Probe: &control.FleetProbe{Host: markup("prober ")}}},
		Sessions: []control.FleetSession{{Host: markup("away "), Session: h.sessions[0]}},
	}, nil
}

func (h hostile) ForgetAccount(context.Context, string) error { return nil }

func (h hostile) DoAway(context.Context, string, string, control.Action) (view.Session, error) {
	return view.Session{}, nil
}

func (h hostile) Detail(ctx context.Context, key resume.Key) (webui.Detail, error) {
	seen, err := h.crowd.Detail(ctx, key)
	for step := range h.Steps(ctx, key, time.Time{}, 0) {
		seen.Steps = append(seen.Steps, step)
	}
	seen.GoOn = markup("by hand ")
	seen.Backoff = view.Backoff{Policy: markup("policy "), Waits: []view.Wait{{Attempt: 1, BaseSeconds: 1, MinSeconds: 1, MaxSeconds: 2}}, Next: 1}
	seen.Runs = []webui.Run{{N: 1, How: markup("ended "), Text: markup("output ")}, {N: 2, Began: time.Now(), How: markup("stopped "), Text: markup("printed ")}}
	return seen, err
}

func (h hostile) Steps(context.Context, resume.Key, time.Time, int) iter.Seq2[control.Step, error] {
	return func(yield func(control.Step, error) bool) {
		yield(control.Step{
			At: time.Now().Add(-time.Hour), Agent: h.sessions[0].Agent, Session: h.sessions[0].ID, Kind: markup("step "), From: "watching", To: "waiting", Class: markup("class "),
			Reason: markup("decision "), Outcome: resume.Outcome(markup("outcome ")), Error: markup("failure "),
		}, nil)
	}
}

func (h hostile) Do(context.Context, resume.Key, control.Action) (view.Session, error) {
	return h.sessions[0], nil
}

// The text of an agent stays text in every part of the page.
func TestNoWordOfAnAgentIsMarkup(t *testing.T) {
	t.Parallel()
	w := newBrowser(t)
	page := webui.New(newHostile(), webui.OpenGrants(t.TempDir()), slog.New(slog.DiscardHandler))
	server := httptest.NewServer(page)
	t.Cleanup(server.Close)
	query, err := page.Query(false)
	require.NoError(t, err)

	w.do(chromedp.Navigate(server.URL + "/?" + query))
	w.do(chromedp.WaitVisible(chromedp.CSS(".account > button")), chromedp.Click(chromedp.CSS(".account > button")))
	w.until("the session is shown, and its time", `document.querySelector('.session .strip svg') !== null && document.querySelector('#accounts .strip svg') !== null`)
	w.eval(`document.querySelector('.session [data-order=retry]').click()`)
	w.until("an order is answered", `document.querySelector('#said').textContent.includes('reason ')`)
	w.eval(`document.querySelector('.session .open').click()`)
	w.until("all of it is there", `document.querySelector('#parts .run pre') !== null`)
	w.eval(`document.querySelectorAll('details').forEach((each) => { each.open = true })`)
	half := `(({width, height}, used) => used.height === height && Math.abs(used.width / width - .5) < .01)(...['all', 'used'].map((part) => document.querySelector('.gauge .' + part).getBoundingClientRect()))`
	require.Equal(t, "true", w.eval(half), "half of an allowance is half of its gauge, whatever its name is")
	for view, drawn := range map[string]string{"fleet": "#fleet-sessions li", "history": "#history li", "queue": "#queue-none"} {
		w.eval(`document.querySelector('nav [data-view=` + view + `]').click()`)
		w.until("the "+view+" is shown", `document.querySelector('`+drawn+`')?.checkVisibility()`)
	}
	for part, words := range map[string][]string{
		"#accounts":                {"account ", "provider ", "window "},
		"#sessions .group h3":      {"account ", "needs "},
		"#sessions .session":       {"project ", "name ", "agent ", "remedy "},
		"#history":                 {"project ", "step ", "decision ", "failure "},
		"#fleet-line":              {"here ", "why "},
		"#fleet-hosts":             {"host "},
		"#fleet-accounts":          {"shared ", "told ", "prober "},
		"#fleet-sessions":          {"away ", "name ", "agent "},
		"#notes":                   {"problem ", "channel ", "refusal ", "config "},
		"#said":                    {"project ", "reason "},
		"footer":                   {"version ", "path "},
		"#drawer-title":            {"project ", "name ", "agent "},
		"[data-part=facts]":        {"id ", "kind ", "program ", "remedy ", "transcript ", "reason "},
		"[data-part=time] table":   {"outcome "},
		"[data-part=time] title":   {"outcome "},
		"[data-part=evidence] pre": {"evidence "},
		"[data-part=hand] pre":     {"by hand "},
		"[data-part=backoff]":      {"policy "},
		"[data-part=Resumes]":      {"error ", "printed "},
		"[data-part=steps]":        {"step ", "decision ", "outcome ", "failure "},
		"[data-part=runs] summary": {"ended "},
		"[data-part=runs] pre":     {"output "},
		"[data-part=leash]":        {"argv ", "env ", "sandbox ", "command ", "dir ", "left ", "instead "},
		"[data-part=commands] pre": {"name "},
	} {
		for _, word := range words {
			require.Contains(t, w.eval(fmt.Sprintf(`[...document.querySelectorAll('%s')].map((each) => each.textContent).join(' ')`, part)), word+"<img src=x", "%s shows it as text", part)
		}
	}
	require.Equal(t, "0", w.eval(`document.querySelectorAll('img, body script').length`))
	require.NotContains(t, w.eval("document.title"), "owned")
	w.mu.Lock()
	defer w.mu.Unlock()
	require.Empty(t, w.complaints, "nothing was refused: nothing tried")
}
