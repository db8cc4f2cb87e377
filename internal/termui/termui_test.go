package termui

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/require"

	"resumed/internal/control"
	"resumed/internal/limit"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

var noon = time.Date(2026, 11, 15, 13, 13, 0, 0, time.UTC)

// utc sets the local zone of the tests.
func utc(t *testing.T) {
	local := time.Local
	time.Local = time.UTC
	t.Cleanup(func() { time.Local = local })
}

func session(id string, state resume.State, change ...func(*view.Session)) view.Session {
	v := view.Session{
		ID: id, Name: id[:min(4, len(id))], Agent: "claude-code", Account: "claude-code:default", Cwd: "/src/shop", State: state,
		Class: limit.UsageLimit, Reason: "usage limit: You've hit your 5-hour limit", MaxRetries: 5, Attempts: []view.Attempt{},
	}
	if state == resume.Waiting {
		v.NextAt = new(noon.Add(107 * time.Minute))
	}
	for _, f := range change {
		f(&v)
	}
	return v
}

func status(sessions ...view.Session) control.Status {
	return control.Status{
		Version: 1,
		Daemon: control.Daemon{
			PID: 4711, Version: "1.0", StartedAt: noon.Add(-3 * time.Hour),
			Config: control.Config{Path: "/etc/resumed/resumed.toml", LoadedAt: noon.Add(-time.Hour), OK: true},
		},
		Accounts: []control.Account{
			{Name: "mybot:default", State: "closed", Sessions: 1},
			{Name: "claude-code:default", State: "open", ResetAt: new(noon.Add(106 * time.Minute)), Sessions: 3},
		},
		Sessions: sessions,
	}
}

func TestStatusFitsEightyColumns(t *testing.T) {
	utc(t)
	page := Renderer{Width: 80, Now: noon}
	got := page.Status(status(
		session("0b7c0000", resume.Watching, func(v *view.Session) { v.Why, v.Reason = resume.WhyWorksAgain, "works again after 1 resume" }),
		session("4f2a9c1e", resume.Waiting, func(v *view.Session) { v.Attempt = 2 }),
		session("77aa0000", resume.GaveUp, func(v *view.Session) {
			v.Agent, v.Attempt, v.Cwd, v.Reason, v.Needs = "mybot", 5, "/src/api", "gave up after 5 resumes without progress", new("retry")
		}),
		session("d00d0000", resume.Waiting, func(v *view.Session) {
			v.NextAt, v.Owner = new(noon.Add(time.Minute)), &resume.Owner{PID: 1234, Kind: "interactive", Tmux: "%3"}
		}),
		session("feed0000", resume.Waiting, func(v *view.Session) {
			v.NextAt, v.Reason = new(noon.Add(-time.Minute)), "due, but limited until 2020-01-02T03:04:05Z, as another session of its account was told"
		}),
		session("beef0000", resume.Waiting, func(v *view.Session) {
			v.NextAt, v.Owner = new(noon.Add(time.Hour)), &resume.Owner{PID: 4242, Kind: "interactive"}
			v.Unreached = "open in its terminal: continue there, or quit it and resumed continues it; resumed cannot type there (process 4242): …"
			v.Reason = v.Unreached
		}),
	))
	require.Equal(t, strings.TrimPrefix(`
6 sessions: 2 need you, 3 waiting, 1 watching; next in 1m 0s, 13:14

  SESSION  PROJECT  AGENT     STATE     TRY  WHY
Gave up: usage limit (1)
  to do: resumed retry 77aa
  77aa     api      mybot     gave up   5/5  gave up after 5 resumes without pr…
Waiting: cannot be reached (1)
  beef     shop     claude    waiting   0/5  open in its terminal: continue the…
Waiting: usage limit (3)
  feed     shop     claude    waiting   0/5  due, but limited until 2 Jan 2020,…
  d00d     shop     claude    waiting   0/5  in 1m 0s, 13:14: held by pid 1234 …
  4f2a     shop     claude    waiting   2/5  in 1h 47m, 15:00: usage limit: You…
Works again (1)
  0b7c     shop     claude    watching  0/5  works again after 1 resume

ACCOUNT              LIMIT                            SESSIONS
claude-code:default  limited, lifts in 1h 46m, 14:59  3
mybot:default        free                             1

resumed 1.0, pid 4711, up 3h 0m
configuration: /etc/resumed/resumed.toml, read 12:13:00
`, "\n"), got)
}

