// Package runenv decides in which environment the command of a resume runs: that of the session's own
// process, as far as it is known. If the command would have more permissions than the session had, use
// another account or work on another target, it is refused.
package runenv

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"resumed/internal/agent"
	"resumed/internal/childenv"
	"resumed/internal/leash"
	"resumed/internal/resume"
	"resumed/internal/runner"
	"resumed/internal/sanitize"
	"resumed/internal/starts"
)

// Changed is what to do if the values of a session's environment are lost and those of the daemon
// differ.
type Changed string

// The values of Changed. Otherwise the session is parked if a variable chooses what commands work on.
const (
	Tell Changed = "tell"
	Park Changed = "park"
)

// Request is a command, and what its environment is made from.
type Request struct {
	Session resume.Session
	Agent   agent.Agent
	Command *agent.Command

	Daemon     []string                     // the environment of the daemon
	Configured []string                     // the variables that the user sets for resumes
	Values     func(resume.Origin) []string // the environment of the session's process; nil: its values are lost
	Changed    Changed
}

// Environment is the environment of a command.
type Environment struct {
	Base       []string // that of the session's process if it is known, else the daemon's own
	Set, Unset []string // the change to it
	Had        []string // the names of the variables that the session had
	Limits     resume.ProcessLimits
	LeftOut    []leash.Omission // what the command does not have as the session had it
}

// Environ returns the whole environment.
func (e Environment) Environ() []string {
	return append(childenv.Without(e.Base, e.Unset...), e.Set...)
}

// Of returns the environment of a command, or why the command may not run. A command that only hands a
// message to the session's own process is not checked.
func Of(r Request) (Environment, *resume.NotSent) {
	all := Environment{Base: r.Daemon, Set: slices.Concat(r.Command.Env, r.Configured), Unset: r.Command.Unset}
	notSent := r.ofSession(&all)
	r.withoutActing(&all)
	return all, notSent
}

func (r Request) ofSession(all *Environment) *resume.NotSent {
	o := r.Session.StartedWith()
	if o == nil || r.Command.Unverifiable {
		return nil
	}
	if o.Sandbox != "" && !r.Command.Inside {
		return park(r.outside(*o))
	}
	for _, check := range []func(resume.Origin, *Environment) *resume.NotSent{r.variables, r.files, r.login} {
		if notSent := check(*o, all); notSent != nil {
			return notSent
		}
	}
	if names := runner.NotPassed(all.Environ()); len(names) > 0 {
		all.LeftOut = append(all.LeftOut, leash.Omission{What: "variables " + strings.Join(names, ", "), Why: "the service manager does not pass on exported functions and control characters"})
	}
	if o.ResumeLacks != "" {
		all.LeftOut = append(all.LeftOut, leash.Omission{What: "a resume is more restricted than the session was", Why: o.ResumeLacks})
	}
	return nil
}

// withoutActing removes what makes the agent act by itself when it starts, whoever has set it.
func (r Request) withoutActing(all *Environment) {
	names := childenv.Names(all.Environ())
	if o := r.Session.StartedWith(); o != nil {
		for _, had := range o.Env { // its value may be lost
			names = append(names, had.Name)
		}
	}
	acting := r.Agent.Variables().Acting(names)
	if len(acting) == 0 {
		return
	}
	all.Set, all.Unset = childenv.Without(all.Set, acting...), slices.Concat(all.Unset, acting)
	all.LeftOut = append(all.LeftOut, leash.Omission{What: "variables " + strings.Join(acting, ", "), Why: "with them the agent acts by itself when it starts, beside the prompt of the resume"})
}

