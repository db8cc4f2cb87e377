package execrun

import (
	"slices"
	"strings"
)

// arity is how many values an option takes.
type arity uint8

const (
	alone arity = iota
	one
	maybe // one, unless an option follows
	many  // up to the next option
)

// grammar says which options of a program take values. One that it does not
// know is taken to have a value where a plain word follows: what is wrongly
// kept does no harm, what is wrongly dropped might.
type grammar map[string]arity

// word is an option with its values, or a plain argument.
type word struct {
	option string // without "=value"; empty for a plain argument
	raw    []string
}

// line is a command line, taken apart.
type line []word

func (g grammar) parse(args []string) line {
	var l line
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if arg == "--" {
			for _, plain := range args[i+1:] {
				l = append(l, word{raw: []string{plain}})
			}
			break
		}
		if !isOption(arg) {
			l = append(l, word{raw: []string{arg}})
			continue
		}
		if letters, ok := g.cluster(arg); ok {
			l = append(l, letters...)
			continue
		}
		option, _, joined := strings.Cut(arg, "=")
		if short := arg[:2]; !strings.HasPrefix(arg, "--") && len(arg) > 2 && g[short] != alone {
			option, joined = short, true // -mMODEL
		}
		end := i + 1
		if !joined {
			end += g.values(option, args[i+1:])
		}
		l = append(l, word{option: option, raw: args[i:end]})
		i = end - 1
	}
	return l
}

func isOption(arg string) bool { return len(arg) > 1 && arg[0] == '-' }

// cluster takes several one-letter options apart that stand as one: -pc.
func (g grammar) cluster(arg string) (line, bool) {
	if strings.HasPrefix(arg, "--") || len(arg) < 3 {
		return nil, false
	}
	var letters line
	for _, letter := range arg[1:] {
		option := "-" + string(letter)
		if takes, known := g[option]; !known || takes != alone {
			return nil, false
		}
		letters = append(letters, word{option: option, raw: []string{option}})
	}
	return letters, true
}

// values returns how many of the arguments that follow belong to an option.
func (g grammar) values(option string, next []string) int {
	takes, known := g[option]
	if !known {
		takes = maybe
	}
	plain := slices.IndexFunc(next, isOption)
	if plain < 0 {
		plain = len(next)
	}
	switch takes {
	case one:
		return min(1, len(next)) // whatever it looks like
	case maybe:
		return min(1, plain)
	case many:
		return plain
	default:
		return 0
	}
}

// has reports whether one of the options is there.
func (l line) has(options ...string) bool {
	return slices.ContainsFunc(l, func(w word) bool { return w.option != "" && slices.Contains(options, w.option) })
}

// value returns the value of the last of the options that has one.
func (l line) value(options ...string) string {
	for _, w := range slices.Backward(l) {
		if w.option == "" || !slices.Contains(options, w.option) {
			continue
		}
		if len(w.raw) > 1 {
			return w.raw[1]
		}
		if _, value, ok := strings.Cut(w.raw[0], "="); ok {
			return value
		}
		if value := strings.TrimPrefix(w.raw[0], w.option); value != "" {
			return value
		}
	}
	return ""
}

// plain returns the arguments that are no options.
func (l line) plain() []string {
	var args []string
	for _, w := range l {
		if w.option == "" {
			args = append(args, w.raw...)
		}
	}
	return args
}

// options returns the options with their values, but for those.
func (l line) options(without ...string) []string {
	var args []string
	for _, w := range l {
		if w.option != "" && !slices.Contains(without, w.option) {
			args = append(args, w.raw...)
		}
	}
	return args
}

// cut splits the line at the first plain argument, which is a subcommand.
func (l line) cut() (before line, command string, after line) {
	for i, w := range l {
		if w.option == "" {
			return l[:i], w.raw[0], l[i+1:]
		}
	}
	return l, "", nil
}

// withPrompt appends what an agent is told, so that it is not taken for an
// option.
func withPrompt(args []string, prompt string) []string {
	if strings.HasPrefix(prompt, "-") {
		args = append(args, "--")
	}
	return append(args, prompt)
}