func TestStatusUsesTheWidthThereIs(t *testing.T) {
	utc(t)
	sessions := status(
		session("4f2a9c1e", resume.Waiting, func(v *view.Session) {
			v.Owner = &resume.Owner{PID: 1234, Kind: "interactive"}
			v.Reason = "usage limit: 日本語の長い説明 " + strings.Repeat("long ", 40)
			v.Cwd = "/src/" + strings.Repeat("project", 9)
			v.Account = "claude-code:" + strings.Repeat("/deep", 30)
		}),
		session(strings.Repeat("id", 60), resume.Parked, func(v *view.Session) { v.Agent = strings.Repeat("agent", 9) }),
	)
	sessions.Accounts[0].Name = strings.Repeat("name", 40)
	sessions.Daemon.Config.Error = new("line 1: " + strings.Repeat("wrong ", 40))
	for _, paint := range []Paint{false, true} {
		for width := 20; width < 260; width += 3 {
			for line := range strings.Lines(Renderer{Width: width, Now: noon, Paint: paint}.Status(sessions)) {
				require.LessOrEqual(t, ansi.StringWidth(strings.TrimSuffix(line, "\n")), width, line)
			}
		}
	}
	wide := Renderer{Width: 160, Now: noon}.Status(sessions)
	require.Contains(t, wide, "NEXT")
	require.Contains(t, wide, "in 1h 47m, 15:00")
	require.Contains(t, wide, "pid 1234")
	require.Contains(t, Renderer{Now: noon}.Status(sessions), strings.Repeat("long ", 39)+"long", "nothing is cut where nobody bounds it")
}

func TestWhatNeedsAPersonComesFirst(t *testing.T) {
	soon := func(v *view.Session) { v.NextAt = new(noon.Add(time.Minute)) }
	var b board
	b.apply(control.Update{Whole: true, Status: status(
		session("watching", resume.Watching), session("later", resume.Waiting), session("soon", resume.Waiting, soon),
		session("settling", resume.Settling), session("resuming", resume.Resuming), session("parked", resume.Parked), session("gave-up", resume.GaveUp),
	)})
	var got []string
	for _, r := range b.order {
		got = append(got, r.view.ID)
	}
	require.Equal(t, []string{"gave-up", "parked", "resuming", "settling", "soon", "later", "watching"}, got)
}

func TestBoardFollowsUpdates(t *testing.T) {
	var b board
	b.apply(control.Update{Whole: true, Status: status(session("4f2a-1", resume.Waiting), session("9c1d", resume.Waiting))})
	first := resume.Key{Agent: "claude-code", ID: "4f2a-1"}
	require.Equal(t, "4f2a", b.rows[first].name, "as the daemon calls it")

	changed := b.apply(control.Update{Status: status(session("4f2a-2", resume.Parked))})
	require.Len(t, changed, 1)
	require.Len(t, b.rows, 3)
	require.Equal(t, "4f2a", b.rows[first].name)

	b.apply(control.Update{Status: status(), Gone: []resume.Key{{Agent: "claude-code", ID: "4f2a-2"}}})
	require.Len(t, b.rows, 2)
	require.Equal(t, "4f2a", b.rows[first].name)

	b.apply(control.Update{Whole: true, Status: status(session("new1", resume.Waiting))})
	require.Len(t, b.rows, 1, "a whole update is all there is")
	require.Len(t, b.order, 1)
}

// However sessions come, change and go, the order is the same as after sorting all of them.
func TestTheOrderIsKept(t *testing.T) {
	dice := rand.New(rand.NewPCG(3, 4))
	var b board
	for range 300 {
		u := control.Update{Whole: dice.IntN(50) == 0}
		seen := make(map[string]bool)
		for range dice.IntN(6) {
			id := fmt.Sprintf("%03d", dice.IntN(60))
			if !seen[id] {
				u.Sessions = append(u.Sessions, session(id, resume.States()[dice.IntN(6)]))
			}
			seen[id] = true
		}
		if id := fmt.Sprintf("%03d", dice.IntN(60)); !seen[id] {
			u.Gone = []resume.Key{{Agent: "claude-code", ID: id}}
		}
		b.apply(u)
		require.Len(t, b.order, len(b.rows))
		require.True(t, slices.IsSortedFunc(b.order, byUrgency))
		for _, r := range b.order {
			require.Same(t, b.rows[r.view.Key()], r)
		}
	}
}

