package opencode

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"resumed/internal/agent"
	"resumed/internal/agent/opencode/database"
	"resumed/internal/agent/opencode/processes"
	"resumed/internal/headless"
	"resumed/internal/lazy"
	"resumed/internal/leash"
	"resumed/internal/program"
	"resumed/internal/resume"
)

// Plan returns how the session is continued now: by a headless run in its own directory. The model and agent stay the
// same, and permissions are never widened.
func (a *Agent) Plan(ctx context.Context, s resume.Session, prompt string) (agent.Plan, error) {
	now, leave, err := a.stillStopped(ctx, s)
	if leave != nil || err != nil {
		return agent.Plan{Skip: leave}, err
	}
	if now.Two {
		return agent.Plan{Skip: a.whyNot2(s, false)}, nil
	}
	chosen, newer := now.chosen()
	return a.run(s, now, prompt, chosen, newer, a.spare(now.prompt.Provider(), now.Directory)), nil
}

// PlanLive returns how a session is continued while a live process may hold it: only one of version 2 is, at a
// person's word, by a run that gives the prompt to the background server.
func (a *Agent) PlanLive(ctx context.Context, s resume.Session, _ resume.Owner, prompt string) (agent.Plan, error) {
	now, leave, err := a.stillStopped(ctx, s)
	if leave != nil || err != nil {
		return agent.Plan{Skip: leave}, err
	}
	holders, err := a.finder().Holders(ctx, s)
	if err != nil {
		return agent.Plan{}, err
	}
	registered, background := a.registered(), false
	for _, p := range holders {
		switch {
		case processes.AttachedTo(p.Args) != "": // it only shows the sessions of a server
		case now.Two && slices.Contains(registered, p.PID):
			background = true
		case processes.IsServer(p.Args):
			return told("%s %s (process %d) holds it: end that, and the session is continued", a.brand.program, processes.Command(p.Args), p.PID), nil
		default:
			return agent.Plan{}, nil
		}
	}
	if !now.Two {
		return agent.Plan{}, nil
	}
	if leave := a.whyNot2(s, background); leave != nil {
		return agent.Plan{Skip: leave}, nil
	}
	newer := []string{"--agent", "-m", "--model", "--variant"} // the session keeps its model there, and the server has the keys
	return a.run(s, now, prompt, now.ownAgent(), newer, agent.Optional(nil, providerVariables)), nil
}

// told returns the plan for an obstacle that may pass by itself, and that a person is told once.
func told(format string, args ...any) agent.Plan {
	return agent.Plan{Skip: &agent.Skip{Why: fmt.Sprintf(format, args...), Tell: true}}
}

// whyNot2 returns why a session of version 2 is not continued; nil: a person asked for it, and the background server
// runs. Without that, a run would start one, which would continue other sessions too, and end with the run.
func (a *Agent) whyNot2(s resume.Session, background bool) *agent.Skip {
	switch {
	case s.RetryAskedAt.IsZero():
		return &agent.Skip{Why: a.brand.untried(), Known: resume.Reason{Kind: resume.WhyUntried, Text: a.brand.untried()}, Park: true}
	case !background:
		return agent.Parked("the server of %s 2 does not run: start it with %s service start, and retry", a.brand.title, a.brand.program).Skip
	}
	return nil
}

// chosen returns the agent and model of the session's last prompt. By default opencode uses its usual agent, which
// may have more permissions, and the model of that, possibly of another provider. newer are the flags of the
// session's start that this replaces.
func (c current) chosen() (args, newer []string) {
	if args = c.ownAgent(); len(args) > 0 {
		newer = append(newer, "--agent")
	}
	model := c.prompt.Model
	with := leash.WithModel(args, model.Provider+"/"+model.ID)
	if model.Provider == "" || model.ID == "" || len(with) == len(args) {
		return args, newer
	}
	if variant := cmp.Or(model.Variant, c.prompt.Variant); plainName().MatchString(variant) {
		with = append(with, "--variant", variant)
	}
	return with, append(newer, "-m", "--model", "--variant")
}

