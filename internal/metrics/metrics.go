// Package metrics counts events and provides the state of the daemon for Prometheus.
package metrics

import (
	"context"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"resumed/internal/limit"
	"resumed/internal/notify"
	"resumed/internal/resume"
	"resumed/internal/usage"
)

// scrapeLimit bounds how long a scrape waits for the engine.
const scrapeLimit = 2 * time.Second

// Source is where a scrape reads the state of the daemon. All are required.
type Source struct {
	Tallies        func(context.Context) (map[string]resume.Tally, error) // by agent
	Accounts       func(context.Context) ([]resume.Account, error)
	Windows        func(resume.AccountKey) []usage.Window
	Tasks          func(context.Context) ([]resume.Session, error)
	Agents         func() []string                 // the watched ones
	PendingNotices func() int                      // deliveries that have not ended
	Loaded         func() (at time.Time, ok bool)  // the configuration in use, and whether it is the newest
	Fleet          func() (figures Fleet, ok bool) // false: there is no fleet
}

// Metrics counts events. The current state is read from the Source at each scrape.
type Metrics struct {
	registry      *prometheus.Registry
	interruptions *prometheus.CounterVec
	resumes       *prometheus.CounterVec
	giveUps       *prometheus.CounterVec
	notifications *prometheus.CounterVec
	detection     prometheus.Histogram
	wait          prometheus.Histogram

	// Without a fleet these have no values.
	fleetWrites, fleetProbes, fleetDropped *prometheus.CounterVec
}

// New returns the metrics of a daemon of that version.
func New(version string, source Source) *Metrics {
	histogram := func(name, help string, buckets ...float64) prometheus.Histogram {
		return prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets})
	}
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "resumed_build_info", Help: "The running version; the value is always 1.",
	}, []string{"version", "goversion"})
	build.WithLabelValues(version, runtime.Version()).Set(1)

	m := &Metrics{
		registry: prometheus.NewRegistry(),
		interruptions: counter("resumed_interruptions_total",
			"Interruptions of sessions, by agent and class of error.", "agent", "class"),
		resumes: counter("resumed_resumes_total", "Finished resumes, by agent and outcome.", "agent", "outcome"),
		giveUps: counter("resumed_give_ups_total", "Sessions that resumed gave up on.", "agent"),
		notifications: counter("resumed_notifications_total",
			"Finished deliveries of notices, by channel and outcome.", "name", "outcome"),
		detection: histogram("resumed_detection_seconds",
			"Time from an error, as the agent recorded it, until it was seen. Up to one second too long for agents that record whole seconds.",
			.01, .05, .1, .25, .5, 1, 2.5, 5, 15, 60, 300),
		wait: histogram("resumed_wait_seconds", "How long a session waited before a resume.",
			1, 5, 15, 30, 60, 120, 300, 900, 1800, 3600, 2*3600, 5*3600, 12*3600, 24*3600, 7*24*3600),
		fleetWrites:  counter("resumed_fleet_cas_total", "Writes to the shared state of the fleet: won, lost to another host, or not answered.", "result"),
		fleetProbes:  counter("resumed_fleet_probes_total", "Resumes by which this host tested whether a limit is over, by outcome.", "outcome"),
		fleetDropped: counter("resumed_fleet_notices_dropped_total", "Notices from the fleet that this host did not tell, by reason.", "reason"),
	}
	m.registry.MustRegister(
		build, m.interruptions, m.resumes, m.giveUps, m.notifications, m.detection, m.wait, m.fleetWrites, m.fleetProbes, m.fleetDropped, gauges{source},
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return m
}

func counter(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

// Handler answers a scrape.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
}

var outcomes = []resume.Outcome{
	resume.Recovered, resume.LimitedOut, resume.Failed, resume.TimedOut,
	resume.NoProgress, resume.Denied, resume.DaemonStopped, resume.Unknown,
}

// Expect initializes every counter with 0: if a counter first appears with 1, Prometheus does not see
// the increase.
func (m *Metrics) Expect(agents []string, channels []string) {
	for _, agent := range agents {
		m.giveUps.WithLabelValues(agent)
		for _, outcome := range outcomes {
			m.resumes.WithLabelValues(agent, string(outcome))
		}
		for _, class := range limit.Classes() {
			if class != limit.None && class != limit.Cancelled {
				m.interruptions.WithLabelValues(agent, class.String())
			}
		}
	}
	for _, channel := range channels {
		for _, outcome := range notify.Outcomes() {
			m.notifications.WithLabelValues(channel, string(outcome))
		}
	}
}

