package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/execrun"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

// quick is a configuration with waits that are short enough for a test.
const quick = `
[resume]
margin = "1s"
[backoff]
base_delay = "100ms"
max_delay = "200ms"
max_retries = 2
jitter = false
[[backoff.policy]]
name = "slow"
base_delay = "4s"
max_delay = "4s"
[[backoff.policy]]
name = "patient"
base_delay = "10m"
max_delay = "1h"
[[backoff.policy]]
name = "crowd"
classes = ["overloaded"]
max_retries = 1
`

// times returns how often the scripts of a test have run.
func (b *box) times() int { return strings.Count(b.read("runs"), "\n") }

// counting is the beginning of a script: $n is the number of this run.
const counting = `echo run >> runs; n=$(wc -l < runs); `

func TestExecClassifiesHowACommandEnds(t *testing.T) {
	t.Parallel()
	overloaded := `echo "Error: 529 Overloaded" >&2; exit 3`
	for name, c := range map[string]struct {
		flags  []string
		script string
		code   int
		runs   int
		stderr string
	}{
		"success":                        {nil, `echo fine`, 0, 1, ""},
		"transient, then success":        {nil, `[ $n -ge 2 ] || { echo "API Error: 500 Internal server error" >&2; exit 4; }`, 0, 2, "retry 1 of 2"},
		"transient on stdout":            {nil, `[ $n -ge 2 ] || { echo "API Error: 500 Internal server error"; exit 4; }`, 0, 2, "retry 1 of 2"},
		"unknown failure as it is":       {nil, `echo "segmentation fault" >&2; exit 9`, 9, 1, "segmentation fault\n"},
		"permanent failure as it is":     {nil, `echo "API Error: 401 Invalid API key" >&2; exit 5`, 5, 1, "API Error: 401 Invalid API key\n"},
		"waiting does not help":          {nil, `echo "Credit balance is too low" >&2; exit 6`, 6, 1, "Credit balance is too low\n"},
		"retries run out":                {nil, `echo "Error: 500 internal server error" >&2; exit 4`, 75, 3, "gave up after 3 attempts"},
		"policy of the class":            {nil, overloaded, 75, 2, "retry 1 of 1"},
		"policy by name":                 {[]string{"--policy", "contention"}, overloaded, 75, 7, "retry 6 of 6"},
		"only what retry-on names":       {[]string{"--retry-on", "network,timeout"}, overloaded, 3, 1, "Error: 529 Overloaded\n"},
		"retry-on may name the unknown":  {[]string{"--retry-on", "none"}, `[ $n -ge 2 ] || exit 9`, 0, 2, "exit code 9: retry 1 of 2"},
		"retry-on may name the hopeless": {[]string{"--retry-on", "auth"}, `[ $n -ge 2 ] || { echo "API Error: 401 Invalid API key"; exit 5; }`, 0, 2, "auth"},
		"exit code 0 is success":         {nil, overloaded[:len(overloaded)-1] + "0", 0, 1, "Error: 529 Overloaded\n"},
		"killed by a signal":             {nil, `kill -USR1 $$`, 128 + int(syscall.SIGUSR1), 1, ""},
		"a run that takes too long":      {[]string{"--timeout", "1s"}, `[ $n -ge 2 ] || sleep 30`, 0, 2, "timed out after 1s: retry 1 of 2"},
		"too long, and not retried":      {[]string{"--timeout", "300ms", "--retry-on", "network"}, `sleep 30`, 128 + int(syscall.SIGTERM), 1, "took more than 300ms (--timeout) and was ended"},
		"further away than max_wait":     {nil, `echo "rate limited, try again in 300 hours" >&2; exit 8`, 8, 1, "resume.max_wait"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBox(t)
			b.write(configFile, quick)
			_, errOut, code := b.run(append(append([]string{"exec"}, c.flags...), "--", "sh", "-c", counting+c.script)...)
			require.Equal(t, c.code, code, errOut)
			require.Equal(t, c.runs, b.times(), errOut)
			if strings.HasSuffix(c.stderr, "\n") || c.stderr == "" {
				require.Equal(t, c.stderr, errOut, "nothing but the command's own words")
			} else {
				require.Contains(t, errOut, c.stderr)
			}
			if c.code == 75 {
				lines := strings.Split(strings.TrimSpace(errOut), "\n")
				require.Contains(t, lines[len(lines)-1], "gave up", "the last line says so")
			}
		})
	}
}

