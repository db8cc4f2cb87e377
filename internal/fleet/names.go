package fleet

import "resumed/internal/lazy"

// Names have forms, so that no host can write what people read as a sentence, for example in the title of a
// notice.
var (
	keyName     = lazy.Regexp(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)
	accountName = lazy.Regexp(`^[A-Za-z0-9][A-Za-z0-9._-]*:[A-Za-z0-9._/~+@-]+$`) // AGENT:NAME; the name may be a directory
	plainName   = lazy.Regexp(`^[A-Za-z0-9][A-Za-z0-9._/-]*$`)
	notInNames  = lazy.Regexp(`[^A-Za-z0-9._:/~+@-]`)
)

const longestName = 200

// GoodKey reports whether a key has the form that hosts write, and can be shown.
func GoodKey(key string) bool { return len(key) <= longestName && keyName().MatchString(key) }

// GoodAccount reports whether a text has the form of the name of an account on a host.
func GoodAccount(name string) bool {
	return len(name) <= longestName && accountName().MatchString(name)
}

// GoodName reports whether a text has the form of the name of an agent, a provider or an allowance.
func GoodName(name string) bool { return len(name) <= longestName && plainName().MatchString(name) }

// NameForOthers returns the name of an account or a provider in the form that other hosts accept.
func NameForOthers(name string) string {
	name = notInNames().ReplaceAllString(name, "_")
	return name[:min(len(name), longestName)]
}