// Observe counts a change of a session. It does not block.
func (m *Metrics) Observe(c resume.Change) {
	agent := c.After.Key.Agent
	if ev, limited := c.Event.(resume.Limited); limited && c.Interrupts() {
		m.interruptions.WithLabelValues(agent, ev.Class.String()).Inc()
		if !ev.First && !ev.At.IsZero() {
			m.detection.Observe(max(0, c.At.Sub(ev.At).Seconds()))
		}
	}
	if c.Sent() && !c.StartsTask() {
		m.wait.Observe(max(0, c.Before.LastStart().Sub(c.Before.WaitFrom).Seconds()))
	}
	if attempt := c.Concluded(); attempt != nil {
		m.resumes.WithLabelValues(agent, string(attempt.Outcome)).Inc()
	}
	if c.Entered(resume.GaveUp) {
		m.giveUps.WithLabelValues(agent).Inc()
	}
}

// Delivered counts a delivery that has ended.
func (m *Metrics) Delivered(channel string, outcome notify.Outcome) {
	m.notifications.WithLabelValues(channel, string(outcome)).Inc()
}

type gauges struct{ source Source }

var (
	sessionsDesc = prometheus.NewDesc("resumed_sessions", "Known sessions, by agent and state.", []string{"agent", "state"}, nil)
	accountDesc  = prometheus.NewDesc("resumed_account_open", "1 while the account is limited.", []string{"account"}, nil)
	providerDesc = prometheus.NewDesc("resumed_account_provider_open", "1 while this provider limits the account.", []string{"account", "provider"}, nil)
	usedDesc     = prometheus.NewDesc("resumed_account_used_ratio", "Used share of an allowance of the account, as the agent reports it.", []string{"account", "provider", "window"}, nil)
	tasksDesc    = prometheus.NewDesc("resumed_tasks", "Tasks in the queue that have no session yet, by state.", []string{"state"}, nil)
	pendingDesc  = prometheus.NewDesc("resumed_notifications_pending", "Notices that are not delivered yet.", nil, nil)
	reloadDesc   = prometheus.NewDesc("resumed_config_last_reload_successful", "1 unless the newest configuration has errors and is not used.", nil, nil)
	loadedDesc   = prometheus.NewDesc("resumed_config_last_reload_success_timestamp_seconds", "When the configuration in use was read.", nil, nil)
)

// Describe sends the descriptions of the gauges.
func (gauges) Describe(ch chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{
		sessionsDesc, accountDesc, providerDesc, usedDesc, tasksDesc, pendingDesc, reloadDesc, loadedDesc, connectedDesc, hostsDesc, aloneDesc, skewDesc,
	} {
		ch <- desc
	}
}

// Collect sends their values. If the engine does not answer, its values are left out: the others may
// show why.
func (g gauges) Collect(ch chan<- prometheus.Metric) {
	send := func(desc *prometheus.Desc, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	send(pendingDesc, float64(g.source.PendingNotices()))
	loadedAt, ok := g.source.Loaded()
	send(reloadDesc, oneIf(ok))
	send(loadedDesc, float64(loadedAt.UnixMilli())/1000)
	if fleet, ok := g.source.Fleet(); ok {
		send(connectedDesc, oneIf(fleet.Connected))
		send(hostsDesc, float64(fleet.Hosts))
		send(skewDesc, fleet.Skew.Seconds())
		ch <- prometheus.MustNewConstMetric(aloneDesc, prometheus.CounterValue, fleet.Alone.Seconds())
	}

	ctx, cancel := context.WithTimeout(context.Background(), scrapeLimit)
	defer cancel()
	tallies, err := g.source.Tallies(ctx)
	if err != nil {
		return
	}
	accounts, err := g.source.Accounts(ctx)
	if err != nil {
		return
	}
	// Agents without sessions are included: a series that first appears with the first session cannot
	// be compared with before.
	agents := slices.Concat(g.source.Agents(), slices.Collect(maps.Keys(tallies)))
	slices.Sort(agents)
	for _, agent := range slices.Compact(agents) {
		for _, state := range resume.States() {
			send(sessionsDesc, float64(tallies[agent][state]), agent, state.String())
		}
	}
	if tasks, err := g.source.Tasks(ctx); err == nil {
		count := make(map[resume.TaskState]int)
		for _, task := range tasks {
			count[task.TaskState()]++
		}
		for _, state := range []resume.TaskState{resume.TaskQueued, resume.TaskStarting, resume.TaskFailed} {
			send(tasksDesc, float64(count[state]), string(state))
		}
	}
	open := make(map[string]bool) // an account with several providers is limited if any of them limits it
	for _, account := range accounts {
		limited := account.State != resume.Closed
		open[account.Name] = open[account.Name] || limited
		for _, w := range g.source.Windows(account.AccountKey) {
			send(usedDesc, w.Used/100, account.Name, account.Provider, w.Kind)
		}
		if account.Provider != "" {
			send(providerDesc, oneIf(limited), account.Name, account.Provider)
		}
	}
	for name, limited := range open {
		send(accountDesc, oneIf(limited), name)
	}
}

func oneIf(ok bool) float64 {
	if ok {
		return 1
	}
	return 0
}

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