func TestExecThatCannotStart(t *testing.T) {
	b := newBox(t)
	_, errOut, code := b.run("exec", "no-such-program", "-x")
	require.Equal(t, 127, code)
	require.Contains(t, errOut, "no-such-program")
	b.write("plain", "")
	require.NoError(t, os.Chmod(b.path("plain"), 0o600))
	_, _, code = b.run("exec", "--", b.path("plain"))
	require.Equal(t, 126, code)
	_, errOut, code = b.run("exec", "--agent", "nobody", "--policy", "none", "--timeout", "5", "--retry-on", "cancelled,nonsense", "--", "true")
	require.Equal(t, exitUsage, code)
	for _, flag := range []string{"--agent", "--policy", "--timeout", `"cancelled"`, `"nonsense"`} {
		require.Contains(t, errOut, flag, "all mistakes at once")
	}
	_, _, code = b.run("exec")
	require.Equal(t, exitUsage, code)
}

func TestExecHonoursAStatedTime(t *testing.T) {
	b := newBox(t)
	b.write(configFile, strings.Replace(quick, `margin = "1s"`, `margin = "30s"`, 1))
	script := counting + `date +%s.%N >> times; [ $n -ge 2 ] || { echo "rate limited, retry in 2s" >&2; exit 1; }`
	_, errOut, code := b.run("exec", "--", "sh", "-c", script)
	require.Zero(t, code, errOut)
	var first, second float64
	_, err := fmt.Sscan(b.read("times"), &first, &second)
	require.NoError(t, err)
	require.GreaterOrEqual(t, second-first, 2.0, "never before")
	require.Less(t, second-first, 30.0, "no margin on a plain duration")
}

func TestExecAddsTheMarginToAUsageLimit(t *testing.T) {
	b := newBox(t)
	b.write(configFile, quick)
	script := counting + `date +%s.%N >> times; [ $n -ge 2 ] || { echo "Claude AI usage limit reached|$(($(date +%s)+1))"; exit 1; }`
	_, errOut, code := b.run("exec", "--", "sh", "-c", script)
	require.Zero(t, code, errOut)
	var first, second float64
	_, err := fmt.Sscan(b.read("times"), &first, &second)
	require.NoError(t, err)
	require.GreaterOrEqual(t, second, float64(int(first))+2.0, "the stated second and the margin of one more")
}

// Claude Code prints the minute in which the limit lifts; its transcript has the second.
func TestExecAsksNobodyBeforeTheTimeThatTheTranscriptStates(t *testing.T) {
	b := newBox(t)
	b.write(configFile, strings.Replace(quick, `margin = "1s"`, `margin = "0s"`, 1))
	env := b.agentIs("claude", `[ $n -gt 1 ] || echo $(($(date +%s) + 3)) > lifts
lifts=$(cat lifts); [ $n -eq 1 ] || [ $(date +%s) -lt $lifts ] || exit 0
while [ "$1" != --session-id ] && [ "$1" != --resume ]; do shift; done
said="You've hit your session limit · resets $(date -u -d @$lifts '+%-I:%M%P') (UTC)"
mkdir -p "$HOME/.claude/projects/x"
echo '{"type":"assistant","sessionId":"'$2'","timestamp":"'$(date -u +%FT%T.%3NZ)'","isApiErrorMessage":true,"error":"rate_limit","apiErrorStatus":429,'\
'"quotaLimits":{"status":"rejected","resetsAt":'$lifts',"rateLimitType":"five_hour"},'\
'"message":{"model":"<synthetic>","role":"assistant","content":[{"type":"text","text":"'"$said"'"}]}}' >> "$HOME/.claude/projects/x/$2.jsonl"
echo "$said"; exit 1`)
	words, code := b.execAs(env, "--", "claude", "-p", "fix it")
	require.Zero(t, code, words)
	require.Equal(t, 2, b.times(), "one that was refused, and one when the limit had lifted: %s", words)
}

