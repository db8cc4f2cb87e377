package main

import (
	"fmt"
	"net"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/notify"
	"resumed/internal/resume"
)

func TestASilentSessionIsToldOnce(t *testing.T) {
	t.Parallel()
	for situation, c := range map[string]struct {
		tool   string
		result bool // the tool has its result: what runs on is in the background
	}{
		"it runs nothing":                              {},
		"it runs a tool that waits for a person":       {tool: "coproc cat; read -r <&${COPROC[0]}"},
		"a loop in the background only sleeps":         {tool: "while :; do sleep 2; done", result: true},
		"a command in the background sleeps for hours": {tool: "sleep 36000", result: true},
	} {
		t.Run(situation, func(t *testing.T) {
			b := newLiveBox(t)
			hook := b.told("silent = \"6s\"\n")
			s := b.standIn()
			s.Tool = c.tool
			b.work(s)
			if c.result {
				b.appendTo(b.transcript(), resultLine(liveID, s.Cwd))
			}
			pid := b.registeredPID()
			silent := b.untilState(liveID, resume.Parked)
			require.Equal(t, fmt.Sprintf("silent for 6s in the middle of a turn: no record, no CPU, no tool that works or waits for the network or a time; look at it in its terminal (process %d)", pid), silent.Reason)
			require.Equal(t, "look", *silent.Needs)
			require.Equal(t, pid, silent.Owner.PID)
			b.until("it is told", func() bool { return len(hook.got()) == 1 })
			require.Equal(t, notify.Silent, hook.got()[0].Event)
			require.Empty(t, hook.got()[0].RetryCommand, "it works, as far as is known")
			out, errOut, code := b.run("status")
			require.Zero(t, code, errOut)
			require.Contains(t, out, "silent")
			_, _, code = b.run("retry", liveID)
			require.Zero(t, code)
			require.Equal(t, resume.Parked, b.session(liveID).State)
			require.Empty(t, b.keys(), "nothing is typed")

			b.appendTo(b.transcript(), answerLine(liveID, b.path("bot"), "Here I am."))
			b.until("it is not listed any longer", func() bool { return b.session(liveID).ID == "" })
			require.Len(t, hook.got(), 1)
		})
	}
}

func TestASessionThatWorksIsNotSilent(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { listener.Close() })
	port := listener.Addr().(*net.TCPAddr).Port
	for situation, c := range map[string]struct{ tool, why string }{
		// It works for a tenth of the time, six times at once: enough on a busy machine, and not all of an idle one.
		"its tool works":                 {"for n in 1 2 3 4 5 6; do while :; do for ((i = 0; i < 4000; i++)); do :; done; sleep 0.2; done & done; wait", "it used the processor"},
		"its tool waits for the network": {fmt.Sprintf("exec 3<>/dev/tcp/127.0.0.1/%d; read -r <&3", port), "a tool waits for the network"},
		"its tool sleeps":                {"while :; do sleep 5; done", "a tool waits for a time"},
	} {
		t.Run(situation, func(t *testing.T) {
			b := newLiveBox(t)
			b.configure("silent = \"6s\"\n")
			s := b.standIn()
			s.Tool = c.tool
			b.work(s)
			b.until("it is measured: "+c.why, func() bool {
				return strings.Contains(b.logged(), "msg=\"not silent\"") && strings.Contains(b.logged(), c.why)
			})
			require.Empty(t, b.session(liveID).ID)
			require.NoError(t, exec.Command("kill", fmt.Sprint(b.registeredPID())).Run())
		})
	}
}

func TestASessionThatWaitsForAnAnswerOrHasEndedItsTurnIsNotSilent(t *testing.T) {
	b := newLiveBox(t)
	b.configure("silent = \"6s\"\n")
	b.work(b.standIn())
	b.appendTo(b.transcript(), answerLine(liveID, b.path("bot"), "Done."))
	b.untilLogged("not in the middle of a turn")
	require.Empty(t, b.session(liveID).ID)
	require.NoError(t, syscall.Kill(b.registeredPID(), 0), "it lives")
}
