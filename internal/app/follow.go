package app

import (
	"context"
	"errors"
	"strings"

	"resumed/internal/agent"
	"resumed/internal/resume"
	"resumed/internal/runner"
	"resumed/internal/sanitize"
)

// follow waits for a resume command and reports how it ended. When the daemon
// stops first, the command lives on and the next daemon finds it.
func (d *daemon) follow(ctx context.Context, session resume.Session, process *runner.Process, output string) {
	mark := session.Run.Mark
	result := d.await(ctx, mark, process)
	if ctx.Err() != nil {
		return
	}
	d.tidy(ctx, session)
	ended := ending(mark, result, output)
	if ended.Outcome != resume.TimedOut {
		if words, denied := d.denied(ctx, session, output); denied {
			ended.Outcome, ended.Err = resume.Denied, words
		}
	}
	d.tell(ctx, session.Key, ended)
}

// resultTail is how much of a run's output may hold its result.
const resultTail = 64 << 10

// denied says in words what a resumed run that is over was refused at last.
func (d *daemon) denied(ctx context.Context, session resume.Session, output string) (words string, denied bool) {
	denier, ok := d.agentOf(session.Key.Agent).(agent.Denier)
	attempt, known := session.Tried(session.Run.Mark)
	if !ok || !known {
		return "", false
	}
	tail, _ := runner.Tail(output, resultTail) // most agents tell in their transcript
	denial, denied, err := denier.Denied(ctx, session, agent.Ran{Since: attempt.StartedAt, Output: tail})
	if err != nil && ctx.Err() == nil {
		d.log.Warn("it could not be read whether a resume was refused something",
			"session", session.Key.ID, "agent", session.Key.Agent, "err", err)
	}
	return denial.String(), denied
}

// await waits for a command, which can be stopped meanwhile.
func (d *daemon) await(ctx context.Context, mark string, process *runner.Process) runner.Result {
	d.mu.Lock()
	d.running[mark] = process
	d.mu.Unlock()
	defer func() {
		d.mu.Lock()
		delete(d.running, mark)
		d.mu.Unlock()
	}()
	return process.Wait(ctx)
}

// ending puts the end of a command into words.
func ending(mark string, result runner.Result, output string) resume.Ended {
	ended := resume.Ended{Mark: mark, Outcome: resume.Delivered}
	timeout, timedOut := errors.AsType[*runner.TimeoutError](result.Err)
	stall, stalled := errors.AsType[*runner.StallError](result.Err)
	switch {
	case timedOut:
		ended.Outcome, ended.Err = resume.TimedOut, timeout.Error()
	case stalled:
		ended.Outcome, ended.Err = resume.TimedOut, stall.Error()
	case result.Err != nil:
		ended.Outcome, ended.Err = resume.Failed, result.Err.Error()
	}
	if ended.Outcome == resume.Failed {
		if words, err := runner.Tail(output, 2048); err == nil {
			if last := lastLine(words); last != "" {
				ended.Err += ": " + sanitize.Short(last, longestText)
			}
		}
	}
	return ended
}

// signsOfLife are the files whose change shows that a resumed agent works: its
// transcript, and what a database writes first.
func signsOfLife(s resume.Session) []string { return []string{s.Transcript, s.Transcript + "-wal"} }

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
