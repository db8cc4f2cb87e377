// Package terminal finds the terminal that an agent is open in, proves whose it is
// before every key, and types into it. The programs that can be asked to type (tmux,
// kitty) are rooms of their own beneath it: each says what it knows of a window.
package terminal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"resumed/internal/procfs"
	"resumed/internal/resume"
)

// Refusal says why a terminal is not touched.
type Refusal struct {
	Why     string
	Passing bool // somebody is about: it may be over soon
	Outside bool // the process was not started where anything can be typed

	// Helps is what a person can do, so that it can the next time; "": nothing there.
	Helps string
}

func (e *Refusal) Error() string { return e.Why }

// Advice says why nothing can be typed, and what helps the next time that the program is started.
func (e *Refusal) Advice(program string) string {
	if !e.Outside {
		return e.Why
	}
	next := fmt.Sprintf("start it with `resumed shell %s`", program)
	if e.Helps != "" {
		next = e.Helps + ", or " + next
	}
	return fmt.Sprintf("%s; next time %s", e.Why, next)
}

// Key is a key that may be pressed. There are no others on purpose: digits and
// arrows choose from menus.
type Key string

// The keys.
const (
	Enter  Key = "Enter"
	Escape Key = "Escape"
)

// Window is one terminal of a program that can be asked to read it and to type.
// What is said of it is believed only as far as the kernel says the same.
type Window interface {
	// String names the window for people, and Kind what it is one of: "tmux pane".
	String() string
	Kind() string

	// Facts returns what the program says of the window now: a *Refusal where keys
	// would not reach the program that it shows.
	Facts(context.Context) (Facts, error)

	// Screen returns the text that the window shows, one line a row.
	Screen(context.Context) (string, error)

	// Write types one line of plain text as it is, Press presses a key.
	Write(ctx context.Context, text string) error
	Press(context.Context, Key) error
}

// Facts are what a proof begins with.
type Facts struct {
	Root int    // the window's first process
	TTY  uint64 // its terminal, as the kernel numbers it
}

// Look returns the window that a process of that environment was told that it
// lives in, or nil where it was told of none. It may have moved away since: that is
// what the proof is for.
type Look func(environ []string) (Window, error)

// Pane is the terminal that a process lives in. Find makes one.
type Pane struct {
	window  Window
	process resume.Process
}

// Find returns the terminal that the process lives in, and proves it. A process may
// have been told of several, one within the other: the one that is proved counts. The error is a
// *Refusal where there is none, or where it is another's.
func Find(ctx context.Context, process resume.Process, looks ...Look) (*Pane, error) {
	environ, err := procfs.Proc.Environ(process.PID)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return nil, &Refusal{Why: fmt.Sprintf("process %d is gone", process.PID), Passing: true}
	}
	if err != nil {
		return nil, err // it names the process
	}
	var refused error
	for _, look := range looks {
		window, err := look(environ)
		if err == nil && window == nil {
			continue
		}
		if err == nil {
			p := &Pane{window: window, process: process}
			if err = p.prove(ctx); err == nil {
				return p, nil
			}
		}
		if refused == nil || weight(err) > weight(refused) {
			refused = err
		}
	}
	if refused == nil {
		refused = &Refusal{Why: "it is not in tmux or kitty", Outside: true}
	}
	return nil, refused
}

// weight says which of several reasons a person is told: the one that may be over
// soon, then the one of a terminal that is there.
func weight(err error) int {
	refusal, ok := errors.AsType[*Refusal](err)
	switch {
	case !ok || refusal.Passing:
		return 2
	case !refusal.Outside:
		return 1
	default:
		return 0
	}
}

// String names the terminal for people.
func (p *Pane) String() string { return p.window.String() }

// Screen returns the text that the terminal shows, one line a row.
func (p *Pane) Screen(ctx context.Context) (string, error) { return p.window.Screen(ctx) }

// Type types the text as it is, and nothing after it. It proves again whose
// the terminal is.
func (p *Pane) Type(ctx context.Context, text string) error {
	if text == "" || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 }) {
		return fmt.Errorf("type into %s: only one line of plain text can be typed", p)
	}
	if err := p.prove(ctx); err != nil {
		return err
	}
	return p.window.Write(ctx, text)
}

// Press presses a key. It proves again whose the terminal is.
func (p *Pane) Press(ctx context.Context, key Key) error {
	if key != Enter && key != Escape {
		return fmt.Errorf("press %q: not a key that is ever pressed", key)
	}
	if err := p.prove(ctx); err != nil {
		return err
	}
	return p.window.Press(ctx, key)
}
