package main

import (
	"cmp"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

// dies kills the daemon, once. The daemon is the parent of the process that stores the command's exit
// status.
const dies = "mkdir \"$HOME/died\" 2>/dev/null && read -r _ _ _ daemon _ < /proc/$PPID/stat && kill -9 \"$daemon\"\n"

// A daemon may die at every step of a resume. Nothing is sent twice, and what failed is sent again.
func TestACrashAtEachStepOfAgentsWithoutALock(t *testing.T) {
	t.Parallel()
	const inSeconds = "503 The model is overloaded. Please retry in 5s."
	killed := func(s *stay) { s.kill(syscall.SIGKILL) }
	died := func(s *stay) {
		s.untilDead()
		s.kill(syscall.SIGKILL)
	}
	for name, c := range map[string]struct {
		words  string // of the error; empty: that the limit lifts at once
		script string
		crash  func(*stay)
		calls  int  // in total
		stays  bool // the prompt is in the conversation: it is only continued
		after  func(*stay)
	}{
		"before the claim is on disk": {
			words: inSeconds,
			crash: func(s *stay) { s.untilState(s.id, resume.Waiting); killed(s) }, calls: 1,
		},
		"after the claim, before the start": {
			words: inSeconds,
			crash: func(s *stay) { s.untilState(s.id, resume.Waiting); s.kill(syscall.SIGTERM); s.claimed() }, calls: 1,
		},
		"when the command starts": {script: dies + "sleep 1", crash: died, calls: 1},
		"while the command runs": {
			script: "touch \"$HOME/runs\"; while [ ! -e \"$HOME/go\" ]; do sleep 0.05; done", calls: 1,
			crash: func(s *stay) { s.untilRuns(); killed(s) },
			after: func(s *stay) {
				s.until("it is adopted", func() bool { return strings.Contains(s.logged(), "still runs") })
				s.write("go", "")
			},
		},
		"while the command runs, which ends before the next daemon": {
			script: "touch \"$HOME/runs\"; while [ ! -e \"$HOME/go\" ]; do sleep 0.05; done", calls: 1,
			crash: func(s *stay) {
				s.untilRuns()
				killed(s)
				s.write("go", "")
				s.until("it has ended", func() bool { return strings.Contains(s.read(s.chat()), "Going on.") })
			},
		},
		"together with the command, as when the machine goes down": {
			script: "[ -e \"$HOME/runs\" ] || { sed \"s|@TIME@|$now|; s|@MS@|$ms|; s|@ID@|$2|; s|@CWD@|$PWD|\" \"$HOME/prompt\" >> \"$chat\"; touch \"$HOME/runs\"; exec sleep 600; }", calls: 2, stays: true,
			crash: func(s *stay) {
				s.untilRuns()
				killed(s)
				s.sweep()
			},
		},
		"after the end, before it settled":  {script: "trap '" + strings.TrimSpace(dies) + "' EXIT", crash: died, calls: 1},
		"after an end that came to nothing": {script: "[ -e \"$HOME/died\" ] || { " + strings.TrimSpace(dies) + "; exit 0; }", crash: died, calls: 2},
	} {
		for _, a := range []lockless{geminiCLI, qwenCode, copilotCLI, kimiCode, piAgent} {
			t.Run(a.name+"/"+name, func(t *testing.T) {
				b := newBox(t)
				b.configureLockless("settle = \"2s\"\n") // a command without a trace counts, and is followed by another
				s := b.stay(a, 1)
				b.write("prompt", a.prompt(a.words))
				a.write(b, c.script)
				b.start()
				s.stops(cmp.Or(c.words, atOnce))
				c.crash(s)
				b.start()
				if c.after != nil {
					c.after(s)
				}
				b.until(fmt.Sprintf("it is called %d times and goes on", c.calls), func() bool {
					return len(s.calls()) == c.calls && b.session(s.id).State == resume.Watching
				})
				b.untilOver(s.id)
				want := slices.Repeat([]string{s.call()}, c.calls)
				if c.stays {
					want[c.calls-1] = strings.TrimSuffix(s.call(), a.words) + "continue"
				}
				require.Equal(t, want, s.calls())
			})
		}
	}
}

func (s *stay) untilRuns() {
	s.until("the command runs", func() bool { return s.exists("runs") })
}

// claimed changes the stored state to that of a daemon that died between the claim and the start of the
// command.
func (s *stay) claimed() {
	s.edit(s.id, func(session *resume.Session) {
		session.State, session.NextAt, session.Runs = resume.Resuming, time.Time{}, 1
		session.Run = &resume.Run{Mark: "m-" + s.id, N: 1}
		session.Attempts = []resume.Attempt{{N: 1, Mark: session.Run.Mark, StartedAt: time.Now()}}
	})
}

// A daemon may die between the decision that only a person can help and the notice.
func TestAPersonIsToldByTheNextDaemonOfASessionThatOnlyTheyCanReach(t *testing.T) {
	b, hook := newBox(t), newHook(t)
	b.configureLockless("")
	s := b.stay(geminiCLI, 1)
	s.agent.write(b, "")
	inDirectory()(s)
	b.start()
	s.stops(atOnce)
	b.until("it waits for its process", func() bool { return strings.Contains(b.session(s.id).Reason, "continue there, or quit it") })
	b.kill(syscall.SIGTERM)

	db, err := sql.Open("sqlite", "file:"+b.path(".local/state/resumed/resumed.db"))
	require.NoError(t, err)
	_, err = db.Exec("DELETE FROM value; DELETE FROM delivery")
	require.NoError(t, errors.Join(err, db.Close()))
	b.appendTo(configFile, fmt.Sprintf("[notify]\ngroup_wait = \"0s\"\n[[notify.webhook]]\nname = \"hook\"\nurl = %q\n", hook.URL))
	b.start()
	b.until("a person is told", func() bool { return len(hook.got()) == 1 })
	require.Contains(t, hook.got()[0].Title, "needs you")
}