func TestDetailsShowEvidenceAndResumes(t *testing.T) {
	utc(t)
	v := session("4f2a9c1e", resume.GaveUp, func(v *view.Session) {
		v.Text = "You've hit your limit\nresets 3pm"
		v.ResetAt, v.ResetFrom = new(noon.Add(time.Hour)), limit.Words
		v.Attempt = 1
		v.Attempts = []view.Attempt{{
			N: 1, StartedAt: new(noon.Add(-time.Minute)), EndedAt: new(noon), DelaySeconds: 30.4, Outcome: resume.NoProgress, Error: "exit status 7",
		}}
		v.Past = []view.Attempt{{N: 1, StartedAt: new(noon.Add(-time.Hour)), Outcome: resume.Recovered}}
	})
	got := Renderer{Width: 60, Now: noon}.Session(v)
	for _, want := range []string{
		"gave up", "1 of 5", "14:13:00, as the message says",
		"  You've hit your limit\n  resets 3pm\n",
		"1. 13:12:00, waited 30s; no progress after 1m 0s: exit", "1. 12:13:00, waited 0s; recovered",
	} {
		require.Contains(t, got, want)
	}
}

// Words of a transcript are shown on the screen: they must not contain control sequences.
func TestNothingRawIsShown(t *testing.T) {
	evil := "\x1b[31mred\x1b]0;title\x07\u202e\r\nforged\tline"
	v := session(evil, resume.GaveUp, func(v *view.Session) {
		v.Agent, v.Account, v.Cwd, v.Transcript, v.Reason, v.Text = evil, evil, "/"+evil, evil, evil, evil
		v.Owner = &resume.Owner{PID: 1, Kind: evil, Tmux: evil}
		v.Attempts = []view.Attempt{{N: 1, Error: evil, Outcome: resume.Failed}}
	})
	s := status(v)
	s.Accounts[0].Name, s.Daemon.Version, s.Daemon.Problems = evil, evil, []string{evil}
	s.Daemon.Config.Path, s.Daemon.Config.Error = evil, new(evil)
	page := Renderer{Width: 80, Now: noon}
	m := newModel(t.Context(), Following{})
	m.Update(control.Update{Status: s, Whole: true})
	var lines bytes.Buffer
	p := printer{f: Following{Out: &lines}, said: make(map[resume.Key]string)}
	require.NoError(t, p.update(control.Update{Status: s, Whole: true}))
	all := page.Status(s) + page.Session(v) + strings.Join(m.screen(), "\n") + lines.String()
	m.open = true
	all += strings.Join(m.screen(), "\n")
	for _, bad := range []string{"\x1b", "\u202e", "\r", "\a", "\t"} {
		require.NotContains(t, all, bad)
	}
	require.Equal(t, 2, strings.Count(lines.String(), "\n"), "one line for the daemon, one for the session")
}

// fake is a daemon that sends the updates of a test.
type fake struct {
	updates chan control.Update
	orders  chan string
}

func newFake() *fake {
	return &fake{updates: make(chan control.Update), orders: make(chan string, 100)}
}

func (f *fake) Watch(ctx context.Context, _ bool, see func(control.Update) error) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case u, ok := <-f.updates:
			if !ok {
				return control.ErrNoDaemon
			}
			if err := see(u); err != nil {
				return err
			}
		}
	}
}

func (f *fake) Do(_ context.Context, name string, order control.Action) (view.Session, error) {
	f.orders <- fmt.Sprint(order, " ", name)
	return session("x", resume.Waiting), nil
}

// Fleet has three pages; each contains the row at which it begins.
func (f *fake) Fleet(_ context.Context, after string, most int) (control.Fleet, error) {
	page := map[string]control.Fleet{"": {Next: "b"}, "b": {Next: "c"}, "c": {}}[after]
	page.Hosts = []control.FleetHost{{Name: "build", State: "gone", SeenAt: time.Now()}}
	page.Accounts = []control.FleetAccount{{Name: "claude-code:default", State: "half_open", Probe: &control.FleetProbe{Host: "laptop"}, Hosts: 2, Sessions: 3}}
	page.Sessions = []control.FleetSession{{Host: "laptop-" + after, Session: session("4f2a", resume.Waiting)}}
	f.orders <- fmt.Sprint("fleet ", after, " ", most)
	return page, nil
}

func (f *fake) SetPaused(_ context.Context, paused bool) error {
	f.orders <- fmt.Sprint("paused ", paused)
	return nil
}
