package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/notify"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

// A person may go before the time that the provider named, but not without knowing it.
func TestARetryBeforeTheProvidersTimeIsAskedFor(t *testing.T) {
	b := newBox(t)
	b.write(configFile, bot)
	b.write("bot/resume.sh", recordCall+`echo "step 2" >> logs/$1.log`)
	b.start()
	b.write("bot/logs/s-1.log", "step 1\nrate limited, retry in 1h\n")
	b.untilState("s-1", resume.Waiting)
	_, errOut, code := b.run("retry", "s-1")
	require.Equal(t, exitUsage, code)
	require.Regexp(t, `^resumed: nothing was done: the provider asked to wait until .*\d\d:\d\d(:\d\d)?\nTry: the same command with --now\n$`, errOut)

	term := newTerminal(b, 80, 24, nil, "retry", "s-1")
	term.shows("The provider asked to wait until ", "Resume it now all the same? [y/N]")
	term.keys("n", "Enter")
	term.shows("nothing was done")
	require.Equal(t, resume.Waiting, b.session("s-1").State)
	require.Empty(t, b.calls())

	term = newTerminal(b, 80, 24, nil, "retry", "s-1")
	term.shows("[y/N]")
	term.keys("C-d")
	term.shows("ended with 2")
	require.Contains(t, term.screen(), "\nresumed: nothing was done", "not on the line of the question")

	term = newTerminal(b, 80, 24, nil, "retry", "s-1")
	term.shows("[y/N]")
	term.keys("y", "Enter")
	b.untilState("s-1", resume.Watching)
	require.Len(t, b.calls(), 1)
}

// If the daemon dies between the order and the start, the next one carries the order out, once.
func TestAnOrderSurvivesACrash(t *testing.T) {
	b := newBox(t)
	b.write(configFile, bot)
	b.write("bot/resume.sh", recordCall+`echo "step 2" >> logs/$1.log`)
	b.start()
	b.write("bot/logs/s-1.log", "step 1\nrate limited, retry in 1h\n")
	b.untilState("s-1", resume.Waiting)
	for _, order := range [][]string{{"pause"}, {"retry", "--now", "s-1"}} {
		_, errOut, code := b.run(order...)
		require.Zero(t, code, errOut)
	}
	b.kill(syscall.SIGKILL)
	b.start()
	require.Empty(t, b.calls())
	_, errOut, code := b.run("unpause")
	require.Zero(t, code, errOut)
	b.untilState("s-1", resume.Watching)
	require.Len(t, b.calls(), 1)
}

// An order to try again outlives a reload and a crash of the daemon, whatever has parked the session.
func TestARetryThatIsHeldBackIsNotLost(t *testing.T) {
	b := newBox(t)
	config := strings.ReplaceAll(bot, "limit = [", `limit = ['(?P<class>auth)$', `)
	b.write(configFile, config)
	b.write("bot/resume.sh", recordCall+`echo "step 2" >> logs/$1.log`)
	b.start()
	b.write("bot/logs/far-1.log", "step 1\nrate limited, retry in 400h\n")
	b.write("bot/logs/auth-1.log", "step 1\nauth\n")
	ids := []string{"far-1", "auth-1"}
	for _, id := range ids {
		b.untilState(id, resume.Parked)
	}
	for _, order := range [][]string{{"pause"}, append([]string{"retry", "--now"}, ids...)} {
		_, errOut, code := b.run(order...)
		require.Zero(t, code, errOut)
	}
	waits := func(when string) {
		t.Helper()
		for _, id := range ids {
			require.Equal(t, resume.Waiting, b.session(id).State, "%s: %s", when, b.session(id).Reason)
		}
	}
	b.reconfigure(config + "[resume]\nmargin = \"61s\"\nstagger = \"0s\"\n")
	waits("after a reload")
	b.kill(syscall.SIGKILL)
	b.start()
	waits("after a restart")
	_, errOut, code := b.run("unpause")
	require.Zero(t, code, errOut)
	for _, id := range ids {
		b.untilState(id, resume.Watching)
	}
	require.Len(t, b.calls(), 2)
}