func TestExecPassesBytesOnUntouched(t *testing.T) {
	b := newBox(t)
	var all bytes.Buffer
	for i := range 300_000 {
		all.WriteByte(byte(i * 7))
	}
	b.write("bytes", all.String())
	out, errOut, code := b.run("exec", "--", "sh", "-c", "cat bytes; cat bytes >&2; exit 11")
	require.Equal(t, 11, code)
	require.True(t, all.String() == out, "stdout")
	require.True(t, all.String() == errOut, "stderr")

	out, _, code = b.runWith("some input", "exec", "--", "cat")
	require.Zero(t, code)
	require.Equal(t, "some input", out)

	file, err := os.Create(b.path("both"))
	require.NoError(t, err)
	defer file.Close()
	cmd := exec.Command(program, "exec", "--", "sh", "-c", `for i in 1 2 3 4 5 6 7 8 9; do echo out$i; echo err$i >&2; done`)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = b.env(), b.home, file, file
	require.NoError(t, cmd.Run())
	var want strings.Builder
	for i := range 9 {
		fmt.Fprintf(&want, "out%d\nerr%d\n", i+1, i+1)
	}
	require.Equal(t, want.String(), b.read("both"), "one place keeps one order")
}

func TestExecGivesAFileToEveryRun(t *testing.T) {
	b := newBox(t)
	b.write(configFile, quick)
	b.write("input", "the input")
	file, err := os.Open(b.path("input"))
	require.NoError(t, err)
	defer file.Close()
	cmd := exec.Command(program, "exec", "--", "sh", "-c", counting+`cat; [ $n -ge 2 ] || { echo "503 Service Unavailable" >&2; exit 1; }`)
	cmd.Env, cmd.Dir, cmd.Stdin = b.env(), b.home, file
	out, err := cmd.Output()
	require.NoError(t, err)
	require.Equal(t, "the inputthe input", string(out))
}

// begin starts an exec, so that a test can send signals to it.
func (b *box) begin(args ...string) (*exec.Cmd, func() int) {
	b.t.Helper()
	cmd := b.command(append([]string{"exec"}, args...)...)
	require.NoError(b.t, cmd.Start())
	wait := func() int {
		done := make(chan struct{})
		go func() { _ = cmd.Wait(); close(done) }()
		select {
		case <-done:
		case <-time.After(patience):
			_ = cmd.Process.Kill()
			b.t.Fatalf("it does not end:\n%s", b.logged())
		}
		return cmd.ProcessState.ExitCode()
	}
	return cmd, wait
}

func TestExecPassesSignalsToTheWholeGroup(t *testing.T) {
	b := newBox(t)
	b.write("child.sh", `trap 'echo child >> got; exit 1' TERM; echo ready >> ready; while :; do sleep 0.05; done`)
	cmd, wait := b.begin("--", "sh", "-c", `trap 'echo leader >> got; wait; echo "503 Service Unavailable"; exit 21' TERM; sh child.sh & wait`)
	b.until("both run", func() bool { return b.read("ready") != "" })
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.Equal(t, 21, wait(), "the command's own code, and no retry after a signal")
	require.Contains(t, b.read("got"), "leader")
	require.Contains(t, b.read("got"), "child")
}

func TestExecEndsACommandThatIgnoresTwoSignals(t *testing.T) {
	b := newBox(t)
	cmd, wait := b.begin("--", "sh", "-c", `trap '' INT TERM; echo ready > ready; while :; do sleep 0.05; done`)
	b.until("it runs", func() bool { return b.read("ready") != "" })
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} { // two of the same may become one
		require.NoError(t, cmd.Process.Signal(sig))
	}
	require.Equal(t, 128+int(syscall.SIGKILL), wait())
}

