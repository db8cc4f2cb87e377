package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/notify"
	"resumed/internal/resume"
)

// outageIn is a policy that waits for the end of an outage in the time of a test.
const outageIn = `
[backoff]
max_retries = 2
[[backoff.policy]]
name = "outage"
base_delay = "200ms"
max_delay = "500ms"
max_retries = 0
max_elapsed = "%s"
`

const outageBot = `
[notify]
group_wait = "0s"
[[agent]]
name = "mybot"
kind = "custom"
files = ["~/bot/logs/*.log"]
session = '([^/]+)\.log$'
cwd = "~/bot"
limit = ['(?P<class>overloaded)$', '(?P<class>rate_limit)$']
progress = ['^step ']
resume = ["sh", "resume.sh"]
`

// An outage is tried for longer than anything else: a person is notified once, with the time until
// which it is tried; then the session gives up.
func TestAnOutageIsRiddenOutAndToldOnce(t *testing.T) {
	b, hook := newBox(t), newHook(t)
	b.write(configFile, strings.ReplaceAll(outageIn, "%s", "12s")+outageBot+"[[notify.webhook]]\nname = \"ops\"\nurl = \""+hook.URL+"\"\n")
	b.write("bot/resume.sh", `echo overloaded >> logs/s-1.log; exit 1`)
	b.start()
	b.write("bot/logs/s-1.log", "step 1\noverloaded\n")
	b.until("a person is told", func() bool { return len(hook.got()) > 0 })
	told := hook.got()[0].Sessions[0]
	require.Equal(t, resume.Waiting, told.State)
	require.Equal(t, 2, told.Attempt, "after the tries of [backoff]")
	require.Contains(t, told.Reason, "still tried after 2 resumes, until "+told.GivesUpAt.Format(time.RFC3339))
	require.Contains(t, told.Reason, "provider overloaded") // first, or after the exit of the command, whichever was observed last
	require.Contains(t, hook.got()[0].Title, "is still being tried")
	require.Zero(t, told.MaxRetries)
	b.untilState("s-1", resume.GaveUp)
	b.until("that it gave up is told", func() bool { return len(hook.got()) == 2 })
	require.Equal(t, notify.GaveUp, hook.got()[1].Event)
	require.Greater(t, b.session("s-1").Attempt, 2)
}

// An outage has the policy outage as long as the user sets no waits; then theirs hold for it too.
func TestTheUsersWaitsHoldInAnOutage(t *testing.T) {
	b := newBox(t)
	b.write(configFile, outageBot)
	b.write("bot/resume.sh", `echo overloaded >> logs/s-1.log; exit 1`)
	b.start()
	b.write("bot/logs/s-1.log", "step 1\noverloaded\n")
	s := b.untilState("s-1", resume.Waiting)
	require.Equal(t, "outage", s.Policy)
	require.InDelta(t, 12*3600, s.GivesUpAt.Sub(*s.LimitedAt).Seconds(), 1)
	out, errOut, code := b.run("status", "s-1")
	require.Zero(t, code, errOut)
	require.Regexp(t, `(?m)^policy +outage\ngives up +.*\d\d:\d\d`, out)

	slow := "[backoff]\nbase_delay = \"10m\"\nmax_delay = \"1h\"\nmax_retries = 2\njitter = false\n"
	b.reconfigure(slow + outageBot)
	s = b.session("s-1")
	require.Equal(t, "default", s.Policy)
	require.InDelta(t, 600, s.NextAt.Sub(*s.LimitedAt).Seconds(), 1)
	out, _, _ = b.run("status", "s-1")
	require.Regexp(t, `(?m)^policy +default\ngives up +after 2 resumes without progress$`, out)
	out, _, _ = b.run("status", "--json")
	require.Contains(t, out, `"gives_up_at":null`)
	out, _, _ = b.run("backoff")
	require.Contains(t, out, "It gives up after 2 tries without progress.\nIt counts for rate_limit, usage_limit, overloaded, server_error, network, ")

	b.reconfigure(strings.ReplaceAll(slow, "10m", "100ms") + outageBot)
	require.Equal(t, 2, b.untilState("s-1", resume.GaveUp).Attempt)
}