// While a user is still signed out, one session shows it for all that are retried, and the user is told once.
func TestARetryWhileStillSignedOutIsMadeOnce(t *testing.T) {
	const sessions = 6
	b, hook := newBox(t), newHook(t)
	b.write(configFile, strings.ReplaceAll(bot, "limit = [", `limit = ['(?P<class>auth)$', `)+"[resume]\nstagger = \"0s\"\n[notify]\ngroup_wait = \"1s\"\n"+
		"[[notify.webhook]]\nname = \"ops\"\nurl = \""+hook.URL+"\"\n")
	b.write("bot/resume.sh", recordCall+`sleep 1; if test -e signed-in; then echo "step 2"; else echo auth; fi >> logs/$1.log`)
	b.start()
	var ids []string
	for n := range sessions {
		ids = append(ids, fmt.Sprintf("%c-1", 'a'+n))
		b.write("bot/logs/"+ids[n]+".log", "step 1\nauth\n")
	}
	all := func(state resume.State) {
		for _, id := range ids {
			b.untilState(id, state)
		}
	}
	all(resume.Parked)
	b.until("it is told", func() bool { return len(hook.got()) == 1 })

	retry := func() {
		_, errOut, code := b.run("retry", "--class", "auth")
		require.Zero(t, code, errOut)
	}
	retry()
	b.until("it is told again", func() bool { return len(hook.got()) > 1 })
	all(resume.Parked)
	require.Len(t, b.calls(), 1)
	require.Len(t, hook.got(), 2)
	require.Len(t, hook.got()[1].Sessions, sessions, "the notice names all")

	b.write("bot/signed-in", "")
	retry()
	all(resume.Watching)
	require.Len(t, b.calls(), 1+sessions)
	require.Len(t, hook.got(), 2)
}

func TestOrdersForSeveralSessions(t *testing.T) {
	b := newBox(t)
	severalStates(b) // lost-1 gave up, -bad-1 is parked, wait-1 waits for 107 minutes, good-1 works

	out, errOut, code := b.run("retry", "--all", "--json")
	require.Equal(t, exitUsage, code, "one of them would be early")
	require.Contains(t, errOut, "wait (mybot): the provider asked to wait until ")
	var after struct{ Sessions []view.Session }
	require.NoError(t, json.Unmarshal([]byte(out), &after))
	require.Len(t, after.Sessions, 2, "the others are retried")
	b.untilState("lost-1", resume.GaveUp)

	term := newTerminal(b, 120, 24, nil, "retry", "--all")
	term.shows("wait (mybot): the provider asked to wait until ", "Resume it now all the same? [y/N]")
	term.keys("n", "Enter")
	term.shows("nothing was done")
	b.untilState("lost-1", resume.GaveUp)

	for _, order := range []string{"unpause", "unpause --all"} {
		out, errOut, code = b.run(strings.Fields(order)...)
		require.Zero(t, code, errOut)
		require.Equal(t, "Nothing is paused.\n", out)
	}
	out, errOut, code = b.run("unpause", "--class", "rate_limit")
	require.Zero(t, code, errOut)
	require.Equal(t, "No session is paused that way: nothing was done.\n", out)
	out, errOut, code = b.run("pause", "lost-1", "wait-1")
	require.Zero(t, code, errOut)
	require.Contains(t, out, "lost (loser): paused; gave up\nwait (mybot): paused; its wait ends in 1h 4")
	require.True(t, strings.HasSuffix(out, "\n2 sessions paused.\n"), out)
	out, errOut, code = b.run("pause", "lost-1")
	require.Zero(t, code, errOut)
	require.Equal(t, "lost (loser): was paused already\n", out)
	out, errOut, code = b.run("pause", "lost-1", "wait-1")
	require.Zero(t, code, errOut)
	require.Equal(t, "lost (loser): was paused already\nwait (mybot): was paused already\nNothing was changed.\n", out)
	require.True(t, b.session("lost-1").Paused)
	require.True(t, b.session("wait-1").Paused)

	out, errOut, code = b.run("unpause")
	require.Zero(t, code, errOut)
	require.Equal(t, "There was no pause of everything.\n2 stay paused, by name or class: resumed unpause --all\n", out)
	require.True(t, b.session("lost-1").Paused)
	for _, want := range []string{"Paused, with 1 session waiting: ", "Paused already, with 1 session waiting: "} {
		out, errOut, code = b.run("pause", "--all")
		require.Zero(t, code, errOut)
		require.Equal(t, want+"nothing is started until resumed unpause.\n", out)
	}
	out, errOut, code = b.run("unpause", "--all")
	require.Zero(t, code, errOut)
	require.Equal(t, "Unpaused: sessions whose wait is over start now.\n2 unpaused that were paused by name or class.\n", out)
	require.False(t, b.session("lost-1").Paused)
	_, errOut, code = b.run("pause", "--class", "rate_limit")
	require.Zero(t, code, errOut)
	_, errOut, code = b.run("unpause", "lost-1")
	require.Zero(t, code, errOut)
	out, errOut, code = b.run("unpause", "--class", "rate_limit", "--json")
	require.Zero(t, code, errOut)
	require.NotContains(t, out, "lost-1", "only what is paused is unpaused")
	_, errOut, code = b.run("pause", "--class", "rate_limit")
	require.Zero(t, code, errOut)
	out, errOut, code = b.run("unpause", "--class", "rate_limit")
	require.Zero(t, code, errOut)
	require.Contains(t, out, "wait (mybot): unpaused; waiting, in 1h 4")
	require.False(t, b.session("lost-1").Paused)

	_, errOut, code = b.run("cancel", "wait-1", "nobody")
	require.Equal(t, exitNoSession, code)
	require.Contains(t, errOut, "\"nobody\": no such session")
	require.Equal(t, resume.Watching, b.session("wait-1").State, "the other one is cancelled")

	for _, wrong := range [][]string{{"retry"}, {"cancel"}, {"retry", "--all", "lost-1"}, {"retry", "--all", "--unseen"}, {"retry", "--class", "weather"}, {"pause", "--all", "lost-1"}, {"pause", "--class", "auth", "lost-1"}, {"cancel", "--all", "--class", "auth"}, {"retry", "--class", ""}, {"cancel", "--class", ""}, {"pause", "--class", ""}, {"unpause", "--class", ""}} {
		_, errOut, code = b.run(wrong...)
		require.Equal(t, exitUsage, code, "%v: %s", wrong, errOut)
	}
	require.False(t, b.status().Daemon.Paused, "a class that is empty is not everything")
	out, errOut, code = b.run("retry", "--class", "auth")
	require.Zero(t, code, errOut)
	require.Equal(t, "No session is stopped that way: nothing was done.\n", out)
	b.untilState("-bad-1", resume.Parked)
	out, errOut, code = b.run("cancel", "--all")
	require.Zero(t, code, errOut)
	require.Contains(t, out, "lost (loser): cancelled")
	require.Contains(t, out, "\nTo undo this: resumed retry lost-1 rebel/-bad-1\n")
	require.Equal(t, resume.Watching, b.session("lost-1").State)
}

