package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"resumed/internal/procfs"
	"resumed/internal/resume"
)

const (
	// lookEvery is how often a command is checked for signs of life, and an adopted one for
	// its end.
	lookEvery = 500 * time.Millisecond

	// sweepEvery is how often processes are counted that got a signal to end.
	sweepEvery = 50 * time.Millisecond

	// killPatience is how long processes may take to end after SIGKILL. One that hangs in
	// the kernel never ends, and is reported.
	killPatience = 5 * time.Second
)

var (
	// ErrDetached is the error of a Wait that returned before the command ended: it still runs.
	ErrDetached = errors.New("the command was left running")

	// ErrStopped is part of the error of a command that Stop ended.
	ErrStopped = errors.New("the command was stopped")
)

// TimeoutError says that a command was ended because it ran too long, or gave no sign of life.
type TimeoutError struct {
	Why   string // such as "it ran longer than"
	After time.Duration
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("the command was ended: %s %s", e.Why, e.After)
}

// Result is how a command ended.
type Result struct {
	Known bool  // false if its exit status was not read, or it still runs
	Err   error // nil if it ended without an error, or it is not known how
}

// Process is a command that runs, or ran. Its methods may be called from
// several goroutines at once.
type Process struct {
	resume.Process

	cmd     Command
	started time.Time
	guessed bool // a process has the pid of the command, and nothing more is known
	stopped atomic.Bool

	// ended is closed when a child of this daemon has ended; nil for an adopted process.
	// The fields below are written before.
	ended   chan struct{}
	exitErr error
	unknown bool // it has ended, and it is not known how
}

// Bind sets the limits, the signs of life and the mark of the command that an adopted process
// was started with. Call it before Wait and Stop.
func (p *Process) Bind(cmd Command) {
	cmd.Mark = cmp.Or(cmd.Mark, p.cmd.Mark)
	p.cmd = cmd
}

// Adopt returns the living process of that pid and start time, or false if it has ended or
// another process has its pid now.
func Adopt(process resume.Process) (*Process, bool) {
	if process.PID <= 0 || process.Start == 0 || !alive(process) {
		return nil, false
	}
	age, _ := procfs.Proc.Age(process.PID) // it was alive just now
	return &Process{Process: process, started: time.Now().Add(-max(0, age))}, true
}

// FindByPID returns the process that has the pid of a command started at that time, where
// processes cannot be distinguished. It counts as that command, so that the command is not run
// twice; it is never ended, because it may be another process.
func FindByPID(pid int, since time.Time) (*Process, bool) {
	if !answers(pid) {
		return nil, false
	}
	return &Process{Process: resume.Process{PID: pid}, started: since, guessed: true}, true
}

// answers reports whether this user has a process of that pid that leads its group, as commands do.
func answers(pid int) bool {
	if pid <= 0 || pid == os.Getpid() || syscall.Kill(pid, 0) != nil {
		return false
	}
	group, err := syscall.Getpgid(pid)
	return err == nil && group == pid
}

// Identity identifies the process, even if its pid is used again later.
func (p *Process) Identity() resume.Process { return p.Process }

// Began returns when the command was started.
func (p *Process) Began() time.Time { return p.started }

// Wait waits for the command to end. It ends the command and its children if they run too
// long or show no sign of life for too long. When ctx ends first, the command is left running.
func (p *Process) Wait(ctx context.Context) Result {
	look := time.NewTicker(p.lookEvery())
	defer look.Stop()
	pulse := newPulse(p.cmd.signs)
	for {
		select {
		case <-p.ended:
			return p.result(nil)
		case <-ctx.Done():
			if p.over() { // both at once: the exit status counts
				return p.result(nil)
			}
			return Result{Err: ErrDetached}
		case <-look.C:
			// A zombie without a parent that waits still has its pid, so its status file counts too.
			if p.ended == nil && (!alive(p.Process) || p.guessed && ReadStatusFile(p.cmd.Status).Ended) {
				return p.result(nil)
			}
			if p.guessed {
				continue
			}
			timeout, stall := p.cmd.bounds()
			if timeout > 0 && time.Since(p.started) >= timeout {
				return p.endBecause(ctx, &TimeoutError{"it ran longer than", timeout})
			}
			if quiet := pulse.quiet(); stall > 0 && quiet >= stall {
				return p.endBecause(ctx, &TimeoutError{"it gave no sign of life for", stall})
			}
		}
	}
}

