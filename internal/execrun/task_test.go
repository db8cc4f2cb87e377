package execrun

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/backoff"
	"resumed/internal/headless"
	"resumed/internal/lease"
	"resumed/internal/leash"
	"resumed/internal/limit"
	"resumed/internal/lines"
	"resumed/internal/resume"
	"resumed/internal/starts"
)

func TestWhichFailuresAreTriedAgain(t *testing.T) {
	at := time.Date(2026, 5, 4, 15, 0, 0, 0, time.UTC)
	fails := func(class limit.Class, change func(*Failure)) *Failure {
		f := &Failure{At: at, Verdict: limit.Verdict{Class: class, WaitHelps: true}}
		change(f)
		return f
	}
	lifts := func(after time.Duration) func(*Failure) {
		return func(f *Failure) { f.Verdict.Reset = limit.Reset{At: at.Add(after)} }
	}
	as := func(*Failure) {}
	for rule, c := range map[string]struct {
		failure *Failure
		again   bool
	}{
		"what may pass":                         {fails(limit.Overloaded, as), true},
		"what does not pass by itself":          {fails(limit.Auth, as), false},
		"what a wait does not help":             {fails(limit.UsageLimit, func(f *Failure) { f.Verdict.WaitHelps = false }), false},
		"what its user ended":                   {fails(limit.Overloaded, func(f *Failure) { f.cut = true }), false},
		"a session that another one has by now": {fails(limit.Overloaded, func(f *Failure) { f.final = errors.New("held") }), false},
		"a limit that lifts after max_wait":     {fails(limit.UsageLimit, lifts(time.Hour)), true},
		"one that lifts a moment later":         {fails(limit.UsageLimit, lifts(time.Hour+time.Nanosecond)), false},
	} {
		task := &task{Options: Options{MaxWait: time.Hour}, input: &input{empty: true}, talk: &talk{}}
		require.Equal(t, c.again, task.retryable(c.failure), rule)
	}
	only := &task{Options: Options{RetryOn: []limit.Class{limit.Auth}}, input: &input{empty: true}, talk: &talk{}}
	require.True(t, only.retryable(fails(limit.Auth, as)), "its user wants that")
	require.False(t, only.retryable(fails(limit.Overloaded, as)), "and nothing else")
}

// A run without its prompt would be another run.
func TestAPromptThatCameByAPipeIsNotGivenHalf(t *testing.T) {
	reader, writer, err := os.Pipe()
	require.NoError(t, err)
	defer reader.Close()
	defer writer.Close()
	piped, err := newInput(reader)
	require.NoError(t, err)
	failed := &Failure{Verdict: limit.Verdict{Class: limit.Overloaded, WaitHelps: true}}
	require.False(t, (&task{input: piped, talk: talkOf(new(robot), "", "robot do")}).retryable(failed))
	require.ErrorContains(t, failed.final, "cannot be given twice")
	failed.final = nil
	require.True(t, (&task{input: piped, talk: talkOf(new(robot), "", "robot do x")}).retryable(failed), "its prompt is in its arguments")

	path := filepath.Join(t.TempDir(), "prompts")
	require.NoError(t, os.WriteFile(path, []byte("one\ntwo\n"), 0o600))
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	_, err = file.Seek(4, io.SeekStart) // a shell has read the first line
	require.NoError(t, err)
	in, err := newInput(file)
	require.NoError(t, err)
	require.False(t, in.spent())
	for range 2 {
		require.NoError(t, in.rewind())
		text, err := io.ReadAll(file)
		require.NoError(t, err)
		require.Equal(t, "two\n", string(text))
	}
}

func TestTheMarginIsAddedToATimeThatMayBeTooEarly(t *testing.T) {
	at := time.Date(2026, 5, 4, 15, 0, 0, 0, time.UTC)
	due := func(class limit.Class, rough bool) time.Duration {
		when, stated := (&task{Options: Options{Margin: time.Minute}}).due(&Failure{Verdict: limit.Verdict{Class: class, Reset: limit.Reset{At: at, Rough: rough}}})
		require.True(t, stated)
		return when.Sub(at)
	}
	require.Equal(t, time.Minute, due(limit.UsageLimit, false))
	require.Equal(t, time.Minute, due(limit.RateLimit, true))
	require.Zero(t, due(limit.RateLimit, false), "seconds of a provider are exact")
}

