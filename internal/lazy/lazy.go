// Package lazy compiles patterns when they are first needed. Short commands run at every prompt of an agent and
// use few of the program's patterns: compiling all of them took a fifth of their time.
package lazy

import (
	"os"
	"regexp"
	"strings"
	"sync"
)

// Regexp returns a function that compiles the pattern when it is first called. In a test it is compiled
// at once: a bad pattern fails there even if nothing uses it.
func Regexp(pattern string) func() *regexp.Regexp {
	compiled := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
	if len(os.Args) > 0 && strings.HasSuffix(os.Args[0], ".test") {
		compiled()
	}
	return compiled
}
