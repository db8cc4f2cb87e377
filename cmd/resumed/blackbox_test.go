package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/limit"
	"resumed/internal/notify"
	"resumed/internal/resume"
)

const configFile = ".config/resumed/resumed.toml"

func TestLimitedSessionIsResumedOnceAndWatchedAgain(t *testing.T) {
	b := newBox(t)
	b.write(configFile, "[resume]\nstagger = \"0s\"\n"+bot)
	b.write("bot/resume.sh", recordCall+`sleep 0.2; echo "step 2" >> logs/$1.log`)
	b.start()

	limited := time.Now()
	b.write("bot/logs/s-1.log", "step 1\nerror: rate limited, retry in 2s\n")
	waiting := b.untilState("s-1", resume.Waiting)
	require.Equal(t, limit.RateLimit, waiting.Class)
	require.NotNil(t, waiting.ResetAt)
	require.Equal(t, b.path("bot"), waiting.Cwd)
	require.Equal(t, "mybot:default", waiting.Account)

	after := b.untilState("s-1", resume.Watching)
	require.Empty(t, after.Attempts, "movement forgives")
	calls := b.calls()
	require.Len(t, calls, 1)
	require.Contains(t, calls[0], fmt.Sprintf("id=s-1 prompt=continue cwd=%[1]s PWD=%[1]s", b.path("bot")))
	waited := b.callTimes()[0] - float64(limited.UnixNano())/1e9
	require.GreaterOrEqual(t, waited, 2.0)
	require.Less(t, waited, 25.0, "as it was told, not by backoff")

	b.laterIsResumed()
	require.Equal(t, calls, b.calls()[:len(b.calls())-1], "it is resumed once")
	out, _, code := b.run("logs", "s-1")
	require.Zero(t, code)
	require.Contains(t, out, "--- resume 1 ---")
}

func TestSessionThatNeverRecoversIsGivenUpOnceAndRevived(t *testing.T) {
	b, hook := newBox(t), newHook(t)
	b.write(configFile, bot+`
[backoff]
base_delay = "400ms"
max_delay = "10s"
max_retries = 3
jitter = false
[notify]
group_wait = "0s"
[[notify.webhook]]
name = "ops"
url = "`+hook.URL+`"
`)
	b.write("bot/resume.sh", recordCall+`echo "rate limited" >> logs/$1.log; echo "no luck" ; exit 7`)
	b.start()
	b.write("bot/logs/s-1.log", "step 1\nrate limited\n")

	gone := b.untilState("s-1", resume.GaveUp)
	require.Equal(t, 3, gone.Attempt)
	require.Len(t, gone.Attempts, 3)
	require.Nil(t, gone.NextAt)
	times := b.callTimes()
	require.Len(t, times, 3)
	for i, wait := range []float64{0.4, 0.8, 1.6} {
		require.InDelta(t, wait, gone.Attempts[i].DelaySeconds, 1e-6, "the policy's wait %d", i+1)
	}
	require.Greater(t, times[1]-times[0], 0.7, "the second wait was waited")
	require.Greater(t, times[2]-times[1], 1.5, "and the third")

	b.until("the notice arrives", func() bool { return len(hook.got()) > 0 })
	notice := hook.got()[0]
	require.Equal(t, notify.GaveUp, notice.Event)
	require.Equal(t, "mybot:default", notice.Account)
	require.Len(t, notice.Sessions, 1)
	require.Len(t, notice.Sessions[0].Attempts, 3, "the notice tells what was tried")
	require.Equal(t, "resumed retry s-1", notice.RetryCommand)
	require.Contains(t, b.logged(), "gave up")

	b.write("bot/resume.sh", recordCall+`echo "step 2" >> logs/$1.log`)
	out, errOut, code := b.run("retry", "s-")
	require.Zero(t, code, errOut)
	require.Contains(t, out, "due now")
	b.untilState("s-1", resume.Watching)
	require.Len(t, b.calls(), 4)
	require.Len(t, hook.got(), 1, "gave up was told once")
}

