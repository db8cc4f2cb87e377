package termui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"resumed/internal/control"
	"resumed/internal/humanize"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
	"resumed/internal/sanitize"
	"resumed/internal/wake"
)

// Daemon is the part of control.Client that the views use.
type Daemon interface {
	Watch(ctx context.Context, all bool, see func(control.Update) error) error
	Do(ctx context.Context, name string, order control.Action) (view.Session, error)
	Fleet(ctx context.Context, after string, most int) (control.Fleet, error)
	SetPaused(ctx context.Context, paused bool) error
}

// lookEvery is the time between two tries to reach a daemon that is gone.
const lookEvery = time.Second

// lost means that the daemon no longer answers.
type lost struct{ err error }

// String returns it in words for people.
func (l lost) String() string {
	switch {
	case l.err == nil || errors.Is(l.err, control.ErrNoDaemon):
		return "no daemon; looking for it"
	case errors.Is(l.err, control.ErrHung):
		return "the daemon does not answer; trying again"
	}
	return "the daemon does not answer; trying again (" + sanitize.Line(l.err.Error()) + ")"
}

// Following is what is watched, and where it is shown.
type Following struct {
	Daemon Daemon
	Out    io.Writer
	Err    io.Writer // for messages that are not part of the output
	Paint  Paint
	All    bool                                                      // also sessions that were never stopped
	Only   *resume.Key                                               // only this session; nil: all of them
	Run    func(ctx context.Context, args ...string) (string, error) // runs a command of this program, and returns what it prints; nil: none
	Which  func(view.Session) bool                                   // only sessions for which it is true; nil: all of them
}

// follow passes on the daemon's updates of the wanted sessions, and that the daemon is gone, until ctx is
// done. It connects again to a restarted daemon. A session that is no longer wanted is gone.
func (f Following) follow(ctx context.Context, update func(control.Update) error, gone func(lost) error) error {
	for {
		var stop error
		err := f.Daemon.Watch(ctx, f.All, func(u control.Update) error {
			stop = update(f.wanted(u))
			return stop
		})
		if ctx.Err() != nil {
			return nil
		}
		if stop == nil {
			stop = gone(lost{err})
		}
		if stop != nil || !wake.Sleep(ctx, lookEvery) {
			return stop
		}
	}
}

func (f Following) wanted(u control.Update) control.Update {
	if f.Which == nil {
		return u
	}
	unwanted := func(s view.Session) bool { return !f.Which(s) }
	for _, s := range u.Sessions {
		if unwanted(s) && !u.Whole {
			u.Gone = append(u.Gone, s.Key())
		}
	}
	u.Sessions = slices.DeleteFunc(slices.Clone(u.Sessions), unwanted)
	return u
}

// Lines prints the state of the sessions, and then one line for each change, until ctx is done.
func (f Following) Lines(ctx context.Context) error {
	p := printer{f: f, said: make(map[resume.Key]string)}
	return f.follow(ctx, p.update, p.gone)
}

// Updates calls see with every update until ctx is done.
func (f Following) Updates(ctx context.Context, see func(control.Update) error) error {
	return f.follow(ctx, func(u control.Update) error {
		if f.Only != nil {
			u.Sessions = slices.DeleteFunc(u.Sessions, func(s view.Session) bool { return s.Key() != *f.Only })
			u.Gone = slices.DeleteFunc(u.Gone, func(key resume.Key) bool { return key != *f.Only })
			if !u.Whole && len(u.Sessions) == 0 && len(u.Gone) == 0 {
				return nil
			}
		}
		return see(u)
	}, func(l lost) error {
		_, err := fmt.Fprintln(f.Err, "resumed:", l)
		return err
	})
}

type printer struct {
	f          Following
	board      board
	said       map[resume.Key]string
	daemonLine string // the daemon's last line
	away       bool
}

func (p *printer) update(u control.Update) error {
	p.away = false
	changed := p.board.apply(u)
	if err := p.daemon(u.Daemon); err != nil {
		return err
	}
	now := time.Now()
	for _, r := range changed {
		key := r.view.Key()
		if p.f.Only != nil && key != *p.f.Only {
			continue
		}
		// The countdown changes all the time, which is not printed. A change of its end is.
		essence := fmt.Sprint(r.view.State, r.view.Paused, r.view.Attempt, next(&r.view), r.owner, r.why)
		if p.said[key] == essence {
			continue
		}
		p.said[key] = essence
		if err := p.say(now, p.session(r, now)); err != nil {
			return err
		}
	}
	maps.DeleteFunc(p.said, func(key resume.Key, _ string) bool { return p.board.rows[key] == nil })
	return nil
}

func (p *printer) session(r *row, now time.Time) string {
	state, colour := stateOf(r.view)
	line := fmt.Sprintf("%s  %s  %s  %s", p.f.Paint.In(Bold, r.name), r.project, r.agent, p.f.Paint.In(colour, state))
	if when := humanize.Countdown(r.view, now); when != "" {
		line += ", " + when
	}
	if r.view.Attempt > 0 {
		line += ", try " + humanize.Tries(r.view)
	}
	if r.owner != "" {
		line += ", held by " + r.owner
	}
	if r.why != "" {
		line += ": " + r.why
	}
	return line
}

func (p *printer) daemon(d control.Daemon) error {
	facts := []string{fmt.Sprintf("resumed %s, pid %d", sanitize.Line(d.Version), d.PID)}
	if d.Paused {
		facts = append(facts, "paused")
	}
	if d.Config.Error != nil {
		facts = append(facts, "newest configuration is not used: "+sanitize.Line(*d.Config.Error))
	}
	for _, problem := range d.Problems {
		facts = append(facts, sanitize.Line(problem))
	}
	line := strings.Join(facts, ", ")
	if line == p.daemonLine {
		return nil
	}
	p.daemonLine = line
	return p.say(time.Now(), line)
}

func (p *printer) gone(l lost) error {
	if p.away {
		return nil // printed once
	}
	p.away, p.daemonLine = true, ""
	return p.say(time.Now(), p.f.Paint.In(Red, l.String()))
}

func (p *printer) say(now time.Time, line string) error {
	_, err := fmt.Fprintln(p.f.Out, p.f.Paint.In(Dim, now.Format("2006-01-02 15:04:05")), line)
	return err
}