func (c current) ownAgent() []string {
	if name := cmp.Or(c.Agent, c.prompt.Agent); plainName().MatchString(name) {
		return []string{"--agent", name}
	}
	return nil
}

// run returns the command with the chosen flags, which replace the newer ones of the session's start.
func (a *Agent) run(s resume.Session, now current, prompt string, chosen, newer []string, spare func(string) bool) agent.Plan {
	found, err := a.Find(s)
	if err != nil {
		return a.Missing()
	}
	carried, _ := a.Carry(s, newer...) // if the start was not seen, only the database tells
	args := slices.Concat([]string{"run", "--session", s.Key.ID, "--format", "json"}, chosen, carried.Args, words(prompt))
	command := a.NewCommand(found, now.Directory, carried, a.environment(found, s.Transcript), args...)
	command.Optional = spare
	return agent.Plan{Run: command}
}

// words returns the prompt as arguments. opencode joins arguments by spaces and quotes those that contain one, so
// each word is a separate argument.
func words(prompt string) []string {
	all := slices.DeleteFunc(strings.Split(prompt, " "), func(word string) bool { return word == "" })
	if slices.ContainsFunc(all, func(word string) bool { return strings.HasPrefix(word, "-") }) {
		return append([]string{"--"}, all...)
	}
	return all
}

// environment returns the variables with which a run finds the session's database.
func (a *Agent) environment(found program.Found, path string) []string {
	env := found.Environment(a.Env)
	dir, name := filepath.Dir(path), filepath.Base(path)
	if dir == a.homes.Usual && name == cmp.Or(a.only, a.brand.usualDatabase()) {
		return env
	}
	if filepath.Base(dir) == a.brand.program && dir != a.homes.Usual {
		env = append(env, "XDG_DATA_HOME="+filepath.Dir(dir)) // its logins are there too
	}
	return append(env, a.brand.variable("DB")+"="+path)
}

// Start returns the command that begins the session of a task. Its JSON output contains the id.
func (a *Agent) Start(task resume.Session) (agent.Plan, error) {
	home, name := a.homes.Roots[0], a.brand.usualDatabase()
	if home == a.homes.Usual {
		name = cmp.Or(a.only, name)
	}
	return a.Open(task, agent.Opening{
		Args: []string{"run", "--format", "json"},
		Env:  func(found program.Found) []string { return a.environment(found, filepath.Join(home, name)) },
		Say:  func(args []string, prompt string) []string { return slices.Concat(args, words(prompt)) },
	}), nil
}

var _ agent.IDPrinter = (*Agent)(nil)

// ParseSessionID returns the id, which is in each line of a run.
func (a *Agent) ParseSessionID(printed string) string {
	return headless.ToldID(headless.Printed{Stdout: printed}, "sessionID")
}

// Home returns the account in which tasks begin.
func (a *Agent) Home() string { return a.homes.Account(a.homes.Roots[0]) }

var plainName = lazy.Regexp(`^[0-9A-Za-z][0-9A-Za-z_-]*$`)

type current struct {
	database.Session
	prompt database.Record // the last one
}

// stillStopped reads the session again, and returns why nothing may be sent if it is no longer stopped as before.
func (a *Agent) stillStopped(ctx context.Context, s resume.Session) (now current, leave *agent.Skip, err error) {
	if err := ctx.Err(); err != nil {
		return now, nil, err
	}
	if !plainName().MatchString(s.Key.ID) {
		return now, agent.Parked("the session id %q has characters that no id of %s has", s.Key.ID, a.brand.name).Skip, nil
	}
	var last agent.Evidence
	var two bool
	err = database.ReadSteadily(ctx, s.Transcript, func(db *database.DB) (err error) {
		now, two = current{}, db.IsVersion2()
		found, err := db.Sessions(ctx, "WHERE id = ? ", s.Key.ID)
		if err != nil || len(found) == 0 {
			return err
		}
		now.Session = found[0]
		if last, err = a.last(ctx, db, a.reader(s.Transcript), now.Session); err != nil {
			return err
		}
		now.prompt, err = db.LastPrompt(ctx, now.ID)
		return err
	})
	why := database.WhyLeft(now.Parent, now.Archived)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return now, agent.Parked("the database is gone").Skip, nil
	case err != nil:
		return now, nil, err
	case now.ID == "" && two:
		return now, agent.Parked("%s 2 does not have the session: open it there once", a.brand.title).Skip, nil
	case now.ID == "":
		return now, agent.Parked("the session is not in the database any more").Skip, nil
	case why != "":
		return now, agent.Parked("%s", why).Skip, nil
	}
	if why := whyNotNow(s, last); why != "" {
		return now, agent.SkipPlan(why).Skip, nil
	}
	return now, agent.CheckDir(s, now.Directory), nil
}

