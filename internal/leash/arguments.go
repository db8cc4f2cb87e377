package leash

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"resumed/internal/lazy"
	"resumed/internal/resume"
)

// Word is an option of a command line with its values, or a plain argument.
type Word struct {
	Option string   // without "=value"; empty for a plain argument
	Raw    []string // as written
	Effect Effect
}

// Arguments is a parsed command line.
type Arguments []Word

// Parse parses the arguments of the program. A flag that the table does not have gets the next
// plain word as its value: a word that is kept by mistake does no harm, a dropped one might.
func (f Flags) Parse(args []string) Arguments { return f.known().parse(args) }

func (k known) parse(args []string) Arguments {
	var all Arguments
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if arg == "--" {
			for _, plain := range args[i+1:] {
				all = append(all, Word{Raw: []string{plain}})
			}
			break
		}
		if !isOption(arg) {
			all = append(all, Word{Raw: []string{arg}})
			continue
		}
		_, named := k[arg]
		if letters, last := k.cluster(arg); !named && last != "" {
			all = append(all, letters...)
			arg = last
			args = slices.Concat(args[:i], []string{last}, args[i+1:])
		}
		option, _, joined := strings.Cut(arg, "=")
		if short := arg[:2]; !named && !strings.HasPrefix(arg, "--") && len(arg) > 2 && k.takes(short) {
			option, joined = short, true // -mMODEL
		}
		end := i + 1
		if !joined {
			end += k.values(option, args[i+1:])
		}
		all = append(all, k.word(option, args[i:end]))
		i = end - 1
	}
	return all
}

func (k known) arity(option string) Takes { return k[option].Takes & arityMask }

func (k known) takes(option string) bool {
	arity := k.arity(option)
	return arity == One || arity == Maybe || arity == Many
}

// word returns an option with its effect, which may depend on its value.
func (k known) word(option string, raw []string) Word {
	w := Word{option, raw, k[option].Effect}
	if by := k[option].By; by != nil {
		w.Effect = by(Arguments{w}.Value(option))
	}
	return w
}

func isOption(arg string) bool { return len(arg) > 1 && arg[0] == '-' }

// cluster splits one-letter options that are written as one, such as -pc. Only the last may have values.
func (k known) cluster(arg string) (letters Arguments, last string) {
	if strings.HasPrefix(arg, "--") || len(arg) < 3 {
		return nil, ""
	}
	for i, letter := range arg[1:] {
		option := "-" + string(letter)
		arity := k.arity(option)
		if i+1 == len(arg)-1 && arity != 0 {
			return letters, option
		}
		if arity != Alone && arity != Switch {
			return nil, ""
		}
		letters = append(letters, k.word(option, []string{option}))
	}
	return nil, ""
}

func (k known) values(option string, next []string) int {
	plain := slices.IndexFunc(next, isOption)
	if plain < 0 {
		plain = len(next)
	}
	switch k.arity(option) {
	case Alone:
		return 0
	case Switch:
		if len(next) > 0 && (next[0] == "true" || next[0] == "false") {
			return 1
		}
		return 0
	case One:
		return min(1, len(next)) // even if it looks like an option
	case Many:
		return plain
	default:
		return min(1, plain)
	}
}

func (w Word) is(options []string) bool { return w.Option != "" && slices.Contains(options, w.Option) }

// values returns the values of an option: the one that was written in the same argument, and those after.
func (w Word) values() []string {
	if value := strings.TrimPrefix(w.Raw[0], w.Option); value != "" {
		return append([]string{strings.TrimPrefix(value, "=")}, w.Raw[1:]...)
	}
	return w.Raw[1:]
}

// Has reports whether the arguments have one of the options.
func (a Arguments) Has(options ...string) bool {
	return slices.ContainsFunc(a, func(w Word) bool { return w.is(options) })
}

// Value returns the first value of the last of the options that has one.
func (a Arguments) Value(options ...string) string {
	for _, w := range slices.Backward(a) {
		if values := w.values(); w.is(options) && len(values) > 0 {
			return values[0]
		}
	}
	return ""
}

// Values returns all values of the options.
func (a Arguments) Values(options ...string) []string {
	var all []string
	for _, w := range a {
		if w.is(options) {
			all = append(all, w.values()...)
		}
	}
	return all
}

