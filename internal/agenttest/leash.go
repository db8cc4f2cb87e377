package agenttest

import (
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/leash"
	"resumed/internal/resume"
)

// Leash checks what an agent repeats of a session's start: for random command lines of its flags, the
// planned arguments keep every restriction and choice, and grant nothing new. plan returns those
// arguments, without the program, or nil if nothing is sent because something cannot be repeated. given
// are the flags that the agent sets itself, because the transcript has newer values.
func Leash(t *testing.T, flags leash.Flags, given []string, plan func(t *testing.T, o resume.Origin) []string) {
	t.Helper()
	for seed := range uint64(300) {
		dice := rand.New(rand.NewPCG(seed, 1))
		args := randomLine(dice, flags)
		o := resume.Origin{Cwd: "/usr", Args: flags.Storable(args, false), ArgsSeen: true}
		got := plan(t, o)
		if got == nil {
			continue
		}
		for _, w := range flags.Words(args) {
			repeats := w.Effect == leash.Restricts || w.Effect == leash.Selects || w.Effect == leash.Account
			if repeats && !slices.Contains(given, w.Option) {
				require.True(t, contains(got, w.Raw), "seed %d: %q lacks %q of %q", seed, got, w.Raw, args)
			}
		}
		for _, w := range flags.Words(got) {
			if w.Effect == leash.Grants {
				require.True(t, contains(o.Args, w.Raw), "seed %d: %q grants %q, which %q did not", seed, got, w.Raw, args)
			}
		}
	}
}

// randomLine returns a command line of some of the flags, sometimes with a prompt.
func randomLine(dice *rand.Rand, flags leash.Flags) []string {
	values := []string{"alpha", "Bash(touch:*)", "a b", `{"x":1}`, "/abs/path", "rel/path", "7", ""}
	value := func() string { return values[dice.IntN(len(values))] }
	names := append(flags.Names(), "--not-known-yet")
	var args []string
	for range dice.IntN(6) {
		name := names[dice.IntN(len(names))]
		switch flags.Takes(name) {
		case leash.Alone, leash.Switch:
			args = append(args, name)
		case leash.Many:
			args = append(args, name)
			for range 1 + dice.IntN(2) {
				args = append(args, value())
			}
		default:
			if v := value(); strings.HasPrefix(name, "--") && dice.IntN(2) == 0 {
				args = append(args, name+"="+v)
			} else {
				args = append(args, name, v)
			}
		}
	}
	if dice.IntN(3) == 0 {
		args = append(args, "--", "fix the tests")
	}
	return args
}

// contains reports whether a line has these arguments, in order and next to each other. A relative path
// in one may be absolute in the other.
func contains(line, args []string) bool {
	absolute := func(abs, arg string) bool {
		head, value, joined := strings.Cut(arg, "=")
		return abs == filepath.Join("/usr", arg) || joined && abs == head+"="+filepath.Join("/usr", value)
	}
	same := func(a, b string) bool { return a == b || absolute(a, b) || absolute(b, a) }
	for i := range len(line) - len(args) + 1 {
		if slices.EqualFunc(line[i:i+len(args)], args, same) {
			return true
		}
	}
	return false
}
