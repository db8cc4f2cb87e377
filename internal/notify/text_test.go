package notify

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"resumed/internal/agents"
	"resumed/internal/humanize"
	"resumed/internal/limit"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
	"resumed/internal/usage"
)

var updateTexts = flag.Bool("update-texts", false, "write the golden texts anew")

// storied is a session with a long history.
func storied(state resume.State) view.Session {
	at := time.Date(2026, 3, 1, 2, 9, 30, 0, time.UTC)
	s := resume.Session{
		Key:     resume.Key{Agent: "claude-code", ID: "4f2a9c1e-77aa-4b0e-9d52-0a3b6f1c2d3e"},
		Account: "claude-code:default",
		Cwd:     "/home/ann/src/payments-api",
		State:   state,
		Reason:  "gave up after 5 resumes without progress",
		Interruption: resume.Interruption{
			Limit:     limit.Verdict{Class: limit.Overloaded, WaitHelps: true, Reset: limit.Reset{At: at.Add(21 * time.Hour)}},
			LimitText: "API Error: 529 Overloaded",
			NextAt:    at.Add(21*time.Hour + time.Minute),

			InterruptedAt: at,
		},
	}
	for i, delay := range []time.Duration{30, 60, 120, 240, 300} {
		at = at.Add(delay*time.Second + 15*time.Second)
		a := resume.Attempt{N: i + 1, StartedAt: at, EndedAt: at.Add(15 * time.Second), Delay: delay * time.Second, Outcome: resume.LimitedOut}
		if i == 4 {
			a.Outcome, a.Err = resume.NoProgress, "its transcript showed no new work within 2m"
		}
		s.Attempts = append(s.Attempts, a)
	}
	s.LimitedAt = at
	return view.Of(s, 5)
}

