package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/fleet/fleettest"
	"resumed/internal/resume"
)

// conditional are metrics that exist only under a condition, such as a fleet. The documents name them
// all the same.
var conditional = map[string]string{
	"resumed_account_provider_open":       "an account that asks several providers",
	"resumed_account_used_ratio":          "an agent that tells how much is used",
	"resumed_fleet_connected":             inAFleet,
	"resumed_fleet_hosts":                 inAFleet,
	"resumed_fleet_alone_seconds_total":   inAFleet,
	"resumed_fleet_cas_total":             inAFleet,
	"resumed_fleet_skew_seconds":          inAFleet,
	"resumed_fleet_probes_total":          inAFleet,
	"resumed_fleet_notices_dropped_total": inAFleet,
}

const inAFleet = "a host in a fleet"

// dashboardQueries returns every query of the dashboard and of the alerts.
func dashboardQueries(t *testing.T) []string {
	t.Helper()
	var queries []string
	data, err := os.ReadFile("../../docs/grafana.json")
	require.NoError(t, err)
	var dashboard any
	require.NoError(t, json.Unmarshal(data, &dashboard))
	var walk func(any)
	walk = func(node any) {
		switch node := node.(type) {
		case map[string]any:
			for key, below := range node {
				if query, isText := below.(string); isText && key == "expr" {
					queries = append(queries, query)
				}
				walk(below)
			}
		case []any:
			for _, below := range node {
				walk(below)
			}
		}
	}
	walk(dashboard)
	require.Greater(t, len(queries), 15, "the dashboard was read")
	return queries
}

// busyBox is a daemon with everything that the dashboard shows: a session that was continued, one that
// gave up, its notice, a limit that lasts.
func busyBox(t *testing.T) *box {
	b := newBox(t)
	b.busy()
	return b
}

func (b *box) busy() {
	b.t.Helper()
	hook := newHook(b.t)
	b.write(configFile, bot+"[backoff]\nbase_delay = \"100ms\"\nmax_retries = 1\njitter = false\n[resume]\nstagger = \"0s\"\n[http]\nlisten = \"127.0.0.1:0\"\n"+
		"[notify]\ngroup_wait = \"0s\"\n[[notify.webhook]]\nname = \"ops\"\nurl = \""+hook.URL+"\"\n")
	b.write("bot/resume.sh", `[ "$1" = s-1 ] && echo "step 2" >> logs/$1.log && exit 0; echo "no luck"; exit 7`)
	b.start()
	b.write("bot/logs/s-1.log", "step 1\nrate limited\n")
	b.until("a session is continued", func() bool { return b.session("s-1").State == resume.Watching && len(b.session("s-1").Past) > 0 })
	b.write("bot/logs/s-2.log", "step 1\nrate limited\n")
	b.untilState("s-2", resume.GaveUp)
	b.until("the notice arrives", func() bool { return len(hook.got()) > 0 })
	b.until("and is counted", func() bool { return b.channel().Delivered > 0 })
}

// busyHost is a daemon with everything that only some daemons have: it is in a fleet and has tried a
// limit for it, an agent has reported its usage, and one account uses two providers.
func (h *hubBox) busyHost() *box {
	h.t.Helper()
	b := h.host("one")
	b.write(codexRollout, usedRollout(h.t, b.path("bot"), time.Now().Add(3*time.Hour), 42, 82))
	b.write("bin/opencode", "#!/bin/sh\nsleep 600\n")
	db := b.opencodeDB()
	for provider, id := range map[string]string{"anthropic": "ses_1", "openai": "ses_2"} {
		b.write(id+"/main.go", "package main\n")
		db.session(id, "", b.path(id))
		db.refusedBy(provider, "msg_"+id, id, "The usage limit has been reached", `"retry-after":"10800"`)
	}
	b.start()
	b.until("it is in the fleet", b.inFleet("connected", 1))
	b.write("bot/logs/s-1.log", "step 1\nrate limited, retry in 1s\n")
	b.until("a limit was tried", func() bool { return figure([]*box{b}, "resumed_fleet_probes_total", "moved") == 1 })
	return b
}

var (
	namedMetric = regexp.MustCompile(`\b(?:resumed|process)_[a-z_]+`)
	labelled    = regexp.MustCompile(`\b((?:resumed|process)_[a-z_]+)\{([^}]*)\}`)
)

