// Package terminal finds the terminal of an agent, checks before every key that it is the right
// one, and types into it. Those that can be typed into (tmux, `resumed shell`) have packages of their
// own below this one.
package terminal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"time"

	"resumed/internal/procfs"
	"resumed/internal/resume"
)

// Refusal says why a terminal is not used.
type Refusal struct {
	Why     string
	Passing bool // it may be over soon, as when a person uses the terminal
}

func (e *Refusal) Error() string { return e.Why }

// ErrInUse says that a person uses the terminal: nothing was typed.
var ErrInUse = &Refusal{Why: "somebody was at its keyboard just now", Passing: true}

// ErrOutside says that the process was not started where anything can be typed.
var ErrOutside = &Refusal{Why: "it is not in tmux"}

// quietFor is how long no key of a person must have come before something is typed.
const quietFor = 10 * time.Second

// Advice returns why nothing can be typed, and what helps at the next start of the program.
func (e *Refusal) Advice(program string) string {
	if e != ErrOutside {
		return e.Why
	}
	return fmt.Sprintf("%s; next time start it with `resumed shell %s`", e.Why, program)
}

// Key is a key that may be pressed. There are no others on purpose: digits and arrows choose
// from menus.
type Key string

// The keys. The last three only take back what was typed.
const (
	Enter     Key = "Enter"
	Escape    Key = "Escape"
	LineStart Key = "C-a"
	LineEnd   Key = "C-e"
	Delete    Key = "DC"
)

// Window is a terminal of a program that can read it and type into it. Its information counts
// only if the kernel confirms it.
type Window interface {
	// String names the window for people, Kind its type: "tmux pane".
	String() string
	Kind() string

	// Facts returns the present state of the window: a *Refusal if keys would not reach the
	// program in it.
	Facts(context.Context) (Facts, error)

	// Screen returns the text in the window, one line per row, with sequences for what is dim or inverse, and
	// perhaps those for colours and links.
	Screen(context.Context) (string, error)

	// Write types one line of plain text, Press presses keys: all at once, with no key of a person
	// between them. If the Facts.Mark is not the given one in the same moment, nothing is typed and the
	// error is ErrInUse; "" is not compared.
	Write(ctx context.Context, text, mark string) error
	Press(ctx context.Context, mark string, keys ...Key) error
}

// Facts are the state of a window, and what is known of the keys that people press in it.
type Facts struct {
	Root int    // the window's first process
	TTY  uint64 // its terminal, in the kernel's numbering

	LastKey time.Time // not before the last key; zero: no person can type there now
	Mark    string    // changes with every key of a person
}

// Finder returns the window that the environment of a process names, or nil if it names none. The
// process may have moved away since: prove checks that.
type Finder func(environ []string) (Window, error)

// Pane is the terminal of a process. Find makes one.
type Pane struct {
	window  Window
	process resume.Process
	quiet   string // as long as it is the Facts.Mark, no person has pressed a key; "": not asked
}

// Find returns the terminal of the process, and proves it. The environment may name several, one
// inside the other: the one that is proved counts. The error is a *Refusal if there is none, or
// if it belongs to another process.
func Find(ctx context.Context, process resume.Process, looks ...Finder) (*Pane, error) {
	environ, err := procfs.Proc.Environ(process.PID)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return nil, &Refusal{Why: fmt.Sprintf("process %d is gone", process.PID), Passing: true}
	}
	if err != nil {
		return nil, err // it has the pid in its text
	}
	var refused error
	for _, look := range looks {
		window, err := look(environ)
		if err == nil && window == nil {
			continue
		}
		if err == nil {
			p := &Pane{window: window, process: process}
			if _, err = p.prove(ctx); err == nil {
				return p, nil
			}
		}
		if refused == nil || lasts(refused) && !lasts(err) {
			refused = err
		}
	}
	if refused == nil {
		refused = ErrOutside
	}
	return nil, refused
}

// lasts reports whether an error is one that waiting does not help. Of several, one that may be over soon is
// reported.
func lasts(err error) bool {
	refusal, ok := errors.AsType[*Refusal](err)
	return ok && !refusal.Passing
}