func TestWordsAPersonUnderstandsAtThreeInTheMorning(t *testing.T) {
	at := time.Date(2026, 3, 1, 2, 27, 0, 0, time.UTC)
	one := func(e Event, change func(*view.Session)) *group {
		v := storied(resume.GaveUp)
		if change != nil {
			change(&v)
		}
		v.Remedy, v.Name = agents.Remedy(v), "4f2a"
		return &group{Notice: Notice{ID: "ntc_1", Event: e, At: at, Account: v.Account, Sessions: []view.Session{trimView(v)}}}
	}
	many := func(e Event, n int) *group {
		g := &group{Notice: Notice{ID: "ntc_1", Event: e, At: at, Account: "claude-code:default"}}
		for i := range n {
			v := storied(resume.GaveUp)
			v.ID, v.Name, v.Cwd = fmt.Sprintf("%04x", i), fmt.Sprintf("%04x", i), fmt.Sprintf("/home/ann/src/service-%d", i)
			if e == Parked {
				v.State, v.Reason = resume.Parked, fmt.Sprintf("directory %s is gone", v.Cwd)
			}
			v.Remedy = agents.Remedy(v)
			g.append(trimView(v))
		}
		return g
	}
	cases := []struct {
		name  string
		group *group
	}{
		{"gave up", one(GaveUp, nil)},
		{"gave up without a directory, of an agent of one's own", one(GaveUp, func(v *view.Session) { v.Cwd, v.Agent, v.Class = "", "mybot", limit.None })},
		{"gave up after resumes that failed by themselves", one(GaveUp, func(v *view.Session) {
			v.Attempts = v.Attempts[:1]
			v.Attempt, v.Attempts[0].Outcome, v.Attempts[0].Error = 1, resume.Failed, "exit status 3: boom: cannot connect"
		})},
		{"parked, left to its person", one(Parked, func(v *view.Session) {
			v.State, v.Class, v.Attempts, v.Attempt = resume.Parked, limit.UsageLimit, nil, 0
			v.Reason = "you closed it after it was stopped, so it is left to you (resume.closed): `resumed retry 4f2a9c1e-77aa-4b0e-9d52-0a3b6f1c2d3e` continues it"
		})},
		{"parked, asks for a permission", one(Parked, func(v *view.Session) {
			v.State, v.Class, v.Text, v.Attempts, v.Attempt = resume.Parked, limit.None, "", nil, 0
			v.Reason = resume.AsksFor + "permission: Bash (npm install)"
		})},
		{"cut off", one(CutOff, func(v *view.Session) {
			v.State, v.Class, v.Text, v.Attempts, v.Attempt = resume.Parked, limit.CutOff, "was cut off by a restart of the machine", nil, 0
			v.Reason = v.Text + "; `resumed retry 4f2a9c1e-77aa-4b0e-9d52-0a3b6f1c2d3e` continues it"
		})},
		{"cut off, and resumed", one(CutOff, func(v *view.Session) {
			v.State, v.Class, v.Text, v.Attempts, v.Attempt = resume.Waiting, limit.CutOff, "was cut off by a restart of the machine", nil, 0
			v.Reason = v.Text
		})},
		{"two cut off", func() *group {
			g := many(CutOff, 2)
			for i := range g.Sessions {
				g.Sessions[i].State, g.Sessions[i].Class = resume.Parked, limit.CutOff
				g.Sessions[i].Remedy = ""
				g.Sessions[i].Reason, g.Sessions[i].Attempts, g.Sessions[i].Attempt = "was cut off by a restart of the machine", nil, 0
			}
			return g
		}()},
		{"silent", one(Silent, func(v *view.Session) {
			v.State, v.Class, v.Text, v.Attempts, v.Attempt, v.LimitedAt, v.StoppedAt = resume.Parked, limit.None, "", nil, 0, nil, nil
			v.Reason = resume.IsSilent + "20m in the middle of a turn: no record, no CPU, no tool that works or waits for the network or a time; look at it in tmux %3 (process 17)"
		})},
		{"limited", one(Limited, func(v *view.Session) { v.State, v.Reason, v.Attempts, v.Attempt = resume.Waiting, "overloaded", nil, 0 })},
		{"limited, out of reach", one(Limited, func(v *view.Session) { outOfReach(v); v.State = resume.Waiting })},
		{"out of reach", one(Parked, func(v *view.Session) { outOfReach(v); v.State = resume.Waiting })},
		{"three limited, one out of reach", func() *group {
			g := many(Limited, 3)
			outOfReach(&g.Sessions[1])
			g.Sessions[1].State = resume.Waiting
			g.Sessions[1].Remedy = agents.Remedy(g.Sessions[1])
			return g
		}()},
		{"retrying", one(Retrying, func(v *view.Session) {
			v.Reason, v.Attempts, v.Attempt = "provider overloaded: API Error: 529 Overloaded", v.Attempts[:2], 2
		})},
		{"recovered", one(Recovered, nil)},
		{"still being tried", one(Parked, func(v *view.Session) {
			v.State, v.Reason, v.GivesUpAt = resume.Waiting, "overloaded", new(at.Add(6*time.Hour))
		})},
		{"still being tried, and out of reach", one(Parked, func(v *view.Session) { outOfReach(v); v.State, v.GivesUpAt = resume.Waiting, new(at.Add(6*time.Hour)) })},
		{"limited, with a context that is read again", one(Limited, func(v *view.Session) {
			v.State, v.Reason, v.Attempts, v.Attempt, v.Context, v.Cold = resume.Waiting, "overloaded", nil, 0, new(int64(150_000)), new(true)
		})},
		{"limited, with a context of which nobody knows", one(Limited, func(v *view.Session) {
			v.State, v.Reason, v.Attempts, v.Attempt, v.Context = resume.Waiting, "overloaded", nil, 0, new(int64(150_000))
		})},
		{"retrying, with another model if need be", one(Retrying, func(v *view.Session) {
			v.Attempts, v.Attempt = v.Attempts[:1], 1
			v.Attempts[0].Fallback, v.Attempts[0].Outcome = "claude-haiku", ""
		})},
		{"recovered, with the model that it asked for", one(Recovered, func(v *view.Session) { v.Attempts[4].Fallback = "claude-haiku" })},
		{"recovered by itself", one(Recovered, func(v *view.Session) { v.Attempts, v.Attempt = nil, 0 })},
		{"two are resumed, without all of their start", func() *group {
			g := many(Retrying, 2)
			for i := range g.Sessions {
				g.Sessions[i].Attempt, g.Sessions[i].Carried.LeftOut = 1, []string{"--ide"}
			}
			return g
		}()},
		{"six gave up", many(GaveUp, 6)},
		{"six parked", many(Parked, 6)},
		{"ten thousand gave up", many(GaveUp, 10_000)},
		{"config error", &group{Notice: Notice{Event: ConfigError, At: at}, detail: "resumed.toml:3: backoff.base_delay: must be a duration such as \"30s\", got 30"}},
		{"digest", &group{Notice: Notice{Event: Digest, At: at}, detail: digestText([]Digested{
			{View: named(storied(resume.Watching), "4f2a"), GoOn: "cd /home/ann/src/payments-api && claude --resume 4f2a9c1e-77aa-4b0e-9d52-0a3b6f1c2d3e"},
			{View: named(storied(resume.GaveUp), "77aa"), GoOn: "codex resume 77aa", Needed: true},
			{View: named(storied(resume.Watching), "b0e9")},
		})}},
		{"usage", &group{Notice: Notice{Event: Usage, At: at}, detail: usageText(resume.AccountKey{Name: "codex:default"}, usage.Window{
			Kind: usage.FiveHours, Used: 82.4, ResetsAt: at.Add(2 * time.Hour), FullAt: new(at.Add(40 * time.Minute)), Earliest: new(at.Add(30 * time.Minute)), Latest: new(at.Add(time.Hour)),
		}, at)}},
		{"digest of a good night", &group{Notice: Notice{Event: Digest, At: at}, detail: digestText([]Digested{{View: named(storied(resume.Watching), "4f2a")}})}},
		{"digest of a bad night", &group{Notice: Notice{Event: Digest, At: at}, detail: digestText(slices.Repeat([]Digested{{View: named(storied(resume.GaveUp), "4f2a"), Needed: true}}, 12))}},
		{"test", &group{Notice: Notice{Event: Test, At: at}}},
	}
	for _, class := range limit.Classes() {
		for _, agent := range []string{"claude-code", "codex", "opencode", "gemini", "qwen-code", "mybot"} {
			if class.Transient() && agent != "mybot" || class == limit.None || class == limit.Cancelled {
				continue // what to do about them is the same for all
			}
			event, state, said := Parked, resume.Parked, class.Title()+", waiting does not help: the agent's own words"
			if class.Transient() {
				event, state = GaveUp, resume.GaveUp
			}
			cases = append(cases, struct {
				name  string
				group *group
			}{class.String() + " of " + agent, one(event, func(v *view.Session) {
				v.State, v.Class, v.Agent, v.Reason, v.Text, v.Attempts = state, class, agent, said, "the agent's own words", v.Attempts[:4:4]
			})})
		}
	}
	desk, err := NewChannel(Common{Name: "desktop", Lines: 3}, nil)
	require.NoError(t, err)
	var got strings.Builder
	for _, c := range cases {
		n := compose(c.group, "box", known)
		require.LessOrEqual(t, utf8.RuneCountInString(n.Text), maxText+1, c.name)
		require.LessOrEqual(t, strings.Count(n.Text, "\n"), 13, "one screen of a phone: %s", c.name)
		shown := desk.word(n)
		require.LessOrEqual(t, strings.Count(shown.Title+"\n"+shown.Text, "\n"), 3, "four lines of a desktop: %s", c.name)
		if n.RetryCommand != "" {
			require.Contains(t, shown.Text, strings.Split(n.RetryCommand, "; ")[0], "what to do is shown: %s", c.name)
		}
		fmt.Fprintf(&got, "=== %s\n%s\n---\n%s\n---\n%s\n\n", c.name, n.Title, n.Text, n.RetryCommand)
	}
	golden := filepath.Join("testdata", "texts.golden")
	if *updateTexts {
		require.NoError(t, os.WriteFile(golden, []byte(got.String()), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), got.String())
}

func named(v view.Session, name string) view.Session {
	v.Name = name
	return v
}

// outOfReach makes a session be open where nothing can be typed.
func outOfReach(v *view.Session) {
	v.Class, v.Attempts, v.Attempt = limit.UsageLimit, nil, 0
	v.Owner = &resume.Owner{PID: 4242, Kind: "interactive"}
	v.Unreached = "open in its terminal: continue there, or quit it and resumed continues it; " +
		"resumed cannot type there (process 4242): it is not in tmux; next time start it with `resumed shell claude`"
	v.Reason = v.Unreached + "; usage limit: You've hit your 5-hour limit · resets 11pm (UTC)"
}

// known are the full names of the agents in these tests.
var known = Titles{"claude-code": "Claude Code"}

func TestSessionTextIsMadeHarmless(t *testing.T) {
	v := storied(resume.GaveUp)
	v.Reason, v.Cwd, v.Attempts[0].Error = "\x1b[2Jboo\u202e", "/src/\x1b[31mapi\n\u202eevil", "a\x07b"
	n := compose(&group{Notice: Notice{Event: GaveUp, Sessions: []view.Session{trimView(v)}}}, "h\x1bost", known)
	harmless(t, n.Title+n.Text+n.RetryCommand+n.Sessions[0].Reason+n.Sessions[0].Attempts[0].Error)
	require.Contains(t, n.Title, "api evil")
}

func harmless(t *testing.T, s string) {
	t.Helper()
	for _, r := range s {
		require.False(t, r != '\n' && unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r), "%q in %q", r, s)
	}
}