func (r Request) variables(o resume.Origin, all *Environment) *resume.NotSent {
	// The program that enters a sandbox runs on this machine, and not in it.
	enters := o.Sandbox != "" && !runsThrough(r.Command.Argv, o.Through)
	known := false
	if !enters {
		all.Limits = o.Limits
		if values := r.Values(o); len(values) > 0 {
			all.Base, known = leash.Inherited(values), true
		}
	}
	missing := slices.Clone(r.Command.Carried.Missing)
	if leash.Hides(r.Command.Argv) && len(missing) == 0 {
		missing = append(missing, leash.Omission{What: "what stood before the program", Why: `it contains a secret, which is kept only with keep_env = "secrets"`})
	}
	if o.EnvSeen {
		env := r.Agent.Variables().Carry(o, slices.Concat(all.Base, r.Command.Env), r.Configured)
		if enters {
			env = env.Without(leash.Places)
		}
		env.Set = childenv.WithPath(r.Daemon, env.Set, r.Command.Env)
		for _, lost := range env.Missing {
			if r.Command.Optional == nil || !r.Command.Optional(lost.What) {
				missing = append(missing, lost)
				continue
			}
			env.Unset = append(env.Unset, lost.What) // the daemon has another value
		}
		all.Set = append(childenv.Without(all.Set, env.Unset...), env.Set...)
		all.Unset, all.Had = slices.Concat(r.Command.Unset, env.Unset), childenv.Names(env.Set)
	}
	if len(missing) > 0 {
		return park(sanitize.Short(leash.WhyMissing(missing), sanitize.Sentence) + "; " + ByHand(r.Agent, r.Session))
	}
	if known || enters || o.Others == nil {
		return nil
	}
	return r.withoutValues(o, all)
}

// withoutValues is for a session whose values are lost, such as after a reboot: what it did not have is
// removed, and what is not as it had it is told, or parks the session.
func (r Request) withoutValues(o resume.Origin, all *Environment) *resume.NotSent {
	lost, added := r.Agent.Variables().Changed(o, all.Environ())
	set := childenv.Names(all.Set)
	all.Unset = append(all.Unset, slices.DeleteFunc(added, func(name string) bool { return slices.Contains(set, name) })...)
	if len(lost) == 0 {
		return nil
	}
	const why = "the values that the session had are lost since a restart, and yours differ"
	all.LeftOut = append(all.LeftOut, leash.Omission{What: "variables " + strings.Join(lost, ", "), Why: why})
	if r.Changed != Park {
		lost = slices.DeleteFunc(lost, func(name string) bool { return !leash.ChoosesTarget(name) })
	}
	if r.Changed == Tell || len(lost) == 0 {
		return nil
	}
	return r.ask(sanitize.Short(strings.Join(lost, ", "), sanitize.Sentence) + ": " + why)
}

// login refuses to continue as another user of the provider.
func (r Request) login(o resume.Origin, all *Environment) *resume.NotSent {
	if o.Login == "" || r.Agent.Login(all.Environ(), o.Salt) == o.Login {
		return nil
	}
	return park("another account would be used: you are signed in as a different user than when the session ran; sign in as before, or " + ByHand(r.Agent, r.Session))
}

// ask parks the session, unless a person has asked for a retry.
func (r Request) ask(why string) *resume.NotSent {
	if !r.Session.RetryAskedAt.IsZero() {
		return nil
	}
	return &resume.NotSent{Known: resume.Reason{Kind: resume.WhyStartLost, Text: why}, Then: resume.Park, Offers: r.Command.Permission}
}

func park(why string) *resume.NotSent { return &resume.NotSent{Why: why, Then: resume.Park} }

// runsThrough reports whether a command begins with what stood before the session's own program.
func runsThrough(argv, through []string) bool {
	return len(through) > 0 && len(argv) >= len(through) && slices.Equal(argv[:len(through)], through)
}

// outside is the reason for a session that ran in a sandbox, while the command would not.
func (r Request) outside(o resume.Origin) string {
	return fmt.Sprintf("it ran in a sandbox (%s) and would be continued outside it: %s in there, or make command of [[agent]] the way in (resume, for an agent of your own)",
		sanitize.Short(o.Sandbox, sanitize.Sentence), ByHand(r.Agent, r.Session))
}

// ByHand says what a person can do instead.
func ByHand(a agent.Agent, s resume.Session) string {
	if line := a.ContinueCommand(s); line != "" {
		return "go on with: " + line
	}
	return "go on by hand"
}

