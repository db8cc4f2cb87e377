package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/notify"
)

func TestEachRetryIsToldWithItsNumberItsReasonAndItsTime(t *testing.T) {
	b, hook := newBox(t), newHook(t)
	b.write(configFile, bot+`
[backoff]
base_delay = "100ms"
max_delay = "1s"
jitter = false
[notify]
events = ["retrying"]
group_wait = "0s"
[[notify.webhook]]
name = "ops"
url = "`+hook.URL+`"
`)
	b.write("bot/resume.sh", recordCall+`[ $(wc -l < calls) -ge 2 ] || { echo "rate limited" >> logs/$1.log; exit 1; }; sleep 0.3; echo "step 2" >> logs/$1.log`)
	b.start()
	b.write("bot/logs/s-1.log", "rate limited\n")
	b.until("both retries are told", func() bool { return len(hook.got()) == 2 })
	for i, notice := range hook.got() {
		require.Equal(t, notify.Retrying, notice.Event)
		require.Contains(t, notice.Title, fmt.Sprintf("try %d of 5", i+1))
		require.Contains(t, strings.ToLower(notice.Text), "rate limit", "why")
		require.Contains(t, notice.Text, notice.Sessions[0].Attempts[i].StartedAt.UTC().Format("15:04:05"), "when")
	}
}
