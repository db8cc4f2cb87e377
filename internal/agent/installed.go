package agent

// Installed is what an Agent may also be: one that can say which program it
// continues sessions with, before there is a session.
type Installed interface {
	// Program returns the program, or why it is not found.
	Program() (Program, error)
}