func TestRetryCommandIsSafeToPaste(t *testing.T) {
	for short, want := range map[string]string{
		"4f2a":       "4f2a",
		"ses_1-a.b":  "ses_1-a.b",
		"$(reboot)":  "'$(reboot)'",
		"it's":       `'it'\''s'`,
		"-x":         "-- -x",
		"":           "''",
		"a\nb":       "'a b'",
		"a;rm -rf /": "'a;rm -rf /'",
	} {
		require.Equal(t, want, shellWord(short))
	}
}

func TestTemplateIsCheckedBeforeItIsNeeded(t *testing.T) {
	for name, c := range map[string]struct{ text, problem string }{
		"good":                       {`{{.Event}} {{range .Sessions}}{{project .}} {{agent .Agent}} {{local .LimitedAt}} {{end}}{{local .At}}{{.RetryCommand}}`, ""},
		"empty":                      {"", ""},
		"syntax":                     {"{{.Event", "unclosed action"},
		"unknown field":              {"{{.Evnt}}", "a notice has no .Evnt: it has .Event .Host "},
		"unknown function":           {"{{shout .Event}}", "there is no function shout: there are project, agent and local"},
		"unknown field of a session": {"{{range .Sessions}}{{.Status}}{{end}}", "a session has no .Status: it has .ID "},
		"breaks only where there are no sessions": {"{{(index .Sessions 0).ID}}", "on a config_error notice"},
		"not a time": {"{{local .Event}}", "wants a time"},
	} {
		_, err := parseWording(c.text, known)
		if c.problem == "" {
			require.NoError(t, err, name)
		} else {
			require.ErrorContains(t, err, c.problem, name)
		}
	}
}

