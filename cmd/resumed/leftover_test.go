package main

import (
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

// A process that an agent has started and left running, such as a server, is not the agent: it neither
// holds the session nor is it ended with a later resume.
func TestWhatAResumedRunLeftBehindIsNotTakenForIt(t *testing.T) {
	b := newBox(t)
	b.write(configFile, "[resume]\nstall = \"2s\"\n[backoff]\nbase_delay = \"200ms\"\njitter = false\n"+bot)
	b.write("bot/resume.sh", recordCall+`
if [ ! -e server ]; then
	setsid sleep 300 >/dev/null 2>&1 &
	echo $! > server
	touch runs
	while [ ! -e go ]; do sleep 0.05; done
fi
echo "step 1" >> logs/s1.log
`)
	b.start()
	b.write("bot/logs/s1.log", "rate limited\n")
	b.until("the run has begun", func() bool { return b.read("bot/server") != "" })
	b.until("it is stored that it runs", func() bool { run := b.stored("s1").Run; return run != nil && run.Process.PID != 0 })
	b.kill(syscall.SIGKILL)
	b.write("bot/go", "")
	b.untilExited("s1")
	b.start()
	b.untilState("s1", resume.Watching)
	b.appendTo("bot/logs/s1.log", "rate limited\n")
	b.until("it is resumed again", func() bool { return len(b.calls()) == 2 })
	b.untilOver("s1")
	require.NotContains(t, b.logged(), "still runs", "the daemon follows no process that could stall")
	require.NoError(t, b.signal("bot/server", 0), "the server still runs")
}

// untilExited returns when the first command of a session has left its exit status, which needs no daemon.
func (b *box) untilExited(id string) {
	b.t.Helper()
	b.until("the command of "+id+" has ended", func() bool {
		_, err := strconv.Atoi(strings.TrimSpace(b.read(stateOf + "/runs/" + id + "/1.exit")))
		return err == nil
	})
}

// signal sends a signal to the process with the pid in a file.
func (b *box) signal(name string, sig syscall.Signal) error {
	pid, err := strconv.Atoi(strings.TrimSpace(b.read(name)))
	require.NoError(b.t, err)
	return syscall.Kill(pid, sig)
}

// A wrapper may clear the environment, and that of another user's process cannot be read: the running
// command is recognized all the same.
func TestARunWithoutItsMarkIsNotBegunTwiceAfterARestart(t *testing.T) {
	b := newBox(t)
	hidden := strings.Replace(bot, `resume = ["sh"`, `resume = ["env", "-i", "PATH=/usr/bin:/bin", "sh"`, 1)
	b.write(configFile, "[backoff]\nbase_delay = \"100ms\"\njitter = false\n"+hidden)
	b.write("bot/resume.sh", recordCall+"while [ ! -e go ]; do sleep 0.05; done\necho \"step 1\" >> logs/s1.log\n")
	b.start()
	b.write("bot/logs/s1.log", "rate limited\n")
	b.until("the run has begun", func() bool { return len(b.calls()) == 1 && strings.Contains(b.logged(), "msg=resumed") })
	require.Zero(t, b.kill(syscall.SIGTERM))
	b.start()
	b.until("it is found again", func() bool { return strings.Contains(b.logged(), "still runs") })
	b.write("bot/go", "")
	b.untilState("s1", resume.Watching)
	require.Len(t, b.calls(), 1)
}

func TestAWaitWhoseRecordCannotBeReadIsFoundAgain(t *testing.T) {
	b, _ := waiting(t, fmt.Sprintf(inBackoff, "4m"))
	require.Zero(t, b.kill(syscall.SIGTERM))
	db, err := sql.Open("sqlite", "file:"+b.path(".local/state/resumed/resumed.db"))
	require.NoError(t, err)
	_, err = db.Exec("UPDATE session SET data = substr(data, 1, 40)")
	require.NoError(t, errors.Join(err, db.Close()))
	b.start()
	b.untilState(claudeSession, resume.Waiting)
	require.Contains(t, b.logged(), "a stored record was skipped")
}

// A command that goes into the background ends successfully at once: no second command is started while
// it works.
func TestACommandThatWorksInTheBackgroundIsNotJoined(t *testing.T) {
	b := newBox(t)
	b.write(configFile, "[resume]\nsettle = \"300ms\"\n[backoff]\nbase_delay = \"100ms\"\njitter = false\n"+bot)
	b.write("bot/resume.sh", recordCall+"setsid sh -c 'while [ ! -e go ]; do sleep 0.05; done; echo \"step 1\" >> logs/s1.log' >/dev/null 2>&1 &\n")
	b.start()
	b.write("bot/logs/s1.log", "rate limited\n")
	b.until("it is held back", func() bool { return strings.Contains(b.session("s1").Reason, "without a terminal, and is waited for") })
	b.write("bot/go", "")
	b.untilState("s1", resume.Watching)
	require.Len(t, b.calls(), 1)
}

// A process that was left running by a command that hit the limit again, such as a server, does not
// block the next try.
func TestWhatARefusedCommandLeavesRunningHoldsNothing(t *testing.T) {
	b := newBox(t)
	b.write(configFile, "[backoff]\nbase_delay = \"100ms\"\njitter = false\n"+bot)
	b.write("bot/resume.sh", recordCall+`if [ $(wc -l < calls) = 1 ]; then
	setsid sleep 600 >/dev/null 2>&1 &
	echo "rate limited" >> logs/s1.log
else
	echo "step 1" >> logs/s1.log
fi
`)
	b.start()
	b.write("bot/logs/s1.log", "rate limited\n")
	b.until("the second try helps", func() bool { return len(b.calls()) == 2 })
	b.untilState("s1", resume.Watching)
}