func TestConfigurationChangesWhileASessionWaits(t *testing.T) {
	b := newBox(t)
	policy := func(base string) string {
		return bot + "[backoff]\njitter = false\nbase_delay = \"" + base + "\"\nmax_delay = \"1h\"\n"
	}
	b.write(configFile, policy("10m"))
	b.write("bot/resume.sh", recordCall+`echo "step 2" >> logs/$1.log`)
	b.start()
	b.write("bot/logs/s-1.log", "rate limited\n")
	before := b.untilState("s-1", resume.Waiting)
	require.InDelta(t, 600, before.NextAt.Sub(*before.LimitedAt).Seconds(), 1)

	b.write(configFile, policy("20m"))
	b.until("the wait is computed anew", func() bool {
		s := b.session("s-1")
		return s.NextAt != nil && s.NextAt.Sub(*s.LimitedAt) > 19*time.Minute
	})

	b.write(configFile, policy("5s")+"nonsense = 1\n")
	b.until("status shows the error", func() bool { return !b.status().Daemon.Config.OK })
	require.Contains(t, *b.status().Daemon.Config.Error, "nonsense")
	out, _, _ := b.run("status")
	require.Contains(t, out, "is not used")
	require.InDelta(t, 1200, b.session("s-1").NextAt.Sub(*before.LimitedAt).Seconds(), 1, "a bad file changes nothing")

	b.write(configFile, policy("100ms"))
	b.untilState("s-1", resume.Watching)
	require.True(t, b.status().Daemon.Config.OK)
	require.Len(t, b.calls(), 1)
}

func TestKillBetweenLimitAndResumeKeepsTheWait(t *testing.T) {
	b := newBox(t)
	b.write(configFile, "[resume]\nstagger = \"0s\"\n"+bot)
	b.write("bot/resume.sh", recordCall+`echo "step 2" >> logs/$1.log`)
	b.start()
	b.write("bot/logs/s-1.log", "step 1\nrate limited, retry in 8s\n")
	before := b.untilState("s-1", resume.Waiting)
	b.kill(syscall.SIGKILL)
	b.start()
	after := b.untilState("s-1", resume.Waiting) // from disk, or from the line that is read again
	require.Equal(t, before.NextAt, after.NextAt)
	b.untilState("s-1", resume.Watching)
	b.laterIsResumed()
	require.Len(t, b.calls(), 2, "once, and the later one")
}

func TestKillWhileTheResumeRunsAdoptsIt(t *testing.T) {
	b := newBox(t)
	b.write(configFile, bot)
	b.write("bot/resume.sh", recordCall+`while [ ! -e go ]; do sleep 0.05; done; echo "step 2" >> logs/$1.log`)
	b.start()
	b.write("bot/logs/s-1.log", "rate limited, retry in 0s\n")
	b.until("the resume runs", func() bool { return len(b.calls()) == 1 })
	b.untilState("s-1", resume.Resuming)
	status, _, _ := b.run("status", "--json")
	require.Contains(t, strings.Join(strings.Fields(status), ""), `"outcome":null`, "it runs")
	b.kill(syscall.SIGKILL)
	b.start()
	require.Equal(t, resume.Resuming, b.session("s-1").State)
	b.write("bot/go", "")
	b.untilState("s-1", resume.Watching)
	require.Len(t, b.calls(), 1, "an action is never sent twice")
}

func TestStopLeavesTheAgentWorking(t *testing.T) {
	b := newBox(t)
	b.write(configFile, bot)
	b.write("bot/resume.sh", recordCall+`while [ ! -e go ]; do sleep 0.05; done; echo "step 2" >> logs/$1.log; touch finished`)
	b.start()
	b.write("bot/logs/s-1.log", "rate limited, retry in 0s\n")
	b.until("the resume runs", func() bool { return len(b.calls()) == 1 })
	require.Zero(t, b.kill(syscall.SIGTERM), "a clean stop")
	b.write("bot/go", "")
	b.until("the agent finishes", func() bool { _, err := os.Stat(b.path("bot/finished")); return err == nil })
	b.start()
	b.untilState("s-1", resume.Watching)
	require.Len(t, b.calls(), 1, "the transcript moved, so nothing is sent again")
}

