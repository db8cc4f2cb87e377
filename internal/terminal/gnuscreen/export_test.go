package gnuscreen

import (
	"time"

	"resumed/internal/terminal"
)

// FindImpatient is Find, but what the server has not read after two seconds counts as not read.
func FindImpatient(environ []string) (terminal.Window, error) {
	found, err := Find(environ)
	if w, ok := found.(*window); ok {
		w.patience = 2 * time.Second
	}
	return found, err
}