// Every metric and every label in the dashboard or an alert is exported.
func TestTheDashboardNamesWhatTheDaemonExports(t *testing.T) {
	b := busyBox(t)
	exported := b.scrape()
	described, err := os.ReadFile("../../docs/metrics.md")
	require.NoError(t, err)
	alerts, err := os.ReadFile("../../docs/alerts.yml")
	require.NoError(t, err)
	for _, query := range append(dashboardQueries(t), string(alerts)) {
		for _, name := range namedMetric.FindAllString(query, -1) {
			name = strings.TrimSuffix(name, "_bucket")
			if conditional[name] != "" {
				require.Contains(t, string(described), name)
				continue
			}
			require.Contains(t, exported, name, query)
		}
		for _, found := range labelled.FindAllStringSubmatch(query, -1) {
			family := exported[strings.TrimSuffix(found[1], "_bucket")]
			if family == nil {
				continue
			}
			var names []string
			for _, label := range family.GetMetric()[0].GetLabel() {
				names = append(names, label.GetName())
			}
			names = append(names, "instance", "job") // Prometheus adds these
			for matcher := range strings.SplitSeq(found[2], ",") {
				name := regexp.MustCompile(`^\s*\w+`).FindString(matcher)
				require.Contains(t, names, strings.TrimSpace(name), "%s in %s", found[1], query)
			}
		}
	}
}

// A real Prometheus with two daemons, one of them in a fleet, has data for every query of the
// dashboard.
func TestPrometheusAnswersTheDashboard(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: a Prometheus is started")
	}
	server, err := exec.LookPath("prometheus")
	if err != nil {
		t.Skip("SKIPPED: no prometheus is installed")
	}
	h := newHubBox(t)
	h.serve()
	b, other := h.box, h.busyHost()
	b.busy()
	rules, err := filepath.Abs("../../docs/alerts.yml")
	require.NoError(t, err)
	b.write("prometheus.yml", fmt.Sprintf("global:\n  scrape_interval: 1s\n  evaluation_interval: 1s\nrule_files: [%q]\nscrape_configs:\n- job_name: resumed\n  static_configs:\n  - targets: [%q, %q]\n", rules, b.status().Daemon.HTTP, other.status().Daemon.HTTP))
	address := fleettest.Addresses(t, 1)[0]
	cmd := exec.Command(server, "--config.file="+b.path("prometheus.yml"), "--storage.tsdb.path="+b.path("tsdb"), "--web.listen-address="+address)
	cmd.Env = b.env()
	log, err := os.Create(b.path("prometheus.log"))
	require.NoError(t, err)
	cmd.Stdout, cmd.Stderr = log, log
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		log.Close()
	})
	// The default of a query would hide that there is no data.
	meant := strings.NewReplacer("$instance", ".*", "$__rate_interval", "1m", " or vector(0)", "")
	answered := func(query string) bool {
		var found struct{ Result []any }
		return askPrometheus(t, address, "query?query="+url.QueryEscape(meant.Replace(query)), &found) && len(found.Result) > 0
	}
	b.until("Prometheus has asked both daemons", func() bool { return answered("count(resumed_build_info) == 2") })
	b.reconfigure(b.read(configFile) + "[log]\nlevel = \"debug\"\n") // the dashboard marks it
	queries := dashboardQueries(t)
	slices.SortFunc(queries, func(x, y string) int { // a mark is visible for a minute
		return strings.Count(y, "changes(") - strings.Count(x, "changes(")
	})
	for _, query := range queries {
		b.until("Prometheus answers "+query, func() bool { return answered(query) })
	}
	b.until("it has tried all alerts", func() bool {
		var loaded struct {
			Groups []struct {
				Rules []struct{ Name, Health, LastError string }
			}
		}
		tried := askPrometheus(t, address, "rules", &loaded) && len(loaded.Groups) == 1
		for _, group := range loaded.Groups {
			for _, rule := range group.Rules {
				require.NotEqual(t, "err", rule.Health, "%s: %s", rule.Name, rule.LastError)
				tried = tried && rule.Health == "ok"
			}
		}
		return tried
	})
}

// askPrometheus reports whether Prometheus answers yet, and decodes the answer.
func askPrometheus(t *testing.T, address, what string, into any) bool {
	t.Helper()
	answer, err := http.Get("http://" + address + "/api/v1/" + what)
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusServiceUnavailable {
		return false // it is still starting
	}
	var said struct {
		Status string
		Error  string
		Data   json.RawMessage
	}
	require.NoError(t, json.NewDecoder(answer.Body).Decode(&said))
	require.Equal(t, "success", said.Status, "%s: %s", what, said.Error)
	require.NoError(t, json.Unmarshal(said.Data, into))
	return true
}
