package main

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/control"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
	"resumed/internal/state"
)

// queueClaude is a Claude Code that starts a session under the given id, records its prompt, and
// answers. Each argument is stored in its own file.
const queueClaude = `#!/bin/sh
echo "$$ $(pwd) $*" | head -n 1 >> "$HOME/trace"
id=; args=$(mktemp -d "$HOME/args.XXXXXX"); n=0; prev=
for arg in "$@"; do
	printf '%s' "$arg" > "$args/$n"; n=$((n+1))
	[ "$prev" = --session-id ] && id=$arg
	prev=$arg
done
echo "$args" >> "$HOME/begun"
[ -e "$HOME/fails" ] && { echo "no such thing" >&2; exit 3; }
now=$(date -u +%Y-%m-%dT%H:%M:%S.000Z)
mkdir -p "$HOME/.claude/projects/-src"
sed "s|WHEN|$now|; s|ID|$id|g; s|CWD|$(pwd)|" "$HOME/begins" > "$HOME/.claude/projects/-src/$id.jsonl"
while [ -e "$HOME/works" ]; do sleep 0.05; done
`

// newQueueBox is a machine on which Claude Code can start sessions.
func newQueueBox(t *testing.T, config string) *box {
	b := newBox(t)
	b.write(configFile, "[resume]\nmargin = \"0s\"\nstagger = \"0s\"\nsettle = \"3s\"\n"+config)
	b.write("bin/claude", queueClaude)
	said := func(fields map[string]any) string {
		line := transcriptLine("ID", "CWD", time.Unix(0, 0), fields)
		return strings.ReplaceAll(line, time.Unix(0, 0).UTC().Format("2006-01-02T15:04:05.000Z"), "WHEN")
	}
	b.write("begins", said(map[string]any{"type": "user", "message": map[string]any{"role": "user", "content": "go"}})+
		said(map[string]any{"type": "assistant", "message": map[string]any{
			"role": "assistant", "model": "claude-opus-5-5", "stop_reason": "end_turn", "content": []any{map[string]any{"type": "text", "text": "Done."}},
		}}))
	return b
}

// begun returns the arguments of each run of the agent.
func (b *box) begun() (runs [][]string) {
	for dir := range strings.Lines(b.read("begun")) {
		dir = strings.TrimSpace(dir)
		var args []string
		for n := 0; ; n++ {
			arg, err := os.ReadFile(filepath.Join(dir, fmt.Sprint(n)))
			if err != nil {
				break
			}
			args = append(args, string(arg))
		}
		runs = append(runs, args)
	}
	return runs
}

func (b *box) tasks() []view.Task {
	b.t.Helper()
	tasks, err := b.daemon.Tasks(b.t.Context())
	require.NoError(b.t, err)
	return tasks
}

func (b *box) task(n int) view.Task {
	for _, task := range b.tasks() {
		if task.N == n {
			return task
		}
	}
	return view.Task{}
}

func (b *box) queue(args ...string) string {
	b.t.Helper()
	out, errOut, code := b.run(append([]string{"queue"}, args...)...)
	require.Zero(b.t, code, errOut)
	return out
}

func (b *box) given() (prompts []string) {
	for _, run := range b.begun() {
		prompts = append(prompts, strings.TrimSpace(run[len(run)-1]))
	}
	return prompts
}

