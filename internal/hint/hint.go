// Package hint gives an error what a person can do about it.
package hint

import "errors"

// hinted is an error with a hint.
type hinted struct {
	error
	hint string
}

func (h hinted) Unwrap() error { return h.error }

// With returns the error with what a person can try.
func With(err error, try string) error { return hinted{err, try} }

// Of returns what a person can try about an error; "": nothing is known.
func Of(err error) string {
	h, _ := errors.AsType[hinted](err)
	return h.hint
}