// files checks the files that flags of the session's start name. It parks the session if one is gone:
// the agent would not start, or without what the file forbids. If one has changed, that is told, and it
// parks a session that does not ask before it acts. A path in a sandbox that was not seen from here cannot be checked.
func (r Request) files(o resume.Origin, all *Environment) *resume.NotSent {
	if known, ok := r.Agent.(interface{ Flags() leash.Flags }); ok && o.Sandbox == "" {
		if path, flag := missingFile(known.Flags(), r.Command.Carried.Args, r.Command.Dir); path != "" {
			return park(path + ", which its " + flag + " names, is gone: put it back and retry, or " + ByHand(r.Agent, r.Session))
		}
	}
	changed, gone := starts.ChangedFiles(o)
	for _, path := range gone { // in a sandbox too: it was seen from here
		if slices.ContainsFunc(r.Command.Carried.Args, func(arg string) bool { return strings.HasSuffix(arg, path) }) {
			return park(path + ", which its start names, is gone: put it back and retry, or " + ByHand(r.Agent, r.Session))
		}
	}
	if compares, ok := r.Agent.(interface {
		ChangedSettings(o resume.Origin) []string
	}); ok {
		changed = append(changed, compares.ChangedSettings(o)...)
	}
	if len(changed) == 0 {
		return nil
	}
	const why = "changed since the session was started"
	all.LeftOut = append(all.LeftOut, leash.Omission{What: strings.Join(changed, ", "), Why: why})
	if r.Command.AskMode {
		return nil
	}
	return r.ask(strings.Join(changed, ", ") + " " + why)
}

// mayBeMissing are flags whose paths need not exist: they grant something there, or write there.
var mayBeMissing = []string{"--add-dir", "--include-directories", "--telemetry-outfile", "--record-responses"}

// missingFile returns a path that is gone, and the flag that names it. Relative ones refer to dir.
func missingFile(flags leash.Flags, args []string, dir string) (path, flag string) {
	for _, w := range flags.Words(args) {
		values := w.Raw[1:]
		if _, value, joined := strings.Cut(w.Raw[0], "="); joined {
			values = []string{value}
		}
		for _, value := range values {
			if path := pathIn(flags, w.Option, value); path != "" && !isThere(path, dir) {
				return path, w.Option
			}
		}
	}
	return "", ""
}

// pathIn returns the path in the value of a flag; empty: there is none.
func pathIn(flags leash.Flags, option, value string) string {
	takesPath := func(f leash.Flag) bool {
		return f.Takes&leash.Path != 0 && slices.Contains(strings.Fields(f.Names), option)
	}
	key, setting, _ := strings.Cut(value, "=")
	switch file, isFile := strings.CutPrefix(value, "@"); {
	case option == "--additional-mcp-config" && isFile: // of GitHub Copilot CLI
		return file
	case (option == "-c" || option == "--config") && strings.HasSuffix(strings.TrimSpace(key), "_file"): // of Codex, as TOML
		return strings.Trim(setting, `"' `)
	case slices.Contains(mayBeMissing, option) || strings.HasPrefix(value, "{") || !slices.ContainsFunc(flags, takesPath):
		return "" // or a document
	default:
		return value
	}
}

// isThere reports whether a path can be read, or each of several with commas between them. What a process had
// open, such as <(command) of a shell, ended with it.
func isThere(path, dir string) bool {
	full := path
	if !filepath.IsAbs(path) {
		full = filepath.Join(dir, path)
	}
	const readable = 4                                                         // R_OK
	if syscall.Access(full, readable) == nil || strings.HasPrefix(path, "~") { // only the agent knows whose home
		return !strings.HasPrefix(path, "/dev/fd/") && !strings.HasPrefix(path, "/proc/self/fd/")
	}
	parts := strings.Split(path, ",")
	return len(parts) > 1 && !slices.ContainsFunc(parts, func(part string) bool { return !isThere(part, dir) })
}
