// Package hint adds to an error what the user can try.
package hint

import "errors"

type hinted struct {
	error
	hint string
}

func (h hinted) Unwrap() error { return h.error }

// With adds a hint to an error.
func With(err error, try string) error { return hinted{err, try} }

// Of returns the hint of an error, or "".
func Of(err error) string {
	h, _ := errors.AsType[hinted](err)
	return h.hint
}