// lookEvery returns an interval that is short enough for a short stall or timeout.
func (p *Process) lookEvery() time.Duration {
	every := lookEvery
	timeout, stall := p.cmd.bounds()
	for _, bound := range []time.Duration{timeout, stall} {
		if bound > 0 {
			every = min(every, bound/4)
		}
	}
	return max(time.Millisecond, every)
}

func (p *Process) endBecause(ctx context.Context, why error) Result {
	if err := p.end(ctx); err != nil {
		why = fmt.Errorf("%w; %w", why, err)
	}
	return p.result(why)
}

func (p *Process) result(why error) Result {
	r := Result{Err: why}
	if p.over() {
		r = Result{Err: cmp.Or(why, p.exitErr), Known: !p.unknown}
	} else if p.ended == nil && why == nil {
		r = ReadStatusFile(p.cmd.Status).Result()
	}
	if p.stopped.Load() && why == nil {
		r.Err = ErrStopped
		if r.Known && p.exitErr != nil {
			r.Err = fmt.Errorf("%w: %w", ErrStopped, p.exitErr)
		}
	}
	return r
}

// over reports whether a child of this daemon has ended. It is false for an adopted process.
func (p *Process) over() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// Stop ends the command and its children with SIGTERM, and with SIGKILL after Grace or as
// soon as ctx ends. The error says which processes did not end.
func (p *Process) Stop(ctx context.Context) error {
	p.stopped.Store(true)
	return p.end(ctx)
}

// end ends the group, and the processes that left the group and still have the mark.
func (p *Process) end(ctx context.Context) error {
	if p.guessed {
		return fmt.Errorf("end the command: processes cannot be seen here, so that process %d may be another's: end it yourself", p.PID)
	}
	p.endUnit(ctx)
	if p.sweep(ctx, syscall.SIGTERM, p.cmd.grace()) == 0 {
		return p.reaped()
	}
	// Without ctx: SIGKILL must reach all of a group that got SIGTERM.
	if left := p.sweep(context.WithoutCancel(ctx), syscall.SIGKILL, killPatience); left > 0 {
		return fmt.Errorf("end the command: %d of its processes do not end", left)
	}
	return p.reaped()
}

func (p *Process) reaped() error {
	if p.ended == nil {
		return nil
	}
	select {
	case <-p.ended:
		return nil
	case <-time.After(killPatience):
		return fmt.Errorf("end the command: process %d does not end", p.PID)
	}
}

// sweep sends the signal and returns how many processes still live when all have ended,
// patience is over or ctx ends. It lists them again until then, because a process may have
// forked; but each gets the signal only once, because many programs skip their cleanup on a
// second SIGTERM.
func (p *Process) sweep(ctx context.Context, sig syscall.Signal, patience time.Duration) int {
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	told := make(map[resume.Process]bool)
	for {
		left := p.family()
		if len(left.members) == 0 {
			return 0
		}
		left.signal(sig, told)
		select {
		case <-ctx.Done():
			return len(left.members)
		case <-deadline.C:
			return len(left.members)
		case <-time.After(sweepEvery):
		}
	}
}

// pulse checks files for signs of life. It compares the files between two checks, and not
// their times with the clock: after a laptop slept for a night, that would look like hours
// without a change.
type pulse struct {
	paths func() []string
	last  map[string][2]int64 // size and time of each file; zero: it is not there
	moved time.Time
}

func newPulse(paths func() []string) *pulse {
	p := &pulse{paths: paths, last: make(map[string][2]int64)}
	p.quiet()
	p.moved = time.Now()
	return p
}

// quiet checks the files and returns how long nothing has changed.
func (p *pulse) quiet() time.Duration {
	for _, path := range p.paths() {
		var now [2]int64
		if info, err := os.Stat(path); err == nil {
			now = [2]int64{info.Size(), info.ModTime().UnixNano()}
		}
		if now != p.last[path] {
			p.last[path], p.moved = now, time.Now()
		}
	}
	return time.Since(p.moved)
}
