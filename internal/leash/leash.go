// Package leash decides what of a session's start a resume repeats: which of its flags and
// variables restrict, grant or choose something. The rules are here, the flags are in the
// packages of the agents.
package leash

import (
	"net/url"
	"slices"
	"strings"

	"resumed/internal/lazy"
)

// Effect is what a flag or a variable does to what a session may do. One that is in no table
// counts as a restriction.
type Effect uint8

// The effects.
const (
	Restricts Effect = iota // forbids or limits something: always repeated
	Grants                  // allows something: repeated unchanged, never more
	Selects                 // chooses a model, a provider, a directory: always repeated
	Account                 // chooses the provider and the account: always the same, or nothing is sent
	Mode                    // what may be done without asking: the last mode in the transcript counts, if the start allowed it
	Nothing                 // look or side output: never missed
	Once                    // a prompt, or the choice of a session: only for that one start
	Attended                // needs a terminal or another program that is connected to it: cannot be repeated
	Acts                    // makes the agent act by itself when it starts: beside the prompt of a resume that would be a second turn, so it is never passed on
)

// Takes is how many values a flag has, and of which kind.
type Takes uint8

// How many values: exactly one of these.
const (
	Alone Takes = iota + 1 // none
	One
	Maybe  // one, unless a flag follows
	Many   // up to the next flag
	Switch // none, or the word true or false; --no- before its name turns it off

	arityMask = 7
)

// Of which kind: these may be added.
const (
	Path   Takes = 1 << (3 + iota) // a file or directory; relative to the directory of the session's start
	Secret                         // must not be stored
)

// Flag is a row of a table: flags of one kind.
type Flag struct {
	Effect Effect
	Takes  Takes
	Names  string // separated by spaces

	// By returns the effect of a value, for flags with several meanings; nil: it is always Effect.
	By func(value string) Effect

	// Hides reports whether a value must not be stored, in addition to those that look like
	// secrets. If it is set, values are KEY=VALUE, and KEY is not secret.
	Hides func(value string) bool
}

// ByValue returns a Flag.By: one effect for these values, another for all others.
func ByValue(then, otherwise Effect, values ...string) func(value string) Effect {
	return func(value string) Effect {
		if slices.Contains(values, value) {
			return then
		}
		return otherwise
	}
}

// Flags is the table of a program's flags, in all supported versions.
type Flags []Flag

type known map[string]Flag

func (f Flags) known() known {
	all := make(known)
	for _, row := range f {
		for name := range strings.FieldsSeq(row.Names) {
			all[name] = row
			if long, ok := strings.CutPrefix(name, "--"); ok && row.Takes&arityMask == Switch {
				all["--no-"+long] = row
			}
		}
	}
	return all
}

// Names returns all flags in the table.
func (f Flags) Names() []string {
	var names []string
	for _, row := range f {
		names = append(names, strings.Fields(row.Names)...)
	}
	return names
}

// Takes returns how many values a flag takes; 0: not known.
func (f Flags) Takes(name string) Takes { return f.known().arity(name) }

// Words returns the flags of a command line, without plain arguments.
func (f Flags) Words(args []string) Arguments {
	return slices.DeleteFunc(f.Parse(args), func(w Word) bool { return w.Option == "" })
}

// Files returns the files that flags of a command line name, as absolute paths.
func (f Flags) Files(args []string, dir string) []string {
	var paths []string
	rows := f.known()
	for _, w := range rows.parse(args) {
		row := rows[w.Option]
		if w.Option == "" || row.Takes&Path == 0 || row.Effect == Once {
			continue
		}
		for _, value := range w.values() {
			paths = append(paths, absolute(dir, value))
		}
	}
	return paths
}

// Hidden replaces a value that is not stored.
const Hidden = "(not kept)"

// Storable returns the arguments that may be stored: no prompt, and no secret unless secrets is true.
func (f Flags) Storable(args []string, secrets bool) []string {
	rows := f.known()
	var kept []string
	for _, w := range rows.parse(args) {
		switch row, known := rows[w.Option]; {
		case w.Option == "":
			continue // a prompt, a subcommand, a directory: only for that one start
		case known && row.Effect == Once && row.Takes&arityMask == One:
			kept = append(kept, w.Option+"="+Hidden) // without a value it would take the next argument
		case known && row.Effect == Once:
			kept = append(kept, w.Option)
		case secrets:
			kept = append(kept, w.Raw...)
		default:
			kept = append(kept, w.hide(row)...)
		}
	}
	return kept
}

// Hide returns the command line of any program without values that look like secrets.
func Hide(argv []string) []string {
	shown := slices.Clone(argv)
	for i, arg := range argv {
		if IsSecret(arg) {
			shown[i] = Hidden
		}
		for at, letter := range arg {
			head := arg[:at]
			if name := head[strings.LastIndexAny(head, "-=")+1:]; letter == '=' && secretName().MatchString(strings.ToUpper(name)) {
				shown[i] = head + "=" + Hidden
				break
			}
		}
	}
	return shown
}

// Hides reports whether a part of a command line was not stored: it cannot be run again.
func Hides(argv []string) bool { return Word{Raw: argv}.hidden() }

func (w Word) hide(row Flag) []string {
	raw := slices.Clone(w.Raw)
	if value := strings.TrimPrefix(raw[0], w.Option); value != "" {
		value = strings.TrimPrefix(value, "=")
		if shown := row.hide(value); shown != value {
			raw[0] = w.Option + "=" + shown
		}
	}
	for i := 1; i < len(raw); i++ {
		raw[i] = row.hide(raw[i])
	}
	return raw
}

func (f Flag) hide(value string) string {
	key, _, pair := strings.Cut(value, "=")
	switch {
	case f.Takes&Secret == 0 && !IsSecret(value) && (f.Hides == nil || !f.Hides(value)):
		return value
	case f.Hides != nil && pair:
		return key + "=" + Hidden
	default:
		return Hidden
	}
}

func (w Word) hidden() bool {
	return slices.ContainsFunc(w.Raw, func(arg string) bool { return arg == Hidden || strings.HasSuffix(arg, "="+Hidden) })
}

var (
	// secretField matches a field of a document or header that contains a secret.
	secretField = lazy.Regexp(`(?i)(?:(?:api[_-]?key|token|secret|passw(?:or)?d|authorization|cookie|credential)s?["']?\s*[:=]|bearer)\s*["']?([^\s"'{}\[\],$]{6,})`)
	address     = lazy.Regexp(`[a-zA-Z][a-zA-Z0-9+.-]*://[^\s"']*@[^\s"']*`) // it may have a password
	keyWord     = lazy.Regexp(`\b(sk|pk|rk|ghp|gho|ghs|xox[abp]|AIza|AKIA|eyJ)[-_A-Za-z0-9]{12,}`)
)

// IsSecret reports whether a text contains something like a key, a token or a password.
func IsSecret(text string) bool {
	if keyWord().MatchString(text) {
		return true
	}
	for _, found := range secretField().FindAllStringSubmatch(text, -1) {
		if strings.Trim(found[len(found)-1], "0123456789") != "" { // a count of tokens is not secret
			return true
		}
	}
	for _, word := range address().FindAllString(text, -1) {
		if u, err := url.Parse(word); err != nil || u.User != nil {
			return true
		}
	}
	return false
}
