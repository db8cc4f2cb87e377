package agent

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"resumed/internal/leash"
	"resumed/internal/resume"
	"resumed/internal/sanitize"
)

// Origin returns what a live process of the agent was started with, or nothing
// where it ended meanwhile, is another user's, or hides in which world it lives:
// what is not known for certain is not known. Secrets are kept as such only where
// they are wanted.
func (b *Base) Origin(pid int, secrets bool) *resume.Origin {
	return b.OriginBy(b.Variables(), pid, secrets)
}

// OriginBy is Origin by another table of variables than the agent's usual one.
func (b *Base) OriginBy(table leash.Variables, pid int, secrets bool) *resume.Origin {
	p := b.Processes
	before, err := p.Stat(pid)
	if err != nil && p.Seen() {
		return nil
	}
	o := &resume.Origin{
		Process: resume.Process{PID: pid, Start: before.Start},
		SeenAt:  time.Now().Round(0), Cwd: p.Cwd(pid), TTY: before.TTY != 0,
	}
	if age, known := p.Age(pid); known {
		o.BeganAt = o.SeenAt.Add(-age)
	}
	if o.Sandbox, err = p.sandbox(pid); err != nil {
		return nil
	}
	if args, seen := p.arguments(pid, b.about.Is); seen { // of a user's own agent nobody knows the flags
		o.Through, args = p.wrapper(pid, args, b.about)
		o.Args, o.ArgsSeen = b.about.Flags.Keep(args, secrets), true
		if through := leash.Hide(o.Through); !secrets {
			o.Through = through
		} else if shown := slices.Concat(through, b.about.Flags.Keep(args, false)); !slices.Equal(shown, slices.Concat(o.Through, o.Args)) {
			o.Shown = shown
		}
	}
	if environ, err := p.Environ(pid); err == nil {
		o.Env, o.Salt = table.Keep(environ, secrets)
		o.EnvSeen = true
		o.Login = b.Login(environ, o.Salt)
	}
	if after, err := p.Stat(pid); err == nil && after.Start != before.Start || err != nil && p.Seen() {
		return nil // what was read may be another's
	}
	return o
}

// Login returns a hash of who is signed in for a process with that environment;
// empty: nobody knows.
func (b *Base) Login(environ []string, salt string) string {
	if b.about.Login == nil {
		return ""
	}
	who := b.about.Login(func(name string) string {
		for _, entry := range slices.Backward(environ) {
			if value, ok := strings.CutPrefix(entry, name+"="); ok {
				return value
			}
		}
		return ""
	})
	if who == "" {
		return ""
	}
	return leash.Hash(salt, who)
}

// Variables are those of the environment that matter to the agent.
func (b *Base) Variables() leash.Variables { return slices.Concat(b.about.Variables, leash.Common) }

// arguments returns those of the agent's program, or false where the process does
// not tell: one that has given itself a title has none any more.
func (p Processes) arguments(pid int, is func(string) bool) ([]string, bool) {
	raw := p.Argv(pid)
	if len(raw) == 0 || is == nil {
		return nil, false
	}
	argv := withoutInterpreter(raw)
	if len(argv) == 0 || !is(argv[0]) {
		return nil, false
	}
	titled := len(argv) == len(raw) && runsOthers(p.executable(pid))
	return argv[1:], !titled && p.Seen() // ps does not tell where one argument ends
}

// executable returns the file that a process runs; empty: it is not known.
func (p Processes) executable(pid int) string {
	exe, _ := os.Readlink(p.Path(pid, "exe"))
	return strings.TrimSuffix(exe, " (deleted)")
}

// sandbox says how the world of a process differs from ours; empty: it does not.
// What a process hides of it counts as different.
func (p Processes) sandbox(pid int) (string, error) {
	apart, err := p.Apart(pid)
	if errors.Is(err, fs.ErrPermission) {
		return "it hides its namespaces, or runs as another user", nil
	}
	if err != nil || len(apart) == 0 {
		return "", err
	}
	words := strings.Join(apart, ", ") + " of its own"
	if kind := p.Container(pid); kind != "" {
		words = "a container (" + sanitize.Short(kind, 40) + "), " + words
	}
	return words, nil
}

// Lives reports whether the very process lives whose start was recorded.
func (p Processes) Lives(process resume.Process) bool {
	if !p.Seen() {
		return process.PID > 0 && Answers(process.PID)
	}
	stat, err := p.Stat(process.PID)
	return err == nil && stat.Living() && stat.Start == process.Start
}
