package agent

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// UsualPlaces returns where programs of npm and the like are installed for the
// user of that home directory: a service often lacks the PATH of the user's
// shell.
func UsualPlaces(home string) []string {
	at := func(parts ...string) string { return filepath.Join(append([]string{home}, parts...)...) }
	places := []string{
		at(".local", "bin"),
		at(".npm-global", "bin"),
		at(".npm", "bin"),
		at(".local", "share", "pnpm"),
		at(".bun", "bin"),
		at(".volta", "bin"),
		at(".asdf", "shims"),
		at(".local", "share", "mise", "shims"),
		"/usr/local/bin",
		"/opt/homebrew/bin",
	}
	for _, pattern := range []string{
		at(".nvm", "versions", "node", "*", "bin"),
		at(".local", "share", "fnm", "node-versions", "*", "installation", "bin"),
	} {
		found, _ := filepath.Glob(pattern) // errs on a bad pattern only
		slices.SortFunc(found, newestFirst)
		places = append(places, found...)
	}
	return places
}

var number = regexp.MustCompile(`\d+`)

// newestFirst orders paths by the version numbers in them: v22 before v9.
func newestFirst(a, b string) int {
	pad := func(s string) string {
		return number.ReplaceAllStringFunc(s, func(n string) string {
			return strings.Repeat("0", max(0, 12-len(n))) + n
		})
	}
	return strings.Compare(pad(b), pad(a))
}
