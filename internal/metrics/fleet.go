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

// fleetCounters count what this host does in its fleet. Without a fleet they have no values.
type fleetCounters struct{ cas, probes, dropped *prometheus.CounterVec }

func newFleetCounters() fleetCounters {
	return fleetCounters{
		counter("resumed_fleet_cas_total", "Writes to the shared state of the fleet: won, lost to another host, or not answered.", "result"),
		counter("resumed_fleet_probes_total", "Resumes by which this host tested whether a limit is over, by outcome.", "outcome"),
		counter("resumed_fleet_notices_dropped_total", "Notices from the fleet that this host did not tell, by reason.", "reason"),
	}
}

// ExpectFleet initializes the counters of a fleet with 0.
func (m *Metrics) ExpectFleet() {
	for counter, values := range map[*prometheus.CounterVec][]string{
		m.fleet.cas:     {"won", "lost", "silent"},
		m.fleet.probes:  {"moved", "refused", "released", "lost"},
		m.fleet.dropped: {"unreadable", "too_many", "unwanted"},
	} {
		for _, value := range values {
			counter.WithLabelValues(value)
		}
	}
}

// Wrote counts a write to the shared state of the fleet, by its result.
func (m *Metrics) Wrote(result string) { m.fleet.cas.WithLabelValues(result).Inc() }

// Probed counts a probe of this host, by its outcome.
func (m *Metrics) Probed(outcome string) { m.fleet.probes.WithLabelValues(outcome).Inc() }

// Dropped counts a notice from the fleet that is not reported.
func (m *Metrics) Dropped(reason string) { m.fleet.dropped.WithLabelValues(reason).Inc() }

var (
	connectedDesc = prometheus.NewDesc("resumed_fleet_connected", "1 while this host is connected to its fleet.", nil, nil)
	hostsDesc     = prometheus.NewDesc("resumed_fleet_hosts", "Hosts in the fleet when it was last reached, including this one.", nil, nil)
	aloneDesc     = prometheus.NewDesc("resumed_fleet_alone_seconds_total", "How long this host worked without its fleet.", nil, nil)
	skewDesc      = prometheus.NewDesc("resumed_fleet_skew_seconds", "How far the fleet's clock is ahead of this host's.", nil, nil)
)

// fleetDescs are the gauges of a host in a fleet.
var fleetDescs = []*prometheus.Desc{connectedDesc, hostsDesc, aloneDesc, skewDesc}

func (f Fleet) collect(ch chan<- prometheus.Metric) {
	send := func(desc *prometheus.Desc, kind prometheus.ValueType, value float64) {
		ch <- prometheus.MustNewConstMetric(desc, kind, value)
	}
	send(connectedDesc, prometheus.GaugeValue, oneIf(f.Connected))
	send(hostsDesc, prometheus.GaugeValue, float64(f.Hosts))
	send(aloneDesc, prometheus.CounterValue, f.Alone.Seconds())
	send(skewDesc, prometheus.GaugeValue, f.Skew.Seconds())
}