// A transcript that Claude Code 2.1.325 wrote at a usage limit, with times shifted to now.
func TestClaudeUsageLimitWaitsForItsReset(t *testing.T) {
	b := newBox(t)
	b.start()
	data, err := os.ReadFile(filepath.Join("testdata", "claude-usage-limit.jsonl"))
	require.NoError(t, err)
	reset := time.Now().Add(2 * time.Hour).Truncate(time.Second)
	shifted, id := shiftTranscript(t, string(data), reset, b.path("bot"))
	b.write(".claude/projects/-src-shop/"+id+".jsonl", shifted)

	s := b.untilState(id, resume.Waiting)
	require.Equal(t, "claude-code", s.Agent)
	require.Equal(t, "claude-code:default", s.Account)
	require.Equal(t, limit.UsageLimit, s.Class)
	require.True(t, reset.Equal(*s.ResetAt), s.ResetAt)
	require.Equal(t, time.Minute, s.NextAt.Sub(reset), "the margin")
	require.Equal(t, b.path("bot"), s.Cwd)
	require.Equal(t, 1, s.Windows)

	out, _, code := b.run("explain", "--json", b.path(".claude/projects/-src-shop/"+id+".jsonl"))
	require.Zero(t, code)
	var x map[string]any
	require.NoError(t, json.Unmarshal([]byte(out), &x))
	require.Equal(t, "usage_limit", x["class"])
	require.Equal(t, "structured", x["reset_source"])
	require.Equal(t, "wait", x["action"])
	require.Equal(t, id, x["session"])
}

// shiftTranscript shifts the times of a captured transcript: it was written now, and its limit resets
// at reset.
func shiftTranscript(t *testing.T, text string, reset time.Time, cwd string) (shifted, session string) {
	var lines []string
	for line := range strings.Lines(text) {
		var record map[string]any
		decoder := json.NewDecoder(strings.NewReader(line))
		decoder.UseNumber()
		require.NoError(t, decoder.Decode(&record))
		if _, ok := record["timestamp"]; ok {
			record["timestamp"] = time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
		}
		if _, ok := record["cwd"]; ok {
			record["cwd"] = cwd
		}
		if id, ok := record["sessionId"].(string); ok {
			session = id
		}
		shiftResets(record, reset)
		out, err := json.Marshal(record)
		require.NoError(t, err)
		lines = append(lines, string(out)+"\n")
	}
	return strings.Join(lines, ""), session
}

func shiftResets(value any, reset time.Time) {
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			if key == "resetsAt" {
				value[key] = reset.Unix()
				continue
			}
			shiftResets(inner, reset)
		}
	case []any:
		for _, inner := range value {
			shiftResets(inner, reset)
		}
	}
}

func TestOneDaemonAtATime(t *testing.T) {
	b := newBox(t)
	b.start()
	began := time.Now()
	_, errOut, code := b.run("run")
	require.Equal(t, exitFailed, code)
	require.Less(t, time.Since(began), 15*time.Second, "a daemon that answers is not waited for")
	require.Contains(t, errOut, fmt.Sprint(b.proc.Process.Pid), "it says who holds the state")
	require.Contains(t, errOut, "Try:")
}

func TestConfigCommands(t *testing.T) {
	b := newBox(t)
	out, _, code := b.run("config", "init")
	require.Zero(t, code)
	require.Contains(t, out, b.path(configFile))
	_, errOut, code := b.run("config", "init")
	require.Equal(t, exitFailed, code)
	require.Contains(t, errOut, "was not changed")
	out, errOut, code = b.run("config", "check")
	require.Zero(t, code, errOut)
	require.Contains(t, out, "ok")

	b.write("bad.toml", "[backoff]\nbase_delay = 30\nmax_delay = \"10s\"\nbsae = \"1s\"\n[log]\nlevel = \"loud\"\n")
	_, errOut, code = b.run("config", "check", b.path("bad.toml"))
	require.Equal(t, exitUsage, code)
	for _, want := range []string{"base_delay", "bsae", "log.level", "bad.toml:2", "bad.toml:4", "bad.toml:6"} {
		require.Contains(t, errOut, want, "all problems at once")
	}

	out, _, code = b.run("config", "show", "--json")
	require.Zero(t, code)
	require.True(t, json.Valid([]byte(out)))
}