// A daemon that finds the session later starts all over again, unless it knows that somebody decided otherwise.
func TestWhatEndedAWaitIsNoted(t *testing.T) {
	for rule, c := range map[string]struct {
		err       error
		signal    syscall.Signal
		noted     string // empty: nothing
		cancelled bool
	}{
		"it succeeded":                    {},
		"the terminal is gone":            {signal: syscall.SIGHUP},
		"a person pressed Ctrl-C":         {signal: syscall.SIGINT, noted: "signal: interrupt", cancelled: true},
		"the same, while the command ran": {err: &Failure{Code: codeCtrlC}, noted: "signal: interrupt", cancelled: true},
		"a program ended it":              {signal: syscall.SIGTERM, noted: "signal: terminated"},
		"no retries are left":             {err: &backoff.ExhaustedError{Attempts: 3, Last: errors.New("overloaded")}, noted: "3 attempts"},
	} {
		t.Run(rule, func(t *testing.T) {
			dirs, cancelled := []string{t.TempDir()}, ""
			held, err := lease.Acquire(dirs, "robots", id)
			require.NoError(t, err)
			task := &task{
				Options: Options{Cancelled: func(agent, session string) { cancelled = agent + " " + session }},
				relay:   &relay{last: c.signal}, lease: held, talk: talkOf(new(robot), "", "robot do x --in "+id),
			}
			task.note(c.err)
			task.release()
			note, found := lease.LastNote(dirs, "robots", id)
			require.Equal(t, c.noted != "", found)
			require.Contains(t, note.Why, c.noted)
			require.Equal(t, c.cancelled, note.Cancelled)
			require.Equal(t, c.cancelled, cancelled == "robots "+id)
		})
	}
}

func TestASessionThatAnotherProcessLooksAfterIsLeftToIt(t *testing.T) {
	dirs := []string{t.TempDir()}
	other, err := lease.Acquire(dirs, "robots", id)
	require.NoError(t, err)
	task := &task{Options: Options{LeaseDirs: dirs, Messages: io.Discard}, talk: talkOf(new(robot), "", "robot do x --in "+id)}
	var held *lease.HeldError
	require.ErrorAs(t, task.hold(t.Context()), &held)
	require.NoError(t, other.Release())
	require.NoError(t, task.hold(t.Context()))
	require.NotNil(t, task.lease)
	task.release()
}

// scribe is a robot whose transcript has one line for each event, all of the same time.
type scribe struct{ *robot }

func (scribe) Sources() []agent.Source { return nil }

func (scribe) Observe(_ agent.Source, line lines.Line) (resume.Observation, bool) {
	return resume.Observation{Key: resume.Key{Agent: "robots", ID: id}, Event: resume.Prompted{At: time.Unix(1794750000, 0)}}, len(line.Data) > 0
}

// Some transcripts have times in whole seconds.
func TestALaterLineOfTheSameTimeShowsThatSomebodyWentOn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "transcript")
	require.NoError(t, os.WriteFile(path, []byte("one\n"), 0o600))
	talk := &talk{name: "robots", agent: scribe{new(robot)}, id: id, trail: headless.Continuation{Session: id, Transcript: path}}
	talk.last = talk.evidence(t.Context())
	require.False(t, talk.wentOn(t.Context()))
	require.NoError(t, os.WriteFile(path, []byte("one\ntwo\n"), 0o600))
	require.True(t, talk.wentOn(t.Context()))
}