func TestTheOutagePolicyIsPrinted(t *testing.T) {
	b := newBox(t)
	out, errOut, code := b.run("backoff", "--policy", "outage", "--json", "--seed", "1")
	require.Zero(t, code, errOut)
	var printed struct {
		Policy map[string]any
		Delays []struct {
			Base float64 `json:"base_seconds"`
			Min  float64 `json:"min_seconds"`
			Max  float64 `json:"max_seconds"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(out), &printed))
	require.Equal(t, "12h", printed.Policy["max_elapsed"])
	require.EqualValues(t, 0, printed.Policy["max_retries"])
	require.LessOrEqual(t, len(printed.Delays), 60)
	require.Greater(t, len(printed.Delays), 40)
	require.EqualValues(t, 30, printed.Delays[0].Base)
	require.EqualValues(t, 720, printed.Delays[9].Min)
	require.EqualValues(t, 1080, printed.Delays[9].Max)
}

// The current problem is always named first: a limit of hours ago does not help to fix it.
func TestTheLastFailureIsSaidFirstEverywhere(t *testing.T) {
	b, hook := newBox(t), newHook(t)
	b.write(configFile, "[backoff]\nbase_delay = \"100ms\"\nmax_retries = 2\n"+served+outageBot+"[[notify.webhook]]\nname = \"ops\"\nurl = \""+hook.URL+"\"\n")
	b.write("bot/resume.sh", `echo "boom: cannot connect" >&2; exit 3`)
	b.start()
	b.write("bot/logs/s-1.log", "step 1\nrate_limit\n")
	b.untilState("s-1", resume.GaveUp)
	s := b.session("s-1")
	require.Regexp(t, `^exit status 3: boom: cannot connect; gave up after 2 resumes without progress; stopped by rate limit: rate_limit$`, s.Reason)
	b.until("it is told", func() bool { return len(hook.got()) == 1 })
	require.Contains(t, hook.got()[0].Text, "xit status 3: boom: cannot connect")
	out, _, _ := b.run("status")
	require.Contains(t, out, "exit status 3: boom: cannot connect")
	require.Equal(t, "rate_limit", s.Text, "the limit's own words are there still")
}

// An account is not shown as free while one of its sessions waits for a named time, even if others
// move.
func TestAnAccountIsNotFreeWhileAWindowLiesAhead(t *testing.T) {
	b := newBox(t)
	b.write(configFile, served)
	b.write("bin/claude", callsOnly)
	b.start()
	reset := time.Now().Add(time.Hour)
	b.write(claudeTranscript, promptLine(claudeSession, b.path("bot"), "go")+transcriptLine(claudeSession, b.path("bot"), time.Now(), map[string]any{
		"type": "assistant", "isApiErrorMessage": true, "error": "rate_limit", "apiErrorStatus": 429,
		"quotaLimits": map[string]any{"status": "rejected", "resetsAt": reset.Unix(), "rateLimitType": "five_hour"},
		"message": map[string]any{
			"role": "assistant", "model": "<synthetic>",
			"content": []any{map[string]any{"type": "text", "text": "You've hit your session limit"}},
		},
	}))
	b.untilState(claudeSession, resume.Waiting)
	b.appendTo(otherTranscript, promptLine(otherSession, b.path("tmp"), "this")+answerLine(otherSession, b.path("tmp"), "Done."))
	b.until("it is seen", func() bool {
		out, _, _ := b.run("status", "--all")
		return strings.Contains(out, otherSession[:4])
	})
	accounts := b.status().Accounts
	require.Len(t, accounts, 1)
	require.EqualValues(t, resume.Open, accounts[0].State)
	require.NotNil(t, accounts[0].ResetAt)
	require.Equal(t, reset.Unix(), accounts[0].ResetAt.Unix())
	require.EqualValues(t, 1, value(b.scrape(), "resumed_account_open", "account", accounts[0].Name))
}
