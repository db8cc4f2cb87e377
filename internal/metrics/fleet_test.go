package metrics

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAFleetIsCountedWhereThereIsOne(t *testing.T) {
	s := &standing{}
	m := New("1", s.source())
	require.Empty(t, scrape(t, m, "resumed_fleet"), "nothing is said of a fleet that is not there")
	s.fleet = &Fleet{Connected: true, Hosts: 3, Alone: 90 * time.Second, Skew: -1500 * time.Millisecond}
	m.ExpectFleet()
	m.Wrote("won")
	m.Probed("moved")
	m.Dropped("unreadable")
	require.Equal(t, []string{
		"resumed_fleet_alone_seconds_total 90",
		`resumed_fleet_cas_total{result="lost"} 0`, `resumed_fleet_cas_total{result="silent"} 0`, `resumed_fleet_cas_total{result="won"} 1`,
		"resumed_fleet_connected 1", "resumed_fleet_hosts 3",
		`resumed_fleet_notices_dropped_total{reason="too_many"} 0`, `resumed_fleet_notices_dropped_total{reason="unreadable"} 1`,
		`resumed_fleet_notices_dropped_total{reason="unwanted"} 0`,
		`resumed_fleet_probes_total{outcome="lost"} 0`, `resumed_fleet_probes_total{outcome="moved"} 1`,
		`resumed_fleet_probes_total{outcome="refused"} 0`, `resumed_fleet_probes_total{outcome="released"} 0`,
		"resumed_fleet_skew_seconds -1.5",
	}, scrape(t, m, "resumed_fleet"))
}