func TestOwnWordsAreBoundedAndHarmless(t *testing.T) {
	b, err := NewChannel(Common{Name: "x", Title: "a\x1b[31m\nb", Text: `{{range .Sessions}}{{printf "%20000s" .ID}}{{end}}`}, nil)
	require.NoError(t, err)
	n := b.word(sample(GaveUp, 3))
	require.Equal(t, "a b", n.Title)
	require.Equal(t, sample(GaveUp, 3).Text, n.Text, "what a template cannot say is said in the built-in words")
}

func TestTheFirstResumeSaysWhatItDoesNotRepeat(t *testing.T) {
	said := func(event Event, attempt int) Notice {
		v := trimView(view.Session{
			ID: "abcd1234", Agent: "claude-code", Cwd: "/src/shop", MaxRetries: 5, Attempt: attempt,
			Started: view.Start{Argv: []string{"claude", "--append-system-prompt", "my plans"}, Seen: true, Env: []string{"HOME"}},
			Carried: view.NotRepeated{LeftOut: []string{"--ide: it needs a terminal", "--sdk-url=ws://me: likewise", "--watch a b: likewise", "its mode, which is not known: continued in default"}},
			Plan:    &view.Plan{Command: []string{"claude", "my plans"}},
		})
		return compose(&group{Notice: Notice{ID: "1", Event: event, Sessions: []view.Session{v}}}, "box", nil)
	}
	const line = "\nNot repeated from its start: --ide, --sdk-url, --watch, its mode, which is not known"
	first := said(Retrying, 1)
	require.Contains(t, first.Text, line)
	require.NotContains(t, said(Retrying, 2).Text, "Not repeated", "once for an interruption")
	require.NotContains(t, said(GaveUp, 1).Text, "Not repeated")
	body, err := json.Marshal(first)
	require.NoError(t, err)
	require.NotContains(t, string(body), "my plans", "what people told their agents stays on their machine")
	require.NotContains(t, string(body), "ws://me")
	require.Contains(t, string(body), `"started_with":{"argv":[],"seen":true,"env":["HOME"],"sandbox":null}`)
}