// Plain returns the arguments that are not options.
func (a Arguments) Plain() []string {
	return a.raw(func(w Word) bool { return w.Option == "" })
}

// Options returns the options with their values, except those named.
func (a Arguments) Options(but ...string) []string {
	return a.raw(func(w Word) bool { return w.Option != "" && !slices.Contains(but, w.Option) })
}

func (a Arguments) raw(wanted func(Word) bool) (args []string) {
	for _, w := range a {
		if wanted(w) {
			args = append(args, w.Raw...)
		}
	}
	return args
}

// Cut splits the arguments at the first plain one, which is a subcommand.
func (a Arguments) Cut() (before Arguments, command string, after Arguments) {
	for i, w := range a {
		if w.Option == "" {
			return a[:i], w.Raw[0], a[i+1:]
		}
	}
	return a, "", nil
}

// WithPrompt appends a prompt, so that it is not taken for an option.
func WithPrompt(args []string, prompt string) []string {
	if strings.HasPrefix(prompt, "-") {
		args = append(args, "--")
	}
	return append(args, prompt)
}

// WithValue uses the option's long name for a value that would be taken for an option.
func WithValue(args []string, option, long, value string) []string {
	if strings.HasPrefix(value, "-") {
		return append(args, long+"="+value)
	}
	return append(args, option, value)
}

var modelName = lazy.Regexp(`^[0-9A-Za-z][0-9A-Za-z._:@/-]*$`)

// WithModel appends the model of a session, if it is known.
func WithModel(args []string, model string) []string {
	if modelName().MatchString(model) {
		return append(args, "--model", model)
	}
	return args
}

// Repeated is what a resume repeats from the start of its session.
type Repeated struct {
	Args    []string   // to be repeated
	LeftOut []Omission // not repeated, and a person may miss it
	Missing []Omission // must be repeated and cannot: nothing may be sent
}

// Omission is something that is not repeated.
type Omission struct{ What, Why string }

func (o Omission) String() string { return o.What + ": " + o.Why }

// Describe returns omissions as text for people.
func Describe(all []Omission) []string {
	words := make([]string, len(all))
	for i, o := range all {
		words[i] = o.String()
	}
	return words
}

// Carry returns the arguments of the start that a resume repeats. newer are the flags for which
// the caller has a newer value; the caller always sets what a session may do without asking.
func (f Flags) Carry(o resume.Origin, newer ...string) Repeated {
	var (
		carried Repeated
		rows    = f.known()
	)
	for _, w := range rows.parse(o.Args) {
		if slices.Contains(newer, w.Option) {
			continue
		}
		row, known := rows[w.Option]
		switch effect := w.Effect; {
		case w.Option == "" || effect == Once || effect == Nothing || effect == Mode:
		case effect == Attended:
			carried.LeftOut = append(carried.LeftOut, Omission{w.shown(row), "it needs a terminal, or the program that started the session"})
		case w.hidden() && effect == Grants:
			carried.LeftOut = append(carried.LeftOut, Omission{w.shown(row), `its value is a secret, which is kept with keep_env = "secrets" only`})
		case w.hidden():
			carried.Missing = append(carried.Missing, Omission{w.shown(row), `its value is a secret, which is kept with keep_env = "secrets" only`})
		case !known && len(w.Raw) > 1 && strings.ContainsAny(w.Raw[1], " \n\t"):
			carried.Missing = append(carried.Missing, Omission{w.Option, "this flag is not known here, and what follows it may be a prompt"})
		default:
			carried.Args = append(carried.Args, w.from(o.Cwd, row.Takes)...)
		}
	}
	return carried
}

func (w Word) shown(row Flag) string { return strings.Join(w.hide(row), " ") }

// from resolves relative paths from dir: the resume may start elsewhere. A JSON document is no path.
func (w Word) from(dir string, takes Takes) []string {
	if takes&Path == 0 || dir == "" {
		return w.Raw
	}
	raw := slices.Clone(w.Raw)
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

// WhyMissing is the reason to send nothing if something must be repeated and cannot.
func WhyMissing(missing []Omission) string {
	return fmt.Sprintf("what the session was started with cannot be repeated: %s", strings.Join(Describe(missing), "; "))
}