// A task waits while the account is limited; then it is started once, under the id that was chosen for
// it, and is a session like any other.
func TestATaskIsBegunWhenItsAccountHasRoom(t *testing.T) {
	b := newQueueBox(t, "")
	b.start()
	lifts := time.Now().Add(4 * time.Second).Truncate(time.Second)
	const other = "0b6b1a62-1f8e-4a3b-9d5b-0a6de1f3c0aa"
	b.write("src/other/README", "")
	b.write(".claude/projects/-src/"+other+".jsonl", usageLimitLine(other, b.path("src/other"), time.Now(), lifts))
	b.untilState(other, resume.Waiting)

	b.write("src/app/README", "")
	out := b.queue("add", "--dir", b.path("src/app"), "--model", "opus", "--mode", "plan", "--json", "--", "fix", "the tests")
	var said struct{ Tasks []view.Task }
	require.NoError(t, json.Unmarshal([]byte(out), &said))
	require.Equal(t, 1, said.Tasks[0].N)
	require.Equal(t, "fix the tests", said.Tasks[0].Prompt)
	b.until("it waits for the account", func() bool {
		return strings.Contains(b.task(1).Reason, "limited until "+lifts.UTC().Format(time.RFC3339))
	})
	require.Equal(t, resume.TaskQueued, b.task(1).State)
	require.Contains(t, b.queue(), "fix the tests")
	require.Equal(t, 1, b.status().Daemon.Queue.Queued)
	require.Empty(t, b.session(said.Tasks[0].ID).ID, "there is no session of it yet")

	b.until("it is a session", func() bool { return b.task(1).State == resume.TaskStarted })
	require.False(t, time.Now().Before(lifts))
	task := b.task(1)
	require.Equal(t, task.ID, *task.Session)
	b.until("that is watched", func() bool { return b.session(task.ID).State == resume.Watching })
	require.Equal(t, b.path("src/app"), b.session(task.ID).Cwd)
	var own [][]string
	for _, run := range b.begun() {
		if run[1] == "--session-id" {
			own = append(own, run)
		}
	}
	require.Equal(t, [][]string{{"-p", "--session-id", task.ID, "--model", "opus", "--permission-mode", "plan", "fix the tests"}}, own)
	history, _, _ := b.run("history", task.ID)
	require.Contains(t, history, "task 1: fix the tests")
	require.Contains(t, history, "task 1 is begun by process")
}

// A limit that was hit while no daemon ran also holds back a task that was added then, although the
// task is due before the first transcript is read.
func TestATaskThatWasAddedWithoutADaemonKeepsALimit(t *testing.T) {
	b := newQueueBox(t, "")
	lifts := time.Now().Add(2 * time.Hour).Truncate(time.Second)
	b.write("src/app/README", "")
	b.write(".claude/projects/-src/"+claudeSession+".jsonl", usageLimitLine(claudeSession, b.path("src/app"), time.Now(), lifts))
	_, errOut, code := b.run("queue", "add", "--dir", b.path("src/app"), "--", "fix the tests")
	require.Zero(t, code, errOut)
	b.start()
	b.until("it waits for the account", func() bool {
		return strings.Contains(b.task(1).Reason, "limited until "+lifts.UTC().Format(time.RFC3339))
	})
	require.Empty(t, b.begun())
}

