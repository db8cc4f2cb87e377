package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Fleet is the state of this host in its fleet.
type Fleet struct {
	Connected bool
	Hosts     int
	Alone     time.Duration // in total
	Skew      time.Duration // of its clock
}

// ExpectFleet initializes the counters of a fleet with 0.
func (m *Metrics) ExpectFleet() {
	for counter, values := range map[*prometheus.CounterVec][]string{
		m.fleetWrites:  {"won", "lost", "silent"},
		m.fleetProbes:  {"moved", "refused", "released", "lost"},
		m.fleetDropped: {"unreadable", "too_many", "unwanted"},
	} {
		for _, value := range values {
			counter.WithLabelValues(value)
		}
	}
}

// Wrote counts a write to the shared state of the fleet, by its result.
func (m *Metrics) Wrote(result string) { m.fleetWrites.WithLabelValues(result).Inc() }

// Probed counts a probe of this host, by its outcome.
func (m *Metrics) Probed(outcome string) { m.fleetProbes.WithLabelValues(outcome).Inc() }

// Dropped counts a notice from the fleet that is not reported.
func (m *Metrics) Dropped(reason string) { m.fleetDropped.WithLabelValues(reason).Inc() }

var (
	connectedDesc = prometheus.NewDesc("resumed_fleet_connected", "1 while this host is connected to its fleet.", nil, nil)
	hostsDesc     = prometheus.NewDesc("resumed_fleet_hosts", "Hosts in the fleet when it was last reached, including this one.", nil, nil)
	aloneDesc     = prometheus.NewDesc("resumed_fleet_alone_seconds_total", "How long this host worked without its fleet.", nil, nil)
	skewDesc      = prometheus.NewDesc("resumed_fleet_skew_seconds", "How far the fleet's clock is ahead of this host's.", nil, nil)
)