func TestExecStopsWaitingAtASignal(t *testing.T) {
	t.Parallel()
	for name, sig := range map[string]syscall.Signal{"interrupt": syscall.SIGINT, "terminate": syscall.SIGTERM} {
		t.Run(name, func(t *testing.T) {
			b := newBox(t)
			b.write(configFile, quick)
			cmd, wait := b.begin("--policy", "patient", "--", "sh", "-c", counting+`echo "503 Service Unavailable" >&2; exit 1`)
			b.until("it waits", func() bool { return strings.Contains(b.logged(), "retry 1 of") })
			require.NoError(t, cmd.Process.Signal(sig))
			require.Equal(t, 128+int(sig), wait())
			require.Equal(t, 1, b.times())
			require.Contains(t, b.logged(), "stopped waiting")
		})
	}
}

func TestExecUnderNohupHearsNoHangup(t *testing.T) {
	b := newBox(t)
	cmd := exec.Command("sh", "-c", `trap '' HUP; exec "$0" exec -- sh -c 'echo ready > ready; while [ ! -e go ]; do sleep 0.05; done; exit 5'`, program)
	cmd.Env, cmd.Dir = b.env(), b.home
	require.NoError(t, cmd.Start())
	b.until("it runs", func() bool { return b.read("ready") != "" })
	require.NoError(t, cmd.Process.Signal(syscall.SIGHUP))
	b.write("go", "")
	_ = cmd.Wait()
	require.Equal(t, 5, cmd.ProcessState.ExitCode())
}

// agentIs puts a program of that name first in PATH.
func (b *box) agentIs(name, script string) []string {
	b.write(filepath.Join("bin", name), "#!/bin/sh\n"+`echo "$@" >> args; echo run >> runs; n=$(wc -l < runs)`+"\n"+script)
	return append(b.env(), "PATH="+b.path("bin")+":"+os.Getenv("PATH"))
}

func (b *box) execAs(env []string, args ...string) (stderr string, code int) {
	b.t.Helper()
	cmd := b.command(append([]string{"exec"}, args...)...)
	cmd.Env = env
	err := cmd.Run()
	if cmd.ProcessState == nil {
		require.NoError(b.t, err)
	}
	return b.logged(), cmd.ProcessState.ExitCode()
}