// whyNotNow returns why the session is not continued after its last event; "": it is still stopped.
func whyNotNow(s resume.Session, last agent.Evidence) string {
	switch e := last.Event.(type) {
	case resume.Prompted:
		if agent.SentByUs(s, e.At) {
			return "" // of a resume that had no effect
		}
	case resume.Cancelled:
		if last.Leave != "" && agent.SentByUs(s, e.At) {
			return "" // an unfinished turn of a resume that was ended
		}
	}
	return agent.WhyNotNow(s, last.Event, time.Now())
}

// HasDatabase reports whether path has the name of a database of the agent.
func (a *Agent) HasDatabase(path string) bool { return a.brand.isDatabase(filepath.Base(path)) }

// Evidence returns the last event in the database at path for each of its sessions.
func (a *Agent) Evidence(path string) (found []agent.Evidence, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
	defer cancel()
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	err = database.ReadSteadily(ctx, path, func(db *database.DB) error {
		found = nil
		sessions, err := db.Sessions(ctx, "")
		for _, s := range sessions {
			e, err := a.last(ctx, db, a.reader(path), s)
			if err != nil {
				return err
			}
			found = append(found, e)
		}
		return err
	})
	return found, err
}

func (a *Agent) last(ctx context.Context, db *database.DB, r database.Reader, s database.Session) (agent.Evidence, error) {
	m, err := db.Last(ctx, s)
	if err != nil {
		return agent.Evidence{}, err
	}
	event, why := m.Event(r.Limits), database.WhyLeft(s.Parent, s.Archived)
	switch m.Meaning {
	case database.Nothing:
		m.AtMS = s.CreatedMS
		event = resume.Progressed{At: m.At()}
	case database.Pending:
		works, unfinished, err := a.unfinished(ctx, r, s)
		if err != nil {
			return agent.Evidence{}, err
		}
		event = resume.Cancelled{At: m.At()}
		if works {
			event = resume.Progressed{At: m.At()}
		}
		why = cmp.Or(why, unfinished)
	default:
	}
	return agent.Evidence{Observation: r.Observation(s, m, event), Leave: why}, nil
}

// unfinished reports whether opencode works on a session whose last message is not finished, and why the session is
// left alone. In the database it looks the same whether it runs, waits for a retry, or was killed: in version 1 the
// processes decide.
func (a *Agent) unfinished(ctx context.Context, r database.Reader, s database.Session) (works bool, why string, err error) {
	var owner *resume.Owner
	if s.Turn == database.NotStored {
		owner, err = a.Owner(ctx, resume.Session{Key: resume.Key{Agent: r.Agent, ID: s.ID}, Cwd: s.Directory, Transcript: r.Path})
	}
	switch {
	case s.Turn == database.Taken:
		return true, a.brand.title + " works on it, or continues it by itself when its server starts", nil
	case errors.Is(err, agent.ErrUnseen):
		return true, "its last turn is not over, and nobody can tell whether " + a.brand.title + " still works on it", nil
	case owner != nil && err == nil:
		return true, "its last turn is not over, and " + a.brand.title + " lives in its directory", nil
	default:
		return false, "its last turn was cut off: the process that ran it was ended", err
	}
}