func TestPauseHoldsAndSurvivesARestart(t *testing.T) {
	b := newBox(t)
	b.write(configFile, bot)
	b.write("bot/resume.sh", recordCall+`echo "step 2" >> logs/$1.log`)
	b.start()
	_, _, code := b.run("pause")
	require.Zero(t, code)
	b.write("bot/logs/s-1.log", "rate limited, retry in 0s\n")
	b.until("it is due and held", func() bool { return strings.Contains(b.session("s-1").Reason, "paused") })
	b.kill(syscall.SIGKILL)
	b.start()
	require.True(t, b.status().Daemon.Paused)
	require.Empty(t, b.calls())
	_, _, code = b.run("unpause")
	require.Zero(t, code)
	b.untilState("s-1", resume.Watching)
	require.Len(t, b.calls(), 1)
}

func TestUnpauseOfAWorkingSessionSurvivesARestart(t *testing.T) {
	b := newBox(t)
	b.write(configFile, bot)
	b.start()
	b.write("bot/logs/s-1.log", "step 1\n")
	paused := func() bool { return b.session("s-1").Paused }
	b.until("it is known", func() bool { _, _, code := b.run("pause", "s-1"); return code == exitDone })
	b.until("it is paused", paused)
	_, _, code := b.run("unpause", "s-1")
	require.Zero(t, code)
	b.kill(syscall.SIGKILL)
	b.start()
	require.False(t, paused())
}

func TestCancelForgetsThisInterruptionOnly(t *testing.T) {
	b := newBox(t)
	b.write(configFile, bot)
	b.start()
	b.write("bot/logs/s-1.log", "rate limited, retry in 1h\n")
	b.untilState("s-1", resume.Waiting)
	_, _, code := b.run("cancel", "s-1")
	require.Zero(t, code)
	require.Equal(t, resume.Watching, b.session("s-1").State)
	b.kill(syscall.SIGTERM)
	b.start()
	require.Equal(t, resume.Watching, b.session("s-1").State, "the line is not read again")
	b.appendTo("bot/logs/s-1.log", "rate limited, retry in 1h\n")
	b.untilState("s-1", resume.Waiting)
}