func TestExecContinuesTheSameSession(t *testing.T) {
	t.Parallel()
	const id = "4f2a1c9e-0000-4000-8000-000000000001"
	for name, c := range map[string]struct {
		program, script string
		args            []string
		second          string // %s is the id
	}{
		"claude by the id it was given": {
			program: "claude", script: `[ $n -ge 2 ] || { echo "API Error: 529 Overloaded."; exit 1; }`,
			args:   []string{"-p", "fix it", "--permission-mode", "plan", "--model", "opus", "--allowedTools", "Edit", "Bash"},
			second: "-p --permission-mode plan --model opus --allowedTools Edit Bash --resume %s continue",
		},
		"claude by the id it prints": {
			program: "claude", script: `[ $n -ge 2 ] || { echo '{"type":"system","subtype":"init","session_id":"` + id + `"}'
echo '{"type":"result","subtype":"success","is_error":true,"api_error_status":529,"result":"API Error: 529 Overloaded","session_id":"` + id + `"}'; exit 1; }`,
			args:   []string{"-p", "--output-format", "stream-json", "--verbose", "fix it"},
			second: "-p --output-format stream-json --verbose --resume " + id + " continue",
		},
		"codex by its header": {
			program: "codex", script: `[ $n -ge 2 ] || { echo "session id: ` + id + `" >&2; echo "ERROR: Selected model is at capacity. Please try a different model." >&2; exit 1; }`,
			args:   []string{"exec", "-s", "read-only", "-m", "gpt-5.1-codex", "--skip-git-repo-check", "fix it"},
			second: "exec -s read-only -m gpt-5.1-codex --skip-git-repo-check resume " + id + " continue",
		},
		"opencode by its lines": {
			program: "opencode", script: `[ $n -ge 2 ] || { echo '{"type":"error","sessionID":"ses_e237ddd5cffe","error":{"name":"APIError","data":{"message":"Rate limit reached for requests","statusCode":429}}}'; exit 1; }`,
			args:   []string{"run", "--format", "json", "-m", "fake/x", "fix it"},
			second: "run --format json -m fake/x --session ses_e237ddd5cffe continue",
		},
		"opencode 2 by its lines": {
			program: "opencode", script: `[ $n -ge 2 ] || { echo '{"type":"error","sessionID":"ses_e237ddd5cffe","error":{"type":"provider.rate-limit","message":"Rate limit reached for requests","status":429}}'; exit 1; }`,
			args:   []string{"run", "--format", "json", "-m", "fake/x", "fix it"},
			second: "run --format json -m fake/x --session ses_e237ddd5cffe continue",
		},
		"gemini with its prompt again": {
			program: "gemini", script: `[ $n -ge 2 ] || { echo '{"type":"init","session_id":"` + id + `"}'
echo '{"type":"result","status":"error","error":{"type":"unknown","message":"[API Error: The model is overloaded. Please try again later.]"}}'; exit 247; }`,
			args:   []string{"-p", "fix it", "-o", "stream-json", "--approval-mode", "auto_edit"},
			second: "-p fix it -o stream-json --approval-mode auto_edit --resume " + id,
		},
		"gemini without a session starts over": {
			program: "gemini", script: `[ $n -ge 2 ] || exit 247`,
			args: []string{"-p", "fix it", "-y"}, second: "-p fix it -y",
		},
		"qwen though it says 0": {
			program: "qwen", script: `[ $n -ge 2 ] || echo '{"type":"result","subtype":"success","session_id":"` + id + `","is_error":false,"result":"[API Error: 429 Rate limit reached for requests]"}'`,
			args:   []string{"-p", "fix it", "-o", "json", "-y"},
			second: "-o json -y --resume " + id + " -p continue",
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBox(t)
			b.write(configFile, quick)
			env := b.agentIs(c.program, c.script)
			errOut, code := b.execAs(env, append([]string{"--", c.program}, c.args...)...)
			require.Zero(t, code, errOut)
			runs := strings.Split(strings.TrimSpace(b.read("args")), "\n")
			require.Len(t, runs, 2, errOut)
			first := strings.Join(c.args, " ")
			given, found := strings.CutPrefix(runs[0], first+" --session-id ")
			if c.program == "claude" {
				require.True(t, found, runs[0])
			} else {
				require.Equal(t, first, runs[0], "the first run is as it was asked for")
			}
			want := c.second
			if strings.Contains(want, "%s") {
				want = fmt.Sprintf(want, given)
			}
			require.Equal(t, want, runs[1])
		})
	}
}

func TestExecDoesNotRepeatAnAgentWhosePromptIsGone(t *testing.T) {
	b := newBox(t)
	b.write(configFile, quick)
	env := b.agentIs("gemini", `cat > /dev/null; exit 247`)
	cmd := b.command("exec", "--", "gemini", "-p", "")
	cmd.Env, cmd.Stdin = env, strings.NewReader("fix it")
	_ = cmd.Run()
	require.Equal(t, 247, cmd.ProcessState.ExitCode())
	require.Equal(t, 1, b.times())
	require.Contains(t, b.logged(), "cannot be given twice")
}

// Gemini CLI says that the quota of a day is used up, but not until when: that is known.
func TestExecKnowsWhenTheQuotaOfADayIsThereAgain(t *testing.T) {
	zone, err := time.LoadLocation("America/Los_Angeles")
	require.NoError(t, err)
	now := time.Now().In(zone)
	if hour, minute, _ := now.Clock(); hour == 0 && minute <= 10 || hour == 23 && minute == 59 {
		t.Skip("about midnight it is not known which day it was")
	}
	again := time.Date(now.Year(), now.Month(), now.Day()+1, 0, 0, 0, 0, zone).UTC()
	b := newBox(t)
	b.write(configFile, strings.Replace(quick, "[resume]", "[resume]\nmax_wait = \"1s\"", 1))
	env := b.agentIs("gemini", `echo "Error when talking to Gemini API Full report available at: /tmp/gemini-client-error-Turn.run-sendMessageStream-2026-11-15T20-00-00-794Z.json `+
		`TerminalQuotaError: You have exhausted your daily quota on this model." >&2; exit 1`)
	words, code := b.execAs(append(env, "TZ=UTC"), "--", "gemini", "-p", "task")
	require.Equal(t, 1, code)
	require.Contains(t, words, again.Format("it lifts at Mon 2 Jan 15:04"))
	require.Equal(t, 1, b.times(), "and is not tried five times")
}