func TestTheRefusalOfAnEarlierRunIsNotThatOfTheLatest(t *testing.T) {
	began := time.Date(2026, 5, 4, 15, 0, 7, 500, time.UTC)
	refused := resume.Limited{At: began.Truncate(time.Second), Verdict: limit.Verdict{Class: limit.UsageLimit}}
	talk := &talk{began: began, last: agent.Evidence{Observation: resume.Observation{Event: refused}}}
	require.Equal(t, refused, talk.recorded(), "its transcript has whole seconds")
	refused.At = refused.At.Add(-time.Nanosecond)
	talk.last.Event = refused
	require.Equal(t, resume.Limited{}, talk.recorded())
}

// The number of a group that has ended can be given to another one.
func TestOnlyTheGroupThatRunsIsKilled(t *testing.T) {
	child := exec.Command("sleep", "1000")
	child.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, child.Start())
	(&relay{group: child.Process.Pid + 1}).kill(child.Process.Pid)
	require.NoError(t, child.Process.Signal(syscall.SIGTERM))
	require.Error(t, child.Wait())
	require.Equal(t, syscall.SIGTERM, child.ProcessState.Sys().(syscall.WaitStatus).Signal())
}

// Origin, Variables and Tidy are what a run asks its agent for.

func (*robot) Origin(int, bool) *resume.Origin { return nil }

func (*robot) Variables() leash.Variables { return nil }

func (*robot) Tidy(context.Context, resume.Session) error { return nil }

// Some agents end with 0 although they were refused.
func TestARunThatWasRefusedAndEndsWell(t *testing.T) {
	dir := t.TempDir()
	const script = "#!/bin/sh\necho \"$@\" >>ran\nif test -e tried; then echo fine; else touch tried; echo refused; fi\n"
	program := filepath.Join(dir, "robot")
	require.NoError(t, os.WriteFile(program, []byte(script), 0o700))
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	require.NoError(t, err)
	defer null.Close()
	var said strings.Builder
	code, err := Run(t.Context(), Options{
		Argv: []string{program, "do", "x", "--in", id}, Dir: dir, Agents: map[string]agent.Agent{"robots": new(robot)},
		Prompt: func(_ limit.Verdict, attempt int) string { return fmt.Sprint("continue ", attempt) },
		Policy: func(string, limit.Class) backoff.Policy {
			return backoff.Policy{Strategy: backoff.Fixed, BaseDelay: time.Nanosecond, MaxDelay: time.Nanosecond, MaxRetries: 3}
		},
		LeaseDirs: []string{dir}, Starts: starts.In(dir), Stdin: null, Stdout: null, Stderr: null, Messages: &said,
	})
	require.NoError(t, err)
	require.Zero(t, code)
	ran, err := os.ReadFile(filepath.Join(dir, "ran"))
	require.NoError(t, err)
	require.Equal(t, "do x --in "+id+"\ngo on in "+id+" continue 1\n", string(ran), said.String())
}

// A command that took too long is ended with all that it started, also what it does not wait for and what ignores a
// request to end. The fifo comes to its end when the last process that holds it has ended.
func TestNothingOfARunThatTookTooLongGoesOn(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "fifo")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	fifo, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	require.NoError(t, err)
	defer fifo.Close()
	said, says, err := os.Pipe()
	require.NoError(t, err)
	defer said.Close()

	const script = `exec 3>fifo; trap "" TERM; sleep 1000 >/dev/null 2>&1 & trap - TERM; echo $!; wait`
	ctx, tooLong := context.WithCancel(t.Context())
	defer tooLong()
	ran := make(chan error, 1)
	go func() {
		defer says.Close()
		_, err := command{
			argv: []string{"/bin/sh", "-c", script}, dir: dir, stdout: says, stderr: says, observe: func(context.Context, int) {},
		}.run(ctx, new(relay))
		ran <- err
	}()
	var left int
	_, err = fmt.Fscan(said, &left)
	require.NoError(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			_ = syscall.Kill(left, syscall.SIGKILL)
		}
	})
	tooLong()
	require.NoError(t, <-ran)
	require.NoError(t, fifo.SetReadDeadline(time.Now().Add(time.Minute)))
	_, err = fifo.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF, "the process that it left behind still lives")
}
