package webui

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/control"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

func TestTheFleetIsShownInTheWordsOfStatus(t *testing.T) {
	lifts := time.Now().Add(time.Hour)
	shown := showFleet(control.DaemonFleet{State: "alone", Why: "the fleet does not answer", Name: "laptop", Hosts: 2}, control.Fleet{
		Hosts:    []control.FleetHost{{Name: "laptop", State: "alive"}, {Name: "build", State: "gone", SkewSeconds: -40}},
		Accounts: []control.FleetAccount{{Name: "claude-code:default", State: "half_open", ResetAt: &lifts, By: "build", Probe: &control.FleetProbe{Host: "laptop"}, Hosts: 2, Sessions: 3}},
		Sessions: []control.FleetSession{{Host: "build", Session: view.Session{Name: "4f\x1b[31m2a", Agent: "codex", State: resume.GaveUp, NextAt: &lifts}}},
		Next:     "more", Unreadable: []control.FleetUnreadable{{Name: "build", Entries: 1}},
	})
	require.Equal(t, "alone, as laptop with 2 hosts: the fleet does not answer; build: one entry could not be read", shown.Line)
	require.Equal(t, []fleetHost{
		{control.FleetHost{Name: "laptop", State: "alive"}, "good", false}, {control.FleetHost{Name: "build", State: "gone", SkewSeconds: -40}, "bad", true},
	}, shown.Hosts)
	require.Equal(t, "as build was told; laptop tries; 3 interrupted sessions on 2 hosts", shown.Accounts[0].Words)
	require.Equal(t, []string{"build", "4f2a"}, []string{shown.Sessions[0].Host, shown.Sessions[0].Name}, "nothing of another host's reaches the page raw")
	require.True(t, shown.Sessions[0].Away, "its orders go to that host")
	require.Nil(t, shown.Sessions[0].NextAt, "one that gave up is not resumed at any time")
	require.Equal(t, "more", shown.Next)
	require.NotNil(t, showFleet(control.DaemonFleet{}, control.Fleet{}).Hosts, "lists are lists")
}