// At its next start Gemini CLI would delete the chat because of the stub.
func TestExecRemovesTheStubThatGeminiLeaves(t *testing.T) {
	const id = "4f2a1c9e-0000-4000-8000-000000000001"
	b := newBox(t)
	b.write(configFile, quick)
	env := b.agentIs("gemini", `
dir=$HOME/.gemini/tmp/home; mkdir -p $dir/chats; pwd > $dir/.project_root
head='{"sessionId":"`+id+`","projectHash":"x","startTime":"2026-11-15T00:15:29.027Z","lastUpdated":"2026-11-15T00:15:29.027Z","kind":"main"}'
context='{"$set":{"messages":[{"id":"1","timestamp":"2026-11-15T00:15:29.028Z","type":"user","content":[{"text":"<session_context> This is the Gemini CLI. </session_context>"}]}]}}'
real=$dir/chats/session-2026-11-15T00-15-4f2a1c9e.jsonl
if [ $n = 1 ]; then
	{ echo "$head"; echo "$context"; echo '{"id":"2","timestamp":"2026-11-15T00:15:30.000Z","type":"user","content":[{"text":"fix it"}]}'; } > $real
	exit 247
fi
{ echo "$head"; echo "$context"; } > $dir/chats/session-2026-11-15T00-20-4f2a1c9e.jsonl
echo '{"id":"3","timestamp":"2026-11-15T00:20:31.000Z","type":"gemini","content":"done"}' >> $real
echo done`)
	errOut, code := b.execAs(env, "--", "gemini", "-p", "fix it", "-y")
	require.Zero(t, code, errOut)
	require.Contains(t, b.read("args"), "-y --resume "+id+" -p continue\n")
	left, err := filepath.Glob(b.path(".gemini/tmp/home/chats/*"))
	require.NoError(t, err)
	require.Len(t, left, 1, errOut)
	require.Contains(t, left[0], "T00-15-")
}

// claudeWrites is a claude that writes a transcript like the real one.
const claudeWrites = `
id=; while [ $# -gt 0 ]; do case $1 in --session-id|--resume) id=$2; shift;; esac; shift; done
dir=$HOME/.claude/projects/-work; mkdir -p $dir
say() { printf '{"type":"%s","sessionId":"%s","cwd":"%s","timestamp":"%s","version":"2.1.325","uuid":"%s"%s}\n' $1 $id "$PWD" $(date -u +%Y-%m-%dT%H:%M:%S.000Z) u$n "$2" >> $dir/$id.jsonl; }
if [ $n -ge 2 ]; then say assistant ',"message":{"model":"m","role":"assistant","stop_reason":"end_turn","content":[{"type":"text","text":"done"}]}'; exit 0; fi
say user ',"message":{"role":"user","content":"fix it"},"permissionMode":"default"'
say assistant ',"isApiErrorMessage":true,"error":"server_error","apiErrorStatus":529,"message":{"model":"<synthetic>","role":"assistant","content":[{"type":"text","text":"API Error: 529 Overloaded."}]}'
echo "API Error: 529 Overloaded."
exit 1
`

// A run may print nothing and end well.
func TestExecKnowsFromTheTranscriptThatARunFailed(t *testing.T) {
	b := newBox(t)
	b.write(configFile, quick)
	env := b.agentIs("claude", strings.NewReplacer(`echo "API Error: 529 Overloaded."`, "", "exit 1", "exit 0").Replace(claudeWrites))
	words, code := b.execAs(env, "--", "claude", "-p", "fix it")
	require.Zero(t, code, words)
	require.Contains(t, words, "API Error: 529 Overloaded")
	require.Regexp(t, `-p --resume [0-9a-f-]{36} continue\n$`, b.read("args"))
}

