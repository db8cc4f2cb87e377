// Package leash says what of a session's start a resume repeats: which of its
// flags and variables restrict, grant or choose something. It knows the rules, the
// agents' rooms know the flags.
package leash

import (
	"slices"
	"strings"
)

// Effect is what a flag or a variable does to what a session may do. One that no
// table names is taken to restrict.
type Effect uint8

// The effects.
const (
	Restricts Effect = iota // forbids or bounds something: it is always repeated
	Grants                  // allows something: it is repeated as it was, never more
	Selects                 // chooses a model, a provider, a directory: it is always repeated
	Account                 // chooses who is asked, and in whose name: it is always the same, or nothing is sent
	Mode                    // what may be done without asking: what the transcript says last counts where the start allowed it
	Nothing                 // how things look, or what is written beside: it is not missed
	Once                    // a prompt, a choice of a session: it was for that one start
	Attended                // needs a terminal or another program at its other end: it cannot be repeated
)

// String names the effect.
func (e Effect) String() string {
	return [...]string{"restricts", "grants", "selects", "account", "mode", "nothing", "once", "attended"}[e]
}

// Takes is how many values a flag has, and what they are.
type Takes uint8

// How many values: exactly one of these.
const (
	Alone Takes = iota + 1 // none
	One
	Maybe  // one, unless a flag follows
	Many   // up to the next flag
	Switch // none, but for the word true or false; --no- before its name turns it off

	arityMask = 7
)

// What they are: these may be added.
const (
	Path   Takes = 1 << (3 + iota) // a file or directory; a relative one is meant from where the session began
	Secret                         // must not be kept
)

// Flag is a row of a table: flags of one kind.
type Flag struct {
	Effect Effect
	Takes  Takes
	Names  string // with blanks between them

	// By tells the effect by the value, for flags of many meanings; nil: it is
	// always the same.
	By func(value string) Effect

	// Hides reports whether a value must not be kept, beside those that look like
	// secrets. Where it is there, values are KEY=VALUE, and KEY is no secret.
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

// Flags is the table of a program's flags, in all of its versions that are
// supported.
type Flags []Flag

// known are the rows of a table by the name of a flag.
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

// Names returns every flag that the table has.
func (f Flags) Names() []string {
	var names []string
	for _, row := range f {
		names = append(names, strings.Fields(row.Names)...)
	}
	return names
}

// Takes returns how many values a flag takes; 0: nobody knows.
func (f Flags) Takes(name string) Takes { return f.known().arity(name) }

// Word is a flag of a command line, with its values.
type Word struct {
	Option string
	Raw    []string // as it stands there
	Effect Effect
}

// Words returns the flags of a command line and what each of them does.
func (f Flags) Words(args []string) []Word {
	rows := f.known()
	var words []Word
	for _, w := range rows.parse(args) {
		if w.option != "" {
			words = append(words, Word{w.option, w.raw, rows.effect(w)})
		}
	}
	return words
}

// effect returns what a flag does, by its value where that tells.
func (k known) effect(w word) Effect {
	row := k[w.option]
	if row.By != nil {
		return row.By(Arguments{w}.Value(w.option))
	}
	return row.Effect
}
