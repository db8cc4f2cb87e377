package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

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
