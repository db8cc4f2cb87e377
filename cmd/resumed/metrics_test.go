package main

import (
	"io"
	"net/http"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

// scrape reads the metrics as Prometheus does.
func (b *box) scrape() map[string]*dto.MetricFamily {
	b.t.Helper()
	body, code := b.get("/metrics")
	require.Equal(b.t, http.StatusOK, code)
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(body))
	require.NoError(b.t, err)
	return families
}

func (b *box) get(path string) (string, int) {
	b.t.Helper()
	address := ""
	b.until("metrics are served", func() bool { address = b.status().Daemon.HTTP; return address != "" })
	answer, err := http.Get("http://" + address + path)
	require.NoError(b.t, err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	require.NoError(b.t, err)
	return string(body), answer.StatusCode
}

// value returns a counter, a gauge or the sample count of a histogram; -1 if there is none with these
// labels.
func value(families map[string]*dto.MetricFamily, name string, labels ...string) float64 {
	family := families[name]
	if family == nil {
		return -1
	}
	for _, m := range family.Metric {
		have := make(map[string]string)
		for _, pair := range m.Label {
			have[pair.GetName()] = pair.GetValue()
		}
		match := true
		for i := 0; i < len(labels); i += 2 {
			match = match && have[labels[i]] == labels[i+1]
		}
		switch {
		case !match:
		case m.Counter != nil:
			return m.Counter.GetValue()
		case m.Gauge != nil:
			return m.Gauge.GetValue()
		case m.Histogram != nil:
			return float64(m.Histogram.GetSampleCount())
		}
	}
	return -1
}

const served = "[http]\nlisten = \"127.0.0.1:0\"\n"

func TestEveryMetricMoves(t *testing.T) {
	b, hook := newBox(t), newHook(t)
	cfg := bot + served + `
[resume]
stagger = "0s"
[backoff]
base_delay = "100ms"
jitter = false
max_retries = 1
[notify]
group_wait = "0s"
[[notify.webhook]]
name = "ops"
url = "` + hook.URL + `"
[[notify.webhook]]
name = "dead"
url = "http://127.0.0.1:9/"
`
	b.write(configFile, cfg)
	b.write("bot/resume.sh", `case $1 in good) echo "step 2" >> logs/$1.log; sleep 0.2;; *) exit 3;; esac`)
	b.start()

	fresh := b.scrape()
	require.EqualValues(t, 1, value(fresh, "resumed_build_info"))
	require.EqualValues(t, 0, value(fresh, "resumed_sessions", "agent", "mybot", "state", "waiting"))
	for _, born := range [][]string{
		{"resumed_interruptions_total", "agent", "mybot", "class", "rate_limit"},
		{"resumed_resumes_total", "agent", "mybot", "outcome", "recovered"},
		{"resumed_give_ups_total", "agent", "mybot"},
		{"resumed_notifications_total", "name", "ops", "outcome", "delivered"},
	} {
		require.EqualValues(t, 0, value(fresh, born[0], born[1:]...), "a counter that is born at 1 is not seen to rise: %s", born[0])
	}
	require.EqualValues(t, 0, value(fresh, "resumed_detection_seconds"))
	require.EqualValues(t, 0, value(fresh, "resumed_wait_seconds"))
	require.EqualValues(t, 0, value(fresh, "resumed_notifications_pending"))
	require.EqualValues(t, 1, value(fresh, "resumed_config_last_reload_successful"))
	loaded := value(fresh, "resumed_config_last_reload_success_timestamp_seconds")
	require.Positive(t, loaded)
	require.NotNil(t, fresh["go_goroutines"])

	b.write("bot/logs/far.log", "step 1\nrate limited, retry in 1h\n")
	b.untilState("far", resume.Waiting)
	waiting := b.scrape()
	require.EqualValues(t, 1, value(waiting, "resumed_sessions", "agent", "mybot", "state", "waiting"))
	require.EqualValues(t, 1, value(waiting, "resumed_interruptions_total", "agent", "mybot", "class", "rate_limit"))
	require.EqualValues(t, 1, value(waiting, "resumed_account_open", "account", "mybot:default"))
	_, _, code := b.run("cancel", "far")
	require.Zero(t, code)

	b.write("bot/logs/good.log", "step 1\n")
	b.until("it is seen", func() bool {
		return value(b.scrape(), "resumed_sessions", "agent", "mybot", "state", "watching") == 2
	})
	b.appendTo("bot/logs/good.log", "rate limited\n")
	b.until("it recovers", func() bool {
		return value(b.scrape(), "resumed_resumes_total", "agent", "mybot", "outcome", "recovered") == 1
	})
	require.EqualValues(t, 0, value(b.scrape(), "resumed_account_open", "account", "mybot:default"), "it moved: nothing is limited")
	b.write("bot/logs/bad.log", "step 1\nrate limited\n")
	b.untilState("bad", resume.GaveUp)
	b.untilState("good", resume.Watching)
	b.until("deliveries end", func() bool { return len(hook.got()) == 1 })
	b.until("they are counted", func() bool {
		now := b.scrape()
		return value(now, "resumed_notifications_total", "name", "ops", "outcome", "delivered") == 1 &&
			value(now, "resumed_resumes_total", "agent", "mybot", "outcome", "recovered") == 1
	})
	after := b.scrape()
	require.EqualValues(t, 1, value(after, "resumed_sessions", "agent", "mybot", "state", "gave_up"))
	require.EqualValues(t, 3, value(after, "resumed_interruptions_total", "agent", "mybot", "class", "rate_limit"))
	require.EqualValues(t, 1, value(after, "resumed_resumes_total", "agent", "mybot", "outcome", "recovered"))
	require.EqualValues(t, 1, value(after, "resumed_resumes_total", "agent", "mybot", "outcome", "failed"))
	require.EqualValues(t, 1, value(after, "resumed_give_ups_total", "agent", "mybot"))
	require.EqualValues(t, 2, value(after, "resumed_wait_seconds"))
	require.Positive(t, value(after, "resumed_detection_seconds"))
	require.EqualValues(t, 1, value(after, "resumed_notifications_pending"))

	b.write(configFile, cfg+"[log]\nlevel = \"loud\"\n")
	b.until("the bad file shows", func() bool { return value(b.scrape(), "resumed_config_last_reload_successful") == 0 })
	require.InDelta(t, loaded, value(b.scrape(), "resumed_config_last_reload_success_timestamp_seconds"), 0.001)
	b.write(configFile, cfg+"[log]\nlevel = \"warn\"\n")
	b.until("the mended file shows", func() bool { return value(b.scrape(), "resumed_config_last_reload_successful") == 1 })
	require.Greater(t, value(b.scrape(), "resumed_config_last_reload_success_timestamp_seconds"), loaded)
}

func TestHTTPIsOffUntilAskedForAndFollowsTheFile(t *testing.T) {
	b := newBox(t)
	b.write(configFile, bot)
	b.start()
	require.Empty(t, b.status().Daemon.HTTP)
	b.write(configFile, bot+served)
	body, code := b.get("/healthz")
	require.Equal(t, http.StatusOK, code)
	require.Equal(t, "ok\n", body)
	first := b.status().Daemon.HTTP
	require.True(t, strings.HasPrefix(first, "127.0.0.1:"), first)

	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+first+"/metrics", nil)
	require.NoError(t, err)
	request.Host = "evil.example"
	answer, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusForbidden, answer.StatusCode, "a name that was pointed here")
	_, code = b.get("/v1/status")
	require.Equal(t, http.StatusNotFound, code, "the socket's orders are not to be had here")

	b.write(configFile, bot)
	b.until("it is off again", func() bool { return b.status().Daemon.HTTP == "" })
	_, err = http.Get("http://" + first + "/healthz")
	require.Error(t, err)

	// A port that is in use is reported, and does not stop anything else.
	taken := newHook(t)
	b.write(configFile, bot+"[http]\nlisten = \""+strings.TrimPrefix(taken.URL, "http://")+"\"\n")
	b.until("the problem shows", func() bool { return len(b.status().Daemon.Problems) > 0 })
	require.Contains(t, b.status().Daemon.Problems[0], " is in use by another program")
}