// String names the terminal for people.
func (p *Pane) String() string { return p.window.String() }

// Screen returns the text in the terminal, as Window.Screen does.
func (p *Pane) Screen(ctx context.Context) (string, error) { return p.window.Screen(ctx) }

// Quiet returns ErrInUse if a person has pressed a key a moment ago. From then on Type and Press
// return it as soon as a person has pressed another one.
func (p *Pane) Quiet(ctx context.Context) error {
	p.quiet = ""
	facts, err := p.prove(ctx)
	if err != nil {
		return err
	}
	if !facts.LastKey.IsZero() && time.Since(facts.LastKey).Abs() < quietFor {
		return ErrInUse
	}
	p.quiet = facts.Mark
	return nil
}

// Type types the text and nothing after it. It proves the terminal again.
func (p *Pane) Type(ctx context.Context, text string) error {
	if !IsPlainLine(text) {
		return fmt.Errorf("type into %s: only one line of plain text can be typed", p)
	}
	if _, err := p.prove(ctx); err != nil {
		return err
	}
	return p.window.Write(ctx, text, p.quiet)
}

// Press presses a key. It proves the terminal again.
func (p *Pane) Press(ctx context.Context, key Key) error {
	if key != Enter && key != Escape {
		return fmt.Errorf("press %q: not a key that is ever pressed", key)
	}
	if _, err := p.prove(ctx); err != nil {
		return err
	}
	return p.window.Press(ctx, p.quiet, key)
}

// TakeBack deletes a text that was typed into an empty line, and nothing else: a person may have
// typed more behind it, and goes on there.
func (p *Pane) TakeBack(ctx context.Context, text string) error {
	if _, err := p.prove(ctx); err != nil {
		return err
	}
	return p.window.Press(ctx, "", takeBack(len([]rune(text)))...)
}

// takeBack are the keys that delete the first characters of a line.
func takeBack(characters int) []Key {
	return slices.Concat([]Key{LineStart}, slices.Repeat([]Key{Delete}, characters), []Key{LineEnd})
}

// IsPlainLine reports whether a text may be typed: it has no keys in it that would do something.
func IsPlainLine(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 })
}

// IsPressed reports whether these keys are ever pressed together.
func IsPressed(keys []Key) bool {
	return slices.Equal(keys, []Key{Enter}) || slices.Equal(keys, []Key{Escape}) || len(keys) > 2 && slices.Equal(keys, takeBack(len(keys)-2))
}

// prove returns no error if keys typed into the window reach the process: it descends from the
// window's first process, has the window's terminal, and is in the foreground there. Keys for a
// program in the background, or in a terminal inside the window, would reach a shell or an
// editor.
func (p *Pane) prove(ctx context.Context) (Facts, error) {
	facts, err := p.window.Facts(ctx)
	if err != nil {
		return facts, err
	}
	pid := p.process.PID
	s, err := procfs.Proc.Stat(pid)
	switch {
	case err != nil || !s.Living() || p.process.Start != 0 && s.Start != p.process.Start:
		return facts, &Refusal{Why: fmt.Sprintf("process %d is gone", pid), Passing: true}
	case !descends(pid, facts.Root):
		return facts, &Refusal{Why: fmt.Sprintf("it does not belong to the %s that it names", p.window.Kind())}
	case s.TTY == 0 || s.TTY != facts.TTY:
		return facts, &Refusal{Why: fmt.Sprintf("it has another terminal than its %s", p.window.Kind())}
	case s.Group != s.Foreground || s.State == 'T' || s.State == 't':
		return facts, &Refusal{Why: fmt.Sprintf("process %d is not in the foreground of its %s", pid, p.window.Kind()), Passing: true}
	}
	return facts, nil
}

// maxDepth is far more than the depth of any process tree.
const maxDepth = 1000

func descends(pid, root int) bool {
	for range maxDepth {
		if pid == root {
			return true
		}
		s, err := procfs.Proc.Stat(pid)
		if err != nil || pid <= 1 {
			return false
		}
		pid = s.Parent
	}
	return false
}