func TestATextIsCutToItsLines(t *testing.T) {
	require.Equal(t, "a\nb\nc", brief("a\nb\nc", 3))
	require.Equal(t, "a\nTo see all: resumed status", brief("a\nb\nc", 2))
	require.Equal(t, "a\nTo try again: resumed retry c", brief("a\nb\nTo try again: resumed retry c", 2))
	require.Equal(t, "{\"a", withoutJSON("{\"a"))
	require.Equal(t, "slow down", withoutJSON(`{"message":"slow down"}`))
}

func TestTheButtonOfASessionWhoseStartWasNotSeen(t *testing.T) {
	seen, unseen := session("x", 1), session("x", 2)
	unseen.Needs = new(string(resume.StartUnseen))
	require.Equal(t, "Retry now", Notice{Sessions: []view.Session{seen}}.RetryLabel())
	require.Equal(t, humanize.ContinueUnseen, Notice{Sessions: []view.Session{seen, unseen}}.RetryLabel())
	require.Equal(t, "down", (&SendError{Err: errDown}).Error())
	require.Equal(t, "down (asked to wait 2s)", (&SendError{Err: errDown, After: 2 * time.Second}).Error())
}

// A notice that is sent when the wait is over names no time that has passed.
func TestAWaitThatIsOverWhenItIsToldIsSaidToBeOver(t *testing.T) {
	at := time.Date(2026, 3, 1, 2, 9, 30, 0, time.UTC)
	said := func(next, due time.Time) string {
		v := trimView(view.Session{ID: "abcd1234", Agent: "claude-code", Cwd: "/src/shop", State: resume.Waiting, NextAt: &next})
		return compose(&group{Notice: Notice{Event: Limited, At: at, Sessions: []view.Session{v}}, due: due}, "box", nil).Text
	}
	require.Contains(t, said(at.Add(time.Second), at.Add(lookTime)), "It is being resumed now; you do not need to do anything")
	require.Contains(t, said(at.Add(time.Minute), at.Add(lookTime)), "It is resumed at ")
}
