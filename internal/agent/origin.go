package agent

import (
	"slices"
	"strings"
	"time"

	"resumed/internal/childenv"
	"resumed/internal/leash"
	"resumed/internal/procfs"
	"resumed/internal/resume"
	"resumed/internal/starts"
	"resumed/internal/usermanager"
)

// Origin returns what a live process of the agent was started with. It returns nil if the process
// ended meanwhile, belongs to another user, or its sandbox cannot be determined. Secrets are
// included only on request.
func (b *Base) Origin(pid int, secrets bool) *resume.Origin {
	return b.OriginBy(b.Variables(), pid, secrets)
}

// OriginBy is Origin with another table of variables than the agent's usual one.
func (b *Base) OriginBy(table leash.Variables, pid int, secrets bool) *resume.Origin {
	p := b.Processes
	before, err := p.Stat(pid)
	if err != nil && p.Tells() {
		return nil
	}
	o := &resume.Origin{
		Process: resume.Process{PID: pid, Start: before.Start},
		Boot:    procfs.Boot(), SeenAt: time.Now().Round(0), Cwd: p.Cwd(pid), TTY: before.TTY != 0,
	}
	if age, known := p.Age(pid); known {
		o.BeganAt = o.SeenAt.Add(-age)
	}
	if o.Sandbox, err = p.Sandbox(pid); err != nil {
		return nil
	}
	o.Freer = strings.Join(p.Tighter(usermanager.Starter(), pid), ", ")
	o.Limits = p.Limits(pid)
	if args, seen := p.Arguments(pid, b.about.Is); seen { // the flags of a user's own agent are not known
		o.Through, args = p.Wrapper(pid, args, b.about.Program)
		o.Args, o.ArgsSeen = b.about.Flags.Keep(args, secrets), true
		o.Files = starts.HashFiles(b.about.Flags.Files(args, o.Cwd))
		if through := leash.Hide(o.Through); !secrets {
			o.Through = through
		} else if shown := slices.Concat(through, b.about.Flags.Keep(args, false)); !slices.Equal(shown, slices.Concat(o.Through, o.Args)) {
			o.Shown = shown
		}
	}
	if environ, err := p.Environ(pid); err == nil {
		if childenv.Value(environ, resume.OwnKeyVariable) != "" {
			return nil // a run that a person paid for once is not how the session began
		}
		table.Record(o, environ, secrets)
		o.Login = b.Login(environ, o.Salt)
	}
	if after, err := p.Stat(pid); err == nil && after.Start != before.Start || err != nil && p.Tells() {
		return nil // the pid may have been reused
	}
	return o
}

// Login returns a salted hash of the login of a process with that environment; empty: not known.
func (b *Base) Login(environ []string, salt string) string {
	if b.about.Login == nil {
		return ""
	}
	login := b.about.Login(variables(environ))
	if login == "" {
		return ""
	}
	return leash.Hash(salt, login)
}

// Variables are the environment variables that matter to the agent.
func (b *Base) Variables() leash.Variables { return slices.Concat(b.about.Variables, leash.Common) }

// Identity returns a text that identifies the session's account on every machine, for a run with
// that environment; empty: not known. It is the first key that is set, else the login of the
// session's home. A session that was seen to run with another login has none. The text may be a
// secret: it must not leave the host unhashed.
func (t *Transcripts) Identity(s resume.Session, environ []string) string {
	if t.Elsewhere != nil {
		if home := t.Elsewhere(t.Homes.Of(s.Transcript)); home != "" {
			environ = append(slices.Clip(environ), home)
		}
	}
	if o := s.Origin; o != nil && o.EnvSeen && o.Login != "" && t.Login(environ, o.Salt) != o.Login {
		return ""
	}
	variable := variables(environ)
	for _, name := range t.about.Keys {
		if key := variable(name); key != "" {
			return "key " + key
		}
	}
	for _, tells := range []func(func(string) string) string{t.about.Login, t.about.Account} {
		if tells == nil {
			continue
		}
		if login := tells(variable); login != "" {
			return "login " + login
		}
	}
	return ""
}

// variables returns a lookup in an environment.
func variables(environ []string) func(name string) string {
	return func(name string) string { return childenv.Value(environ, name) }
}
