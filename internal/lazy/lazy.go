// Package lazy compiles patterns when they are first needed. Short commands run at every prompt of an agent and
// use few of the program's patterns: compiling all of them took a fifth of their time.
package lazy

import (
	"regexp"
	"sync"
)

// Regexp returns a function that compiles the pattern when it is first called.
func Regexp(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}