func TestDryRunStartsNothingAndLeavesNothing(t *testing.T) {
	b := newBox(t)
	b.write(configFile, bot)
	b.write("bot/resume.sh", recordCall)
	b.write("bot/logs/s-1.log", "rate limited, retry in 0s\n")
	b.proc = b.command("run", "--dry-run")
	require.NoError(t, b.proc.Start())
	t.Cleanup(func() { b.kill(syscall.SIGKILL) })
	b.until("it says what it would do", func() bool {
		return strings.Contains(b.logged(), "would have run") && strings.Contains(b.logged(), "sh ./resume.sh s-1 continue")
	})
	out, _, _ := b.run("status")
	require.True(t, strings.HasPrefix(out, "dry run: "), "it is asked where no daemon runs")
	require.Contains(t, out, "would have run")
	out, _, _ = b.run("doctor")
	require.Contains(t, out, "is a dry run: it resumes nothing")
	out, _, _ = b.run("history")
	require.Equal(t, "Nothing has been decided yet.\n", out)
	require.Empty(t, b.calls())
	require.NoDirExists(t, b.path(".local/state/resumed"))
	b.vars = []string{"XDG_STATE_HOME=" + b.path("elsewhere")}
	_, _, code := b.run("status")
	require.Equal(t, exitNoDaemon, code, "it is not asked about another state")
	b.vars = nil

	dryRun := b.proc
	b.start()
	out, _, _ = b.run("status")
	require.NotContains(t, out, ", dry run", "a daemon is asked first")
	b.kill(syscall.SIGTERM)
	b.proc = dryRun
	require.Zero(t, b.kill(syscall.SIGTERM))
	left, err := os.ReadDir(b.path("tmp"))
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestMissingProgramParksAndCostsNoAttempt(t *testing.T) {
	b := newBox(t)
	b.write(configFile, strings.Replace(bot, `"sh", "./resume.sh"`, `"no-such-program"`, 1))
	b.start()
	b.write("bot/logs/s-1.log", "rate limited, retry in 0s\n")
	s := b.untilState("s-1", resume.Parked)
	require.Contains(t, s.Reason, "no-such-program")
	require.Zero(t, s.Attempt)
}

func TestNothingRawReachesTheTerminal(t *testing.T) {
	b := newBox(t)
	b.write(configFile, strings.Replace(bot, `'rate limited$'`, `'rate limited.*'`, 1))
	b.start()
	b.write("bot/logs/s-1.log", "rate limited \x1b[31mred\x1b]0;title\x07 \u202eevil\n")
	b.untilState("s-1", resume.Waiting)
	for _, args := range [][]string{{"status"}, {"status", "s-1"}, {"status", "--json"}} {
		out, _, code := b.run(args...)
		require.Zero(t, code)
		require.NotContains(t, out, "\x1b")
		require.NotContains(t, out, "\u202e")
	}
	require.NotContains(t, b.logged(), "\x1b")
}

func TestExplainText(t *testing.T) {
	b := newBox(t)
	out, errOut, code := b.runWith("You've hit your 5-hour limit · resets 2am (UTC)\nplease add rate limit handling\n",
		"explain", "--text", "--json", "--at", "2026-11-15T01:00:00Z")
	require.Zero(t, code, errOut)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	require.Len(t, lines, 2)
	said, because, _ := strings.Cut(lines[0], `,"because":[`)
	require.JSONEq(t, `{"version":1,"text":"You've hit your 5-hour limit · resets 2am (UTC)","class":"usage_limit",
		"wait_helps":true,"reset_at":"2026-11-15T02:00:00Z","in_progress":false}`, said+"}")
	require.Contains(t, because, `"hit`)
	require.Contains(t, lines[1], `"class":"none"`)
}

// The error text of a provider counts for any agent that uses it; the same text in source code, in a
// test or in the output of another program does not.
func TestExplainTextKnowsWhoSpeaks(t *testing.T) {
	b := newBox(t)
	for line, class := range map[string]string{
		`Error while running the agent: litellm.RateLimitError: GroqException - Error code: 429`: "rate_limit",
		`402 This request requires more credits, or fewer max_tokens.`:                           "billing",
		`Error: "The server is overloaded, try again"`:                                           "overloaded",
		`您已达到使用上限，请在 2 小时后重试。`:                                                                   "usage_limit",
		`如果请求过于频繁，服务器会返回 429。`:                                                                   "none",
		`FAILED_RETRYING_INTERNAL = 3`:                                                           "none",
		"\t\tReadTimeout:  15 * time.Second,":                                                    "none",
		`FAILED test_limits: openai.RateLimitError: Error code: 429`:                             "none",
		`Error response from daemon: toomanyrequests: You have reached your pull rate limit.`:    "none",
	} {
		out, errOut, code := b.runWith(line+"\n", "explain", "--text", "--json")
		require.Zero(t, code, errOut)
		require.Contains(t, out, `"class":"`+class+`"`, line)
	}
}

func TestExplainRecognisesAFileWhoseFirstLineIsLong(t *testing.T) {
	b := newBox(t)
	transcript, err := os.ReadFile("testdata/claude-usage-limit.jsonl")
	require.NoError(t, err)
	b.write("pasted.jsonl", `{"type":"user","sessionId":"e0f03e74-c22f-4fdf-9d3e-7b29bca6105f","message":{"role":"user","content":"`+
		strings.Repeat("A", 1<<20)+"\"}}\n"+string(transcript))
	out, errOut, code := b.run("explain", b.path("pasted.jsonl"), "--json")
	require.Zero(t, code, errOut)
	require.Contains(t, out, `"agent":"claude-code"`)
	require.Contains(t, out, `"class":"usage_limit"`)
}

func TestExplainTextGivesOneObjectForEveryLine(t *testing.T) {
	b := newBox(t)
	out, errOut, code := b.runWith("\n\x1b[31mError: 429 Too Many Requests\x1b[0m\n\r\n529 Overloaded", "explain", "--text", "--json")
	require.Zero(t, code, errOut)
	var classes []string
	for line := range strings.Lines(out) {
		var found struct{ Class string }
		require.NoError(t, json.Unmarshal([]byte(line), &found))
		classes = append(classes, found.Class)
	}
	require.Equal(t, []string{"none", "rate_limit", "none", "overloaded"}, classes)
}

func TestDemoTellsItsStories(t *testing.T) {
	b := newBox(t)
	b.write(claudeTranscript, promptLine(claudeSession, b.path("bot"), "go")+refusalLine(claudeSession, b.path("bot"))) // the demo must ignore it
	began := time.Now()
	out, errOut, code := b.run("demo")
	require.Zero(t, code, errOut)
	require.Less(t, time.Since(began), 30*time.Second)
	for _, want := range []string{
		"painter is limited", "continues the session canvas-1", "works again after 1 resume", "step 6",
		"gave up after 3 resumes", "webhook", "resumed status",
		"claude-code needs you: its start was not seen", "you      resumed retry --unseen", "claude-code works again",
		"watches three pretend agents", "These agents were pretend", "\n  " + program + " install\n", // no resumed is in the PATH
	} {
		require.Contains(t, out, want)
	}
	wrote := map[string]string{} // the last line of each agent
	for line := range strings.Lines(out) {
		switch words := strings.Fields(line); {
		case len(words) < 3:
		case strings.Contains(line, " is limited: "):
			require.Contains(t, wrote[words[2]], "rate limited", "nobody is shown what follows from a line before the line:\n%s", out)
		default:
			wrote[words[1]] = line
		}
	}
	leftovers, err := filepath.Glob(b.path("tmp", "*"))
	require.NoError(t, err)
	require.Empty(t, leftovers)
}

// Valid TOML that cannot be used is a bad configuration too, and all mistakes are reported at once.
func TestChannelsThatCannotBeBuiltAreBadConfiguration(t *testing.T) {
	b := newBox(t)
	b.write(configFile, `[[notify.webhook]]
name = "ops"
url = "http://127.0.0.1:9/"
secret_file = "/nonexistent/secret"
[[notify.service]]
name = "phone"
url = "nosuchservice://hunter2"
title = "{{.Nope}}"
[[notify.service]]
name = "chat"
url_file = "~/token"
`)
	b.write("token", "nosuchservice://hunter2\n")
	for _, args := range [][]string{{"config", "check"}, {"notify", "test"}, {"run"}} {
		_, errOut, code := b.run(args...)
		require.Equal(t, exitUsage, code, args)
		at := b.path(configFile)
		require.Contains(t, errOut, at+":4: notify.webhook[0].secret_file: there is no file /nonexistent/secret")
		require.Contains(t, errOut, at+":8: notify.service[0].title: ")
		require.Contains(t, errOut, at+":11: notify.service[1].url_file: "+b.path("token")+": ")
		require.NotContains(t, errOut, "hunter2")
		require.Contains(t, errOut, "Try: correct "+b.path(configFile)+", then resumed config check "+b.path(configFile))
	}
}

// If a daemon is stopped at the moment a wait ends, the next one sends the resume at once.
func TestStoppedWhenDue(t *testing.T) {
	b := newBox(t)
	b.write(configFile, "[resume]\nstagger = \"0s\"\n"+bot)
	b.write("bot/resume.sh", recordCall+"echo \"step again\" >> logs/$1.log\n")
	const rounds, each = 4, 6
	for round := range rounds {
		b.start()
		for i := range each {
			b.write(fmt.Sprintf("bot/logs/s-%d-%d.log", round, i), fmt.Sprintf("rate limited, retry in %dms\n", 500+3*i))
		}
		first := fmt.Sprintf("s-%d-0", round)
		b.until("it is known when the first one is due", func() bool {
			if due := b.session(first).NextAt; due != nil {
				time.Sleep(time.Until(*due)) // to the moment that the daemon itself names
				return true
			}
			return strings.Contains(b.read("bot/calls"), "id="+first+" ")
		})
		require.Zero(t, b.kill(syscall.SIGTERM))
	}
	b.start()
	b.until("every session has got its resume", func() bool { return len(b.calls()) == rounds*each })
	require.NotContains(t, b.logged(), "could not be read again")
}

// However often the daemon is killed, every interruption gets one resume.
func TestKilledAgainAndAgain(t *testing.T) {
	b := newBox(t)
	b.write(configFile, bot)
	b.write("bot/resume.sh", `mkdir lock || echo "two at once" >> bad
`+recordCall+`sleep 0.1
echo "step again" >> logs/$1.log
rmdir lock
`)
	b.write("bot/logs/s-1.log", "step 1\n")
	b.start()
	for round := range 15 {
		b.appendTo("bot/logs/s-1.log", "rate limited, retry in 0s\n")
		switch round % 5 {
		case 1:
			b.until("it is about to be resumed", func() bool { return b.session("s-1").State == resume.Resuming || len(b.calls()) == round+1 })
		case 2:
			b.until("the command runs", func() bool { return len(b.calls()) == round+1 })
		case 3:
			b.until("the agent has worked", func() bool { return strings.Count(b.read("bot/logs/s-1.log"), "step again") == round+1 })
		case 4:
			b.until("the command is over", func() bool { return b.stored("s-1").Run == nil && len(b.calls()) == round+1 })
		}
		b.kill(syscall.SIGKILL)
		b.start()
		b.until("the agent works again", func() bool {
			return strings.Count(b.read("bot/logs/s-1.log"), "step again") == round+1
		})
		b.untilState("s-1", resume.Watching)
		require.Len(t, b.calls(), round+1)
		require.Empty(t, b.read("bot/bad"))
	}
}

func TestAgentsComeAndGoWithTheConfiguration(t *testing.T) {
	b := newBox(t)
	b.write("bot/resume.sh", recordCall+`echo "step 2" >> logs/$1.log`)
	b.write("bot/logs/s-1.log", "rate limited, retry in 1h\n")
	b.start() // without a configuration file
	require.Empty(t, b.status().Daemon.Config.Path)

	b.write(configFile, bot)
	b.untilState("s-1", resume.Waiting)
	require.Equal(t, b.path(configFile), b.status().Daemon.Config.Path)

	b.reconfigure(strings.Replace(bot, `kind = "custom"`, "kind = \"custom\"\nenabled = false", 1))
	_, _, code := b.run("retry", "--now", "s-1")
	require.Zero(t, code)
	b.until("the agent is off", func() bool { return strings.Contains(b.session("s-1").Reason, "switched off") })
	require.Empty(t, b.calls())

	b.reconfigure(bot)
	_, _, code = b.run("retry", "--now", "s-1")
	require.Zero(t, code)
	b.untilState("s-1", resume.Watching)
	require.Len(t, b.calls(), 1)
}

func TestReloadOnRequest(t *testing.T) {
	b := newBox(t)
	b.write(configFile, bot)
	b.start()
	before := b.status().Daemon.Config.LoadedAt
	require.NoError(t, b.proc.Process.Signal(syscall.SIGHUP))
	b.until("SIGHUP reloads", func() bool { return b.status().Daemon.Config.LoadedAt.After(before) })
}

// The transcript says that the agent continues by itself.
func TestExplainSaysThatTheAgentGoesOnByItself(t *testing.T) {
	b := newBox(t)
	file, err := filepath.Abs("../../internal/agent/claude/testdata/transcripts/i-u5h-armed.jsonl")
	require.NoError(t, err)
	out, errOut, code := b.run("explain", "--json", "--now", "2026-11-15T01:00:00Z", file)
	require.Zero(t, code, errOut)
	require.Contains(t, out, `"in_progress":true`)
	require.Contains(t, out, `"action":"wait"`)
	require.Contains(t, out, `"reset_at":"2026-11-15T02:02:`)

	file, err = filepath.Abs("../../internal/agent/claude/testdata/transcripts/u5h.jsonl")
	require.NoError(t, err)
	out, _, _ = b.run("explain", "--json", "--now", "2026-11-15T01:00:00Z", file)
	require.Contains(t, out, `"in_progress":false`)
}
