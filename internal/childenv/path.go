package childenv

import (
	"path/filepath"
	"slices"
	"strings"
)

// WithPath adds to PATH of env the directories of PATH in needed, if both have one. Directories
// that are neither in env nor the daemon's own come before or after the others, as in needed.
func WithPath(own, env, needed []string) []string {
	const name = "PATH"
	had, needs := Value(env, name), Value(needed, name)
	if had == "" || needs == "" {
		return env
	}
	ours, theirs := filepath.SplitList(Value(own, name)), filepath.SplitList(had)
	var before, after []string
	passed := false // the daemon's own directories
	for _, dir := range filepath.SplitList(needs) {
		switch passed = passed || len(ours) > 0 && dir == ours[0]; {
		case slices.Contains(theirs, dir) || slices.Contains(ours, dir):
		case passed:
			after = append(after, dir)
		default:
			before = append(before, dir)
		}
	}
	path := strings.Join(slices.Concat(before, theirs, after), string(filepath.ListSeparator))
	return append(Without(env, name), name+"="+path)
}