func TestTheDaemonLeavesASessionToExec(t *testing.T) {
	t.Parallel()
	for from, runtime := range map[string][]string{"of the same login": nil, "of a cron job": {"XDG_RUNTIME_DIR="}} {
		t.Run(from, func(t *testing.T) { daemonLeavesASessionToExec(t, runtime...) })
	}
}

func daemonLeavesASessionToExec(t *testing.T, vars ...string) {
	b := newBox(t)
	b.write(configFile, strings.ReplaceAll(quick, `classes = ["overloaded"]`, ``))
	env := b.agentIs("claude", claudeWrites)
	b.start()
	done := make(chan int, 1)
	go func() {
		_, code := b.execAs(append(env, vars...), "--policy", "slow", "--", "claude", "-p", "fix it")
		done <- code
	}()
	var s view.Session
	b.until("the daemon has wanted to resume", func() bool {
		for _, s = range b.status().Sessions {
			if strings.Contains(s.Reason, "looks after this session") {
				return true
			}
		}
		return false
	})
	require.Equal(t, resume.Waiting, s.State)
	require.Empty(t, s.Attempts, "standing back costs no attempt")
	require.Regexp(t, `another resumed \(pid \d+\) looks after this session`, s.Reason)
	require.Zero(t, <-done)
	require.Equal(t, 2, b.times(), "exec alone continued it")
	b.untilState(s.ID, resume.Watching)
}

func TestTheDaemonDoesNotBeginAgainWhereExecGaveUp(t *testing.T) {
	b := newBox(t)
	env := b.agentIs("claude", strings.ReplaceAll(claudeWrites, "-ge 2", "-ge 99"))
	b.write(configFile, quick+"[[agent]]\nname = \"claude-code\"\ncommand = \""+b.path("bin/claude")+"\"\n")
	errOut, code := b.execAs(env, "--", "claude", "-p", "fix it")
	require.Equal(t, execrun.CodeGaveUp, code, errOut)
	runs := b.times()
	b.start()
	var s view.Session
	b.until("the daemon leaves it alone", func() bool {
		for _, s = range b.status().Sessions {
			if s.State == resume.Parked {
				return true
			}
		}
		return false
	})
	require.Contains(t, s.Reason, "resumed exec gave up on it: gave up after")
	require.Equal(t, runs, b.times())
	require.Empty(t, s.Attempts, "none of them were the daemon's")

	b.run("retry", s.ID)
	b.until("a person's order is stronger", func() bool { return b.times() > runs })
}

func TestExecLeavesASessionToTheDaemon(t *testing.T) {
	const id = "4f2a1c9e-0000-4000-8000-000000000002"
	b := newBox(t)
	b.write(configFile, strings.ReplaceAll(quick, `classes = ["overloaded"]`, ``)+"[[agent]]\nname = \"claude-code\"\ncommand = \""+b.path("bin/claude")+"\"\n")
	env := b.agentIs("claude", `
case "$*" in *--version*) echo "2.1.325 (Claude Code)"; exit 0;; esac
while [ ! -e go ]; do sleep 0.05; done`)
	b.start()
	now := time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
	line := func(kind, rest string) string {
		return fmt.Sprintf(`{"type":%q,"sessionId":%q,"cwd":%q,"timestamp":%q,"version":"2.1.325","uuid":"u-%s"%s}`+"\n", kind, id, b.home, now, kind, rest)
	}
	b.write(".claude/projects/-work/"+id+".jsonl", line("user", `,"message":{"role":"user","content":"fix it"}`)+
		line("assistant", `,"isApiErrorMessage":true,"error":"server_error","apiErrorStatus":529,"message":{"model":"<synthetic>","role":"assistant","content":[{"type":"text","text":"API Error: 529 Overloaded."}]}`))
	b.until("the daemon's resume runs", func() bool {
		called := b.read("args")
		return strings.Contains(called, "--resume "+id) && b.times() == strings.Count(called, "\n")
	})
	before := b.times()
	errOut, code := b.execAs(env, "--", "claude", "-p", "--resume", id, "go on")
	require.Equal(t, exitFailed, code, errOut)
	require.Contains(t, errOut, "looks after this session")
	require.Equal(t, before, b.times(), "nothing was run")
	b.write("go", "")
}