// A cancel of several sessions is asked about on a terminal, can be undone, and is no recovery.
func TestACancelIsUndoneByARetry(t *testing.T) {
	hook := newHook(t)
	b := newBox(t)
	b.write(configFile, bot+"[notify]\ngroup_wait = \"0s\"\n[[notify.webhook]]\nname = \"hook\"\nurl = \""+hook.URL+"\"\nevents = [\"limited\", \"recovered\"]\n")
	b.write("bot/resume.sh", recordCall+`echo "step 2" >> logs/$1.log`)
	b.start()
	for _, id := range []string{"s-1", "s-2", "s-3"} {
		b.write("bot/logs/"+id+".log", "step 1\nrate limited, retry in 1h\n")
		b.untilState(id, resume.Waiting)
	}
	term := newTerminal(b, 100, 24, nil, "cancel", "s-1", "s-2")
	term.shows("Cancel 2 sessions? They are not continued after this limit. [y/N]")
	term.keys("n", "Enter")
	term.shows("nothing was done", "ended with 2")
	require.Equal(t, resume.Waiting, b.session("s-1").State)
	require.Equal(t, resume.Waiting, b.session("s-2").State)

	before := b.session("s-1")
	term = newTerminal(b, 100, 24, nil, "cancel", "--all", "--yes")
	term.shows("s-1 (bot): cancelled", "3 sessions cancelled.", "To undo this: resumed retry s-1 s-2 s-3", "ended with 0")
	require.Equal(t, resume.Watching, b.session("s-1").State)

	out, errOut, code := b.run("retry", "s-1")
	require.Zero(t, code, errOut)
	require.Contains(t, out, "may continue: waiting, in ")
	require.Equal(t, before.NextAt, b.untilState("s-1", resume.Waiting).NextAt, "as before the cancel")
	b.kill(syscall.SIGTERM)
	b.start()
	require.True(t, b.session("s-3").Cancelled)
	b.appendTo("bot/logs/s-3.log", "step 2\n")
	b.until("it was seen to move", func() bool { return !b.session("s-3").Cancelled })
	out, errOut, code = b.run("retry", "s-3")
	require.Zero(t, code, errOut)
	require.Contains(t, out, "nothing to retry")
	_, errOut, code = b.run("retry", "s-2", "--now")
	require.Zero(t, code, errOut)
	b.until("it is resumed", func() bool { return len(b.calls()) == 1 })
	var recovered []notify.Notice
	b.until("a recovery is told", func() bool {
		recovered = slices.DeleteFunc(hook.got(), func(n notify.Notice) bool { return n.Event != notify.Recovered })
		return len(recovered) > 0
	})
	for _, n := range recovered {
		require.Len(t, n.Sessions, 1, "%s: %s", n.Title, n.Text)
		require.Equal(t, "s-2", n.Sessions[0].ID)
	}
}