// A daemon that has just been started has the state and does not answer yet.
func TestATaskIsAddedWhileADaemonStarts(t *testing.T) {
	b := newQueueBox(t, "")
	b.write("src/app/README", "")
	starting, err := state.Open(b.path(".local/state/resumed"), slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	time.AfterFunc(200*time.Millisecond, func() { _ = starting.Close() })
	_, errOut, code := b.run("queue", "add", "--dir", b.path("src/app"), "--", "fix the tests")
	require.Zero(t, code, errOut)
	require.NotContains(t, errOut, "another daemon")
}

// If the session of a task is stopped, it waits like any other, and continues with the permissions it
// was started with.
func TestTheSessionOfATaskIsResumed(t *testing.T) {
	b := newQueueBox(t, fmt.Sprintf(inBackoff, "10ms"))
	refused := strings.ReplaceAll(usageLimitLine("ID", "CWD", time.Unix(0, 0), time.Now().Add(2*time.Second)),
		time.Unix(0, 0).UTC().Format("2006-01-02T15:04:05.000Z"), "WHEN")
	b.write("begins", refused)
	b.start()
	b.write("src/README", "")
	b.queue("add", "--dir", b.path("src"), "--mode", "acceptEdits", "--", "go")
	b.until("it is resumed", func() bool { return len(b.begun()) > 1 })
	require.Equal(t, 1, strings.Count(b.read("trace"), "--session-id"))
	require.Contains(t, b.begun()[1], "--resume")
	require.Contains(t, b.begun()[1], "acceptEdits")
}

// Whatever the prompt contains, it is passed as the prompt only.
func TestAPromptIsGivenAsItIs(t *testing.T) {
	b := newQueueBox(t, "max_concurrent = 1\n") // one after the other
	b.write("src/README", "")
	b.start()
	hostile := []string{
		"--dangerously-skip-permissions", "-p", "--", "-", "update", "; touch $HOME/owned", "$(touch $HOME/owned)", "a\nb\n\nc", "\x1b[2J\x1b]0;title\x07",
		`"quoted" 'and' \back`, "{session} {prompt} {cwd} %s %d", strings.Repeat("long ", 8000),
	}
	for _, prompt := range hostile {
		_, errOut, code := b.run("queue", "add", "--dir", b.path("src"), "--", prompt)
		require.Zero(t, code, errOut)
	}
	b.until("all are begun", func() bool { return len(b.begun()) == len(hostile) })
	var given, wanted []string
	for _, run := range b.begun() {
		require.Equal(t, []string{"-p", "--session-id"}, run[:2])
		rest := run[3:]
		if strings.HasPrefix(rest[len(rest)-1], "-") {
			require.Equal(t, "--", rest[0], "it cannot be an option")
			rest = rest[1:]
		}
		require.Len(t, rest, 1)
		given = append(given, strings.TrimSpace(rest[0]))
		require.NotEqual(t, "update", rest[0], "that would be a command")
	}
	for _, prompt := range hostile {
		wanted = append(wanted, strings.TrimSpace(prompt))
	}
	require.ElementsMatch(t, wanted, given)
	require.NoFileExists(t, b.path("owned"))
	list := b.queue()
	require.NotContains(t, list, "\x1b")
	for _, bad := range []string{"", " \n ", strings.Repeat("x", 110<<10)} {
		_, errOut, code := b.run("queue", "add", "--", bad)
		require.NotZero(t, code)
		require.Contains(t, errOut, "the prompt")
	}
	b.write("prompts", "short\n"+strings.Repeat("x", 2<<20)+"\n")
	_, errOut, code := b.run("queue", "add", "-f", b.path("prompts"))
	require.NotZero(t, code)
	require.Contains(t, errOut, "the prompt has 2097152 bytes, and no more than 102400 can be given to a program: put it into a file, and name that file in the prompt")
	require.Len(t, b.tasks(), len(hostile), "none of a file that cannot be taken as a whole")
}

// Without a daemon a task is stored for the next one. Tasks start in their order, which can be changed,
// and so can tasks that were not started.
func TestTasksAreMovedChangedAndDropped(t *testing.T) {
	b := newQueueBox(t, "max_concurrent = 1\n")
	b.write("src/README", "")
	b.write("tonight", "first\nsecond\n\nthird\n")
	b.write("long", "fourth\nof two lines\n---\nfifth\n---\n")
	b.start()
	b.run("pause")
	b.kill(syscall.SIGTERM)
	_, errOut, code := b.run("queue", "add", "--dir", b.path("src"), "-f", b.path("tonight"))
	require.Zero(t, code, errOut)
	require.Contains(t, errOut, "No daemon is running")
	out, _, code := b.run("queue")
	require.Equal(t, 3, code, "no daemon is there")
	require.Contains(t, out, "second")

	b.start()
	history, _, _ := b.run("history", "--json")
	require.Equal(t, 3, strings.Count(history, `"kind":"queued"`), "each was asked for once: %s", history)
	require.Contains(t, history, `"reason":"task 2: second"`)
	b.queue("add", "--dir", b.path("src"), "-f", b.path("long"))
	require.Equal(t, []int{1, 2, 3, 4, 5}, numbers(b.tasks()))
	b.queue("move", "5", "FIRST")
	b.queue("move", "1", "LAST")
	require.Equal(t, []int{5, 2, 3, 4, 1}, numbers(b.tasks()))
	b.queue("move", "3", "2")
	require.Equal(t, []int{5, 3, 2, 4, 1}, numbers(b.tasks()))
	b.queue("drop", "2")
	b.queue("edit", "3", "--", "third", "changed")
	b.vars = []string{"EDITOR=sed -i s/fourth/edited/"}
	b.queue("edit", "4")
	require.Equal(t, "edited\nof two lines", b.task(4).Prompt)
	_, errOut, code = b.run("queue", "drop", "9")
	require.NotZero(t, code)
	require.Contains(t, errOut, `"9": no such task`)

	b.kill(syscall.SIGKILL)
	b.start()
	require.Equal(t, []int{5, 3, 4, 1}, numbers(b.tasks()), "all of it is on disk")
	b.run("unpause")
	b.until("all are begun", func() bool { return len(b.begun()) == 4 })
	require.Equal(t, []string{"fifth", "third changed", "edited\nof two lines", "first"}, b.given())
	b.until("all are sessions", func() bool {
		for _, task := range b.tasks() {
			if task.State != resume.TaskStarted {
				return false
			}
		}
		return true
	})
	_, errOut, code = b.run("queue", "edit", "3", "--", "again")
	require.NotZero(t, code)
	require.Contains(t, errOut, "has started already")
	b.queue("drop", "3")
	require.Len(t, b.tasks(), 3)
}

func numbers(tasks []view.Task) (all []int) {
	for _, task := range tasks {
		all = append(all, task.N)
	}
	return all
}

// A task waits for a time, or until another session has nothing left to do.
func TestATaskWaitsForWhatItIsToldTo(t *testing.T) {
	b := newQueueBox(t, "max_concurrent = 5\n")
	b.write("src/README", "")
	b.write("works", "")
	b.start()
	at := time.Now().Add(time.Hour).Truncate(time.Minute)
	dir := []string{"add", "--dir", b.path("src")}
	b.queue(append(dir, "--after", at.Format("15:04"), "--", "later")...)
	require.WithinDuration(t, at, *b.task(1).NextAt, time.Second)
	b.queue(append(dir, "--", "one")...)
	b.queue(append(dir, "--after", "2", "--", "two")...)
	b.until("the second waits for the first", func() bool {
		return b.task(2).State != resume.TaskQueued && strings.Contains(b.task(3).Reason, "comes first")
	})
	require.NoError(t, os.Remove(b.path("works")))
	b.until("both are begun", func() bool { return b.task(3).State == resume.TaskStarted })
	require.Equal(t, []string{"one", "two"}, b.given())
	require.Equal(t, resume.TaskQueued, b.task(1).State)
	_, errOut, code := b.run(append([]string{"queue"}, append(dir, "--after", "nobody", "--", "x")...)...)
	require.NotZero(t, code)
	require.Contains(t, errOut, "--after nobody")
	_, errOut, code = b.run("retry", b.task(1).ID)
	require.Zero(t, code, errOut)
	b.until("a person who asks for it gets it", func() bool { return b.task(1).State == resume.TaskStarted })
}

// A person may start a task before the limit of its account is over, but not without knowing it.
func TestATaskIsStartedBeforeTheProvidersTimeOnlyIfAsked(t *testing.T) {
	b := newQueueBox(t, "")
	b.start()
	const other = "0b6b1a62-1f8e-4a3b-9d5b-0a6de1f3c0aa"
	b.write("src/other/README", "")
	b.write(".claude/projects/-src/"+other+".jsonl", usageLimitLine(other, b.path("src/other"), time.Now(), time.Now().Add(time.Hour)))
	b.untilState(other, resume.Waiting)
	b.queue("add", "--dir", b.path("src"), "--", "go")
	b.until("it is held back", func() bool { return strings.Contains(b.task(1).Reason, "due, but limited until") })
	_, errOut, code := b.run("retry", b.task(1).ID)
	require.Equal(t, exitUsage, code)
	require.Contains(t, errOut, "nothing was done: the provider asked to wait until ")
	require.Equal(t, resume.TaskQueued, b.task(1).State)
	_, errOut, code = b.run("retry", "--now", b.task(1).ID)
	require.Zero(t, code, errOut)
	b.until("it is begun", func() bool { return b.task(1).State == resume.TaskStarted })
	require.Len(t, b.begun(), 1)
}

// A task that fails is reported, and not started a second time unless a person asks for it.
func TestATaskThatFailsIsTold(t *testing.T) {
	hook := newHook(t)
	b := newQueueBox(t, fmt.Sprintf("[notify]\ngroup_wait = \"0s\"\n[[notify.webhook]]\nname = \"hook\"\nurl = %q\n", hook.URL))
	b.write("fails", "")
	b.write("src/README", "")
	b.start()
	b.queue("add", "--dir", b.path("src"), "--", "go")
	b.until("it failed", func() bool { return b.task(1).State == resume.TaskFailed })
	require.Contains(t, b.task(1).Reason, "failed: exit status 3: no such thing")
	b.until("a person is told", func() bool { return len(hook.got()) == 1 })
	require.Contains(t, hook.got()[0].Text, "started, but failed")
	require.Len(t, b.begun(), 1)
	require.Equal(t, 1, b.status().Daemon.Queue.Failed)
	logs, errOut, code := b.run("logs", b.task(1).ID)
	require.Zero(t, code, errOut)
	require.Contains(t, logs, "no such thing")
	require.NoError(t, os.Remove(b.path("fails")))
	_, errOut, code = b.run("retry", b.task(1).ID)
	require.Zero(t, code, errOut)
	b.until("it is begun", func() bool { return b.task(1).State == resume.TaskStarted })
	require.Len(t, b.begun(), 2)
}

// What began a session has not resumed it.
func TestLogsTellAStartFromAResume(t *testing.T) {
	b := newQueueBox(t, "[backoff]\nbase_delay = \"100ms\"\n")
	b.write("src/README", "")
	b.start()
	b.queue("add", "--dir", b.path("src"), "--", "go")
	b.until("it is begun", func() bool { return b.task(1).State == resume.TaskStarted })
	id := b.task(1).ID
	headers := func() string {
		logs, errOut, code := b.run("logs", id)
		require.Zero(t, code, errOut)
		return strings.Join(regexp.MustCompile(`(?m)^--- [a-z0-9 ]+ ---`).FindAllString(logs, -1), "\n")
	}
	require.Equal(t, "--- start ---", headers())
	b.until("its command has ended", func() bool { return b.session(id).State == resume.Watching })
	b.appendTo(".claude/projects/-src/"+id+".jsonl", refusalLine(id, b.path("src")))
	b.until("it is resumed", func() bool { return len(b.begun()) == 2 })
	require.Equal(t, "--- start ---\n--- resume 1 ---", headers())
}

// A task is not started in a directory that others can write to, or that is excluded.
func TestATaskIsNotBegunWhereItMayNot(t *testing.T) {
	b := newQueueBox(t, "exclude = [\"~/src/secret\"]\n")
	b.write("src/secret/README", "")
	b.write("src/open/README", "")
	require.NoError(t, os.Chmod(b.path("src/open"), 0o777))
	b.start()
	b.queue("add", "--dir", b.path("src/secret"), "--", "go")
	b.queue("add", "--dir", b.path("src/open"), "--", "go")
	b.until("both are refused", func() bool {
		return b.task(1).State == resume.TaskFailed && b.task(2).State == resume.TaskFailed
	})
	require.Contains(t, b.task(1).Reason, "excluded")
	require.Contains(t, b.task(2).Reason, "it is not used")
	require.Empty(t, b.begun())
	_, errOut, code := b.run("queue", "add", "--dir", b.path("src/gone"), "--", "go")
	require.NotZero(t, code)
	require.Contains(t, errOut, "is not a directory")
	_, errOut, code = b.run("queue", "add", "--agent", "nobody", "--", "go")
	require.NotZero(t, code)
	require.Contains(t, errOut, "not configured")
}

// The daemon is killed again and again while tasks are started: each one is started once.
func TestEachTaskIsBegunOnceWhateverHappensToTheDaemon(t *testing.T) {
	b := newQueueBox(t, "max_concurrent = 4\n")
	b.write("src/README", "")
	var text strings.Builder
	const many = 24
	for i := range many {
		fmt.Fprintf(&text, "task number %d\n", i)
	}
	b.write("many", text.String())
	b.queue("add", "--dir", b.path("src"), "-f", b.path("many"))
	for i := range 8 {
		run := b.command("run")
		require.NoError(t, run.Start())
		b.until("it does something", func() bool { return len(b.begun()) > 2*i })
		require.NoError(t, run.Process.Kill())
		_ = run.Wait()
	}
	b.start()
	b.until("all are sessions", func() bool {
		for _, task := range b.tasks() {
			if task.State != resume.TaskStarted {
				return false
			}
		}
		return true
	})
	seen := make(map[string]int)
	for _, prompt := range b.given() {
		seen[prompt]++
	}
	require.Len(t, seen, many)
	for prompt, times := range seen {
		require.Equal(t, 1, times, prompt)
	}
}

// usageLimitLine is what Claude Code writes at a usage limit.
func usageLimitLine(session, cwd string, at, lifts time.Time) string {
	return transcriptLine(session, cwd, at, map[string]any{
		"type": "assistant", "isApiErrorMessage": true, "error": "rate_limit", "apiErrorStatus": 429, "apiError": "usage_limit_reached",
		"quotaLimits": map[string]any{"status": "rejected", "resetsAt": lifts.Unix(), "rateLimitType": "five_hour"},
		"message": map[string]any{"role": "assistant", "model": "<synthetic>", "content": []any{map[string]any{
			"type": "text", "text": "You've hit your session limit",
		}}},
	})
}

// An agent that chooses its session ids itself reports which session it started. That session is not
// resumed while the command that started it runs.
func TestATaskOfCodexIsTheSessionThatItTells(t *testing.T) {
	b := newBox(t)
	b.write(configFile, "[resume]\nmargin = \"0s\"\nstagger = \"0s\"\n[[agent]]\nname = \"claude-code\"\nenabled = false\n")
	b.write("bin/codex", `#!/bin/sh
case "$*" in *resume*) `+strings.TrimPrefix(codexStandIn, "#!/bin/sh\n")+`exit;; esac
{ pwd; printf '%s\n' "$@"; } >> "$HOME/calls"
echo "OpenAI Codex v0.166.0 (research preview)
--------
workdir: $(pwd)
session id: `+codexSession+`
--------
user
session id: 01990000-0000-7000-8000-00000000dead" >&2
mkdir -p "$(dirname "$HOME/`+codexRollout+`")"
cp "$HOME/rollout" "$HOME/`+codexRollout+`"
while [ -e "$HOME/works" ]; do sleep 0.05; done
exit 1
`)
	b.write("works", "")
	b.write("rollout", shiftRollout(t, time.Now().Add(2*time.Second), b.path("bot")))
	b.start()
	out := b.queue("add", "--dir", b.path("bot"), "--agent", "codex", "--mode", "read-only", "--", "review")
	require.Contains(t, out, "queued for codex")
	b.until("it is a session", func() bool { return b.task(1).State == resume.TaskStarted })
	require.Equal(t, codexSession, *b.task(1).Session)
	require.NotEqual(t, codexSession, b.task(1).ID)
	b.until("it waits for its own command", func() bool {
		return strings.Contains(b.session(codexSession).Reason, "the command that started it still runs")
	})
	require.Equal(t, []string{b.path("bot"), "exec", "-C", b.path("bot"), "--sandbox", "read-only", "--", "review"},
		strings.Split(strings.TrimSpace(b.read("calls")), "\n"))
	for _, s := range b.status().Sessions {
		require.Equal(t, codexSession, s.ID, "who only stands in for a session is none")
	}
	require.NoError(t, os.Remove(b.path("works")))
	b.untilState(codexSession, resume.Watching)
	require.Equal(t, 1, strings.Count(b.read("calls"), "resume\n"))
}

// A mode that the agent does not have is refused when the task is given, not at its start in the night.
func TestAModeIsCheckedAgainstTheAgent(t *testing.T) {
	b := newQueueBox(t, "")
	b.start()
	_, errOut, code := b.run("queue", "add", "--dir", b.path("bot"), "--mode", "yolo", "--", "go")
	require.NotZero(t, code)
	require.Contains(t, errOut, `"yolo" is no permission mode of claude-code: its --permission-mode takes plan, dontAsk, default, acceptEdits`)
	require.Contains(t, b.queue(), "Nothing is queued.")
}

// What a session has just used up counts for a task that is due at that moment.
func TestATaskIsNotBegunRightAfterTheAllowanceIsUsedUp(t *testing.T) {
	b := newBox(t)
	b.write(configFile, "[resume]\nstagger = \"0s\"\n[[agent]]\nname = \"claude-code\"\nenabled = false\n")
	b.write("bin/codex", "#!/bin/sh\necho \"$@\" >> \"$HOME/calls\"\n")
	b.start()
	resets := time.Now().Add(3 * time.Hour).Truncate(time.Second)
	b.write(codexRollout, usedRollout(t, b.path("bot"), resets, 42, 99))
	b.until("it is known", func() bool { out, _, _ := b.run("usage"); return strings.Contains(out, "99 %") })
	moved := time.Now().Truncate(time.Millisecond)
	full := strings.Split(strings.TrimSpace(usedRollout(t, b.path("bot"), resets, 100, 100)), "\n")
	b.appendTo(codexRollout, strings.Join(full[len(full)-2:], "\n")+"\n")
	b.until("its end is read", func() bool {
		status, err := b.daemon.Status(t.Context(), true)
		return err == nil && len(status.Daemon.Agents) > 0 && slices.ContainsFunc(status.Daemon.Agents, func(a control.Watched) bool {
			return a.MovedAt != nil && !a.MovedAt.Before(moved)
		})
	})
	b.queue("add", "--dir", b.path("bot"), "--agent", "codex", "--", "review")
	b.until("it waits", func() bool {
		return strings.Contains(b.task(1).Reason, "allowance is used up until") || b.read("calls") != ""
	})
	require.Empty(t, b.read("calls"))
}

// A daemon that ends before it answers may have kept the task.
func TestALostAnswerIsNoRefusalOfATask(t *testing.T) {
	b := newQueueBox(t, "")
	require.NoError(t, os.MkdirAll(b.path("runtime/resumed"), 0o700))
	daemon, err := net.Listen("unix", b.path("runtime/resumed/resumed.sock"))
	require.NoError(t, err)
	defer daemon.Close()
	go func() {
		for {
			client, err := daemon.Accept()
			if err != nil {
				return
			}
			_, _ = client.Read(make([]byte, 4096))
			_ = client.Close()
		}
	}()
	_, errOut, code := b.run("queue", "add", "--", "do it")
	require.Equal(t, exitFailed, code)
	require.Contains(t, errOut, "it is not known whether the queue was changed: ")
	require.Contains(t, errOut, "\nTry: resumed queue\n")
}
