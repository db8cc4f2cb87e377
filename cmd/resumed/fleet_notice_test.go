package main

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

// Three machines hit one limit: a person is notified once, by a machine that can.
func TestALimitOfSeveralMachinesIsToldOnce(t *testing.T) {
	h := newHubBox(t)
	h.serve()
	hosts := []*box{h.host("one"), h.host("two"), h.host("other")} // the last one reports other events
	for i, b := range hosts {
		channel := "[notify]\nevents = []\n[[notify.command]]\nname = \"other\"\nevents = [\"parked\"]\nrun = [\"true\"]\n"
		if i < 2 {
			channel = fmt.Sprintf("[notify]\nevents = [\"limited\", \"gave_up\"]\ngroup_wait = \"1s\"\n[[notify.command]]\nname = \"file\"\nrun = [\"sh\", \"-c\", \"cat >> %s; echo >> %[1]s\"]\n", h.path("told"))
		}
		b.appendTo(configFile, "\n"+channel)
	}
	for _, b := range slices.Backward(hosts) { // it has the first turn
		b.start()
		b.until("it is there", b.inFleet("connected", 1))
	}
	for _, b := range hosts {
		b.until("all are there", b.inFleet("connected", 3))
	}
	for i, b := range hosts {
		for n := range 2 {
			b.write(fmt.Sprintf("bot/logs/s-%d-%d.log", i, n), "step 1\nrate limited, retry in 2s\n")
		}
	}
	told := func() []string { return strings.Split(strings.TrimSpace(h.read("told")), "\n") }
	h.until("somebody is told", func() bool { return strings.Contains(told()[0], `"event":"limited"`) })
	for i, b := range hosts {
		for n := range 2 {
			b.untilState(fmt.Sprintf("s-%d-%d", i, n), resume.Watching)
		}
	}
	if all := told(); len(all) != 1 {
		t.Fatalf("it was told %d times:\n%s", len(all), strings.Join(all, "\n"))
	}
}

// A machine is killed while sessions wait there. Of two others, both with channels, one has a channel for
// that: people are told soon after the machine counts as gone.
func TestAMachineThatIsGoneIsToldByTheOneThatCan(t *testing.T) {
	h := newHubBox(t)
	h.serve()
	hosts := []*box{h.host("other"), h.host("one"), h.host("lost")}
	for i, b := range hosts {
		b.appendTo(configFile, "\n"+[]string{
			"[notify]\nevents = []\n[[notify.command]]\nname = \"other\"\nevents = [\"usage\"]\nrun = [\"true\"]\n",
			fmt.Sprintf("[notify]\nevents = [\"host_gone\"]\n[[notify.command]]\nname = \"file\"\nrun = [\"sh\", \"-c\", \"cat >> %s; echo >> %[1]s\"]\n", h.path("told")),
			"[notify]\nevents = []\n",
		}[i])
		b.start()
		b.until("it is there", b.inFleet("connected", i+1)) // the first one reports to people
	}
	lost := hosts[2]
	lost.write("bot/logs/s-1.log", "step 1\nrate limited, retry in 600s\n")
	lost.untilState("s-1", resume.Waiting)
	hosts[1].until("it is seen that a session waits there", func() bool {
		page, err := hosts[1].daemon.Fleet(t.Context(), "", 10)
		return err == nil && len(page.Accounts) == 1 && page.Accounts[0].Sessions == 1
	})
	lost.kill(syscall.SIGKILL)
	killed := time.Now()
	hosts[1].until("people are told", func() bool { return strings.Contains(h.read("told"), "host lost is gone") })
	took := time.Since(killed)
	t.Logf("told %s after it was killed", took.Round(100*time.Millisecond))
	const leaseLasts = 9 * time.Second
	require.Less(t, took, leaseLasts+6*time.Second) // at this heartbeat
}
