package agent

import (
	"context"

	"resumed/internal/resume"
)

// Typing is a prompt that is typed into the terminal of the live process that
// holds the session.
type Typing struct {
	Process resume.Process // whose terminal it is
	Text    string         // one line

	// Judge says what the terminal's screen shows now. It is asked before
	// anything is typed, and again before the prompt is sent.
	Judge func(screen string) Sight
}

// Sending is a prompt that is sent to the process that holds the session, by no
// program and no terminal.
type Sending struct {
	To   string // whom, for people
	Text string

	// Do sends it, within a time of its own. It returns a *NotSentError where
	// nothing was sent for certain; after any other error nobody knows.
	Do func(context.Context) error
}

// NotSentError is why a Sending took no effect.
type NotSentError struct {
	Why  string
	Park bool // waiting does not mend it
}

// Error returns why nothing was sent.
func (e *NotSentError) Error() string { return e.Why }

// Sight is what a screen shows. With neither Menu nor Leave it is a composer
// that waits for a prompt.
type Sight struct {
	Draft   string // what stands in the composer
	Menu    bool   // a menu covers the composer, and Escape closes it without choosing
	Leave   *Leave // nothing may be typed, and why
	Strange bool   // because the screen was not recognised
}
