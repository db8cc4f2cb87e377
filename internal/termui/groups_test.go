package termui

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/control"
	"resumed/internal/limit"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

func needs(word string) func(*view.Session) {
	return func(v *view.Session) { v.Needs = new(word) }
}

// A list says first how things are, and then what a person can do for each cause.
func TestGroupsSayWhatToDo(t *testing.T) {
	utc(t)
	signIn := func(v *view.Session) {
		v.Class, v.Remedy, v.Needs = limit.Auth, "sign in with claude /login", new("sign_in")
	}
	otherModel := func(v *view.Session) { v.Remedy = "type /model sonnet" }
	for name, c := range map[string]struct {
		sessions []view.Session
		want     []string
	}{
		"the same remedy for all": {
			[]view.Session{session("aaaa", resume.Parked, signIn), session("bbbb", resume.Parked, signIn)},
			[]string{"2 sessions: 2 need you\n", "Parked: " + limit.Auth.Title() + " (2)\n  to do: sign in with claude /login; then resumed retry aaaa bbbb\n"},
		},
		"a start that was not seen": {
			[]view.Session{session("aaaa", resume.Parked, needs("start_unseen"))},
			[]string{"1 session: 1 needs you\n", "Parked: start not seen (1)\n  to do: resumed retry --unseen "},
		},
		"a permission, while it works": {
			[]view.Session{session("aaaa", resume.Watching, needs("permission"))},
			[]string{"1 needs you", "Watching: asks for a permission"},
		},
		"a need that this program does not know": {
			[]view.Session{session("aaaa", resume.Parked, needs("new_moon")), session("bbbb", resume.Waiting)},
			[]string{"1 needs you, 1 waiting; next in 1h 47m, 15:00", "Parked: new moon (1)"},
		},
		"many": {
			[]view.Session{session("aaaa", resume.GaveUp, needs("retry")), session("bbbb", resume.GaveUp, needs("retry")), session("cccc", resume.GaveUp, needs("retry")), session("dddd", resume.GaveUp, needs("retry"))},
			[]string{"to do: resumed retry aaaa bbbb cccc …"},
		},
		"another model, while it waits": {
			[]view.Session{session("aaaa", resume.Waiting, otherModel), session("bbbb", resume.Waiting), session("cccc", resume.Waiting, otherModel)},
			[]string{"3 sessions: 3 waiting", "\n\naaaa cccc: type /model sonnet\n\n"},
		},
		"only one cause that needs nobody": {
			[]view.Session{session("aaaa", resume.Waiting)},
			[]string{"1 session: 1 waiting; next in 1h 47m, 15:00\n\nSESSION"},
		},
		"cancelled is not at work": {
			[]view.Session{session("aaaa", resume.Watching, func(v *view.Session) { v.Why = resume.WhyCancelled }), session("bbbb", resume.Watching, func(v *view.Session) { v.Why = resume.WhyWorksAgain })},
			[]string{"Not stopped (1)\n  aaaa", "Works again (1)\n  bbbb"},
		},
	} {
		got := Renderer{Width: 80, Now: noon}.Status(status(c.sessions...))
		for _, want := range c.want {
			require.Contains(t, got, want, name)
		}
	}
}

func TestThePauseOfEverythingIsSaidFirst(t *testing.T) {
	paused := status(session("aaaa", resume.Waiting))
	paused.Daemon.Paused, paused.Daemon.DryRun = true, true
	got := Renderer{Width: 80, Now: noon}.Status(paused)
	require.True(t, strings.HasPrefix(got, "resumed is paused: it starts nothing until resumed unpause\ndry run: "), got)
}

func TestSessionsByState(t *testing.T) {
	all := []view.Session{session("aaaa", resume.Waiting), session("bbbb", resume.GaveUp), session("cccc", resume.Watching, needs("permission")), session("dddd", resume.Waiting, func(v *view.Session) { v.Paused = true })}
	for name, want := range map[string]string{"waiting": "aaaa dddd", "gave_up": "bbbb", "needs_you": "bbbb cccc", "paused": "dddd", "parked": ""} {
		which, err := ByState(name)
		require.NoError(t, err)
		var got []string
		for _, s := range all {
			if which(s) {
				got = append(got, s.ID)
			}
		}
		require.Equal(t, want, strings.Join(got, " "), name)
	}
	_, err := ByState("well")
	require.ErrorContains(t, err, `state "well" is not known; it is one of needs_you, paused, watching,`)
}

// A session that waits for another one names it, also if only the account changed since.
func TestARowSaysForWhomItWaits(t *testing.T) {
	utc(t)
	held := session("aaaa", resume.Waiting, func(v *view.Session) {
		v.NextAt, v.Held, v.Why, v.Reason, v.Account = new(noon.Add(-time.Minute)), true, resume.WhyOneByOne, "due, but one after the other", "claude-code:default"
	})
	update := func(name string) control.Update {
		s := status(held)
		s.Accounts[1].Probe = &resume.Probe{Session: "id-" + name, Name: name, Since: time.Now(), Until: time.Now().Add(2 * time.Minute)}
		return control.Update{Status: s, Whole: name == "first"}
	}
	var b board
	b.apply(update("first"))
	require.Contains(t, b.order[0].why, "waits for first, which tries alone since ")
	second := update("second")
	second.Sessions = nil
	b.apply(second)
	require.Contains(t, b.order[0].why, "waits for second, which tries alone since ")
	second.Accounts[1].Probe = nil
	b.apply(second)
	require.Equal(t, "due, but one after the other", b.order[0].why)
}
