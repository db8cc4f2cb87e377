package leash

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"resumed/internal/resume"
)

// Carried is what a resume repeats from the start of its session.
type Carried struct {
	Args    []string   // to be repeated
	LeftOut []Omission // not repeated, and a person may miss it
	Missing []Omission // must be repeated and cannot: nothing may be sent
}

// Omission is something that is not repeated.
type Omission struct{ What, Why string }

func (o Omission) String() string { return o.What + ": " + o.Why }

// Words returns omissions as text for people.
func Words(all []Omission) []string {
	words := make([]string, len(all))
	for i, o := range all {
		words[i] = o.String()
	}
	return words
}

// Carry returns the arguments of the start that a resume repeats. newer are the flags for which
// the caller has a newer value; the caller always sets what a session may do without asking.
func (f Flags) Carry(o resume.Origin, newer ...string) Carried {
	var (
		carried Carried
		rows    = f.known()
	)
	for _, w := range rows.parse(o.Args) {
		if slices.Contains(newer, w.option) {
			continue
		}
		row, known := rows[w.option]
		switch effect := rows.effect(w); {
		case w.option == "" || effect == Once || effect == Nothing || effect == Mode:
		case effect == Attended:
			carried.LeftOut = append(carried.LeftOut, Omission{w.shown(row), "it needs a terminal, or the program that started the session"})
		case w.hidden() && effect == Grants:
			carried.LeftOut = append(carried.LeftOut, Omission{w.shown(row), `its value is a secret, which is kept with keep_env = "secrets" only`})
		case w.hidden():
			carried.Missing = append(carried.Missing, Omission{w.shown(row), `its value is a secret, which is kept with keep_env = "secrets" only`})
		case !known && len(w.raw) > 1 && strings.ContainsAny(w.raw[1], " \n\t"):
			carried.Missing = append(carried.Missing, Omission{w.option, "this flag is not known here, and what follows it may be a prompt"})
		default:
			carried.Args = append(carried.Args, w.from(o.Cwd, row.Takes)...)
		}
	}
	return carried
}

// shown returns the word as text for people.
func (w word) shown(row Flag) string { return strings.Join(w.hide(row), " ") }

// from returns the word with its relative paths resolved from dir: the resume may start elsewhere.
// A JSON document instead of a path stays unchanged.
func (w word) from(dir string, takes Takes) []string {
	if takes&Path == 0 || dir == "" {
		return w.raw
	}
	raw := slices.Clone(w.raw)
	for i := range raw {
		switch head, value, joined := strings.Cut(raw[i], "="); {
		case i > 0:
			raw[i] = absolute(dir, raw[i])
		case joined:
			raw[i] = head + "=" + absolute(dir, value)
		}
	}
	return raw
}

func absolute(dir, path string) string {
	if path == "" || filepath.IsAbs(path) || strings.ContainsAny(path[:1], "~{[-") {
		return path
	}
	return filepath.Join(dir, path)
}

// Refusal is the reason to send nothing if something must be repeated and cannot.
func Refusal(missing []Omission) string {
	return fmt.Sprintf("what the session was started with cannot be repeated: %s", strings.Join(Words(missing), "; "))
}
