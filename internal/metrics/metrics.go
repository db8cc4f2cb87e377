// Package metrics counts what happens, and says how things stand when somebody
// looks, in the words of Prometheus.
package metrics

import (
	"context"
	"net/http"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"resumed/internal/limit"
	"resumed/internal/notify"
	"resumed/internal/resume"
)

// scrapeLimit bounds how long a scrape waits for the engine.
const scrapeLimit = 2 * time.Second

// Source says how things stand at a moment.
type Source interface {
	Sessions(context.Context) ([]resume.Session, error)
	Accounts(context.Context) ([]resume.Account, error)
	Agents() []string                // that are watched
	PendingNotices() int             // deliveries that have not ended
	Loaded() (at time.Time, ok bool) // the configuration in force, and whether the newest one is
}

// Metrics counts what happens. What is true at a moment is asked for when
// somebody looks.
type Metrics struct {
	registry      *prometheus.Registry
	interruptions *prometheus.CounterVec
	resumes       *prometheus.CounterVec
	giveUps       *prometheus.CounterVec
	notifications *prometheus.CounterVec
	detection     prometheus.Histogram
	wait          prometheus.Histogram
}

// New returns metrics of the daemon of that version.
func New(version string, source Source) *Metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	histogram := func(name, help string, buckets ...float64) prometheus.Histogram {
		return prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets})
	}
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "resumed_build_info", Help: "The version that runs; always 1.",
	}, []string{"version", "goversion"})
	build.WithLabelValues(version, runtime.Version()).Set(1)

	m := &Metrics{
		registry: prometheus.NewRegistry(),
		interruptions: counter("resumed_interruptions_total",
			"Refusals that stopped a session, by what was refused.", "agent", "class"),
		resumes: counter("resumed_resumes_total", "Resumes that ended, by how.", "agent", "outcome"),
		giveUps: counter("resumed_give_ups_total", "Sessions that were given up.", "agent"),
		notifications: counter("resumed_notifications_total",
			"Deliveries of notices that ended, by channel and how.", "name", "outcome"),
		detection: histogram("resumed_detection_seconds",
			"From a refusal's own time to when it was seen. Agents that write whole seconds make it up to one too long.",
			.01, .05, .1, .25, .5, 1, 2.5, 5, 15, 60, 300),
		wait: histogram("resumed_wait_seconds", "What was waited before a resume.",
			1, 5, 15, 30, 60, 120, 300, 900, 1800, 3600, 2*3600, 5*3600, 12*3600, 24*3600, 7*24*3600),
	}
	m.registry.MustRegister(
		build, m.interruptions, m.resumes, m.giveUps, m.notifications, m.detection, m.wait, gauges{source},
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return m
}

// Handler answers a scrape.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
}

// outcomes are all that may become of a resume.
var outcomes = []resume.Outcome{
	resume.Recovered, resume.LimitedOut, resume.Failed, resume.TimedOut,
	resume.NoProgress, resume.Denied, resume.CutOff, resume.Unknown,
}

// Expect makes every counter that may move there from the beginning: of one
// that is born at 1, nobody sees that it rose.
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

// Observe counts a step. It blocks on nothing.
func (m *Metrics) Observe(c resume.Change) {
	agent := c.After.Key.Agent
	if ev, limited := c.Event.(resume.Limited); limited && c.Interrupts() {
		m.interruptions.WithLabelValues(agent, ev.Class.String()).Inc()
		if !ev.First && !ev.At.IsZero() {
			m.detection.Observe(max(0, c.At.Sub(ev.At).Seconds()))
		}
	}
	if c.Sent() {
		m.wait.Observe(max(0, c.Waited().Seconds()))
	}
	if attempt := c.Concluded(); attempt != nil {
		m.resumes.WithLabelValues(agent, string(attempt.Outcome)).Inc()
	}
	if c.Entered(resume.GaveUp) {
		m.giveUps.WithLabelValues(agent).Inc()
	}
}

// Delivered counts the end of a delivery.
func (m *Metrics) Delivered(channel string, outcome notify.Outcome) {
	m.notifications.WithLabelValues(channel, string(outcome)).Inc()
}

// gauges asks the daemon how things stand.
type gauges struct{ source Source }

var (
	sessionsDesc = prometheus.NewDesc("resumed_sessions", "Sessions that are known, by state.", []string{"agent", "state"}, nil)
	accountDesc  = prometheus.NewDesc("resumed_account_open", "1 while a limit holds the account back.", []string{"account"}, nil)
	providerDesc = prometheus.NewDesc("resumed_account_provider_open", "1 while a limit of this provider holds sessions of the account back.", []string{"account", "provider"}, nil)
	pendingDesc  = prometheus.NewDesc("resumed_notifications_pending", "Deliveries of notices that have not ended.", nil, nil)
	reloadDesc   = prometheus.NewDesc("resumed_config_last_reload_successful", "1 unless the newest configuration was refused.", nil, nil)
	loadedDesc   = prometheus.NewDesc("resumed_config_last_reload_success_timestamp_seconds", "When the configuration in force was read.", nil, nil)
)

// Describe names the gauges.
func (gauges) Describe(ch chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{sessionsDesc, accountDesc, providerDesc, pendingDesc, reloadDesc, loadedDesc} {
		ch <- desc
	}
}

// Collect asks for their values. An engine that does not answer leaves its own
// out: the rest may tell why.
func (g gauges) Collect(ch chan<- prometheus.Metric) {
	send := func(desc *prometheus.Desc, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	send(pendingDesc, float64(g.source.PendingNotices()))
	loadedAt, ok := g.source.Loaded()
	send(reloadDesc, oneIf(ok))
	send(loadedDesc, float64(loadedAt.UnixMilli())/1000)

	ctx, cancel := context.WithTimeout(context.Background(), scrapeLimit)
	defer cancel()
	sessions, err := g.source.Sessions(ctx)
	if err != nil {
		return
	}
	accounts, err := g.source.Accounts(ctx)
	if err != nil {
		return
	}
	for agent, states := range g.count(sessions) {
		for _, state := range resume.States() {
			send(sessionsDesc, float64(states[state]), agent, state.String())
		}
	}
	open := make(map[string]bool) // an account of several providers is one that any of them holds back
	for _, account := range accounts {
		limited := account.State != resume.Closed
		open[account.Name] = open[account.Name] || limited
		if account.Provider != "" {
			send(providerDesc, oneIf(limited), account.Name, account.Provider)
		}
	}
	for name, limited := range open {
		send(accountDesc, oneIf(limited), name)
	}
}

// count sorts sessions by agent and state. An agent without any is there too:
// a line that appears with its first session cannot be compared with before.
func (g gauges) count(sessions []resume.Session) map[string]map[resume.State]int {
	byAgent := make(map[string]map[resume.State]int)
	for _, name := range g.source.Agents() {
		byAgent[name] = make(map[resume.State]int)
	}
	for _, s := range sessions {
		if byAgent[s.Key.Agent] == nil {
			byAgent[s.Key.Agent] = make(map[resume.State]int)
		}
		byAgent[s.Key.Agent][s.State]++
	}
	return byAgent
}

func oneIf(ok bool) float64 {
	if ok {
		return 1
	}
	return 0
}
