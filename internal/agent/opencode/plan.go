package opencode

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"resumed/internal/agent"
	"resumed/internal/agent/opencode/database"
	"resumed/internal/agent/opencode/processes"
	"resumed/internal/agent/opencode/server"
	"resumed/internal/headless"
	"resumed/internal/lazy"
	"resumed/internal/leash"
	"resumed/internal/process"
	"resumed/internal/program"
	"resumed/internal/resume"
)

// Plan returns how the session is continued now: by a headless run in its own directory, or through a server that
// has the session. The model and agent stay the same, and permissions are never widened.
func (a *Agent) Plan(ctx context.Context, s resume.Session, prompt string) (agent.Plan, error) {
	now, leave, err := a.stillStopped(ctx, s)
	if leave != nil || err != nil {
		return agent.Plan{Skip: leave}, err
	}
	if now.Two {
		return a.noBackground(), nil
	}
	// A server may continue a session that it had before, or whose process was not seen. A session of
	// another process had an environment that the server does not have.
	if o := s.StartedWith(); o == nil || o.Server {
		if plan, ok := a.through(ctx, now, prompt); ok {
			return plan, nil
		}
	}
	chosen, newer := now.chosen()
	return a.run(s, now, prompt, chosen, newer, a.spare(now.prompt.Provider(), now.Directory)), nil
}

// PlanLive returns how a session is continued while a live process may hold it: through the server, if no other does.
func (a *Agent) PlanLive(ctx context.Context, s resume.Session, _ resume.Owner, prompt string) (agent.Plan, error) {
	now, leave, err := a.stillStopped(ctx, s)
	if leave != nil || err != nil {
		return agent.Plan{Skip: leave}, err
	}
	holders, err := a.finder().Holders(ctx, s)
	if err != nil {
		return agent.Plan{}, err
	}
	if now.Two {
		return a.throughBackground(ctx, s, now, holders, prompt)
	}
	for _, p := range holders {
		// A process that only shows a server's sessions holds none itself.
		if processes.AttachedTo(p.Args) == "" && (a.server == nil || !a.finder().ListensAt(p.PID, a.server.String())) {
			return a.unreached(p), nil
		}
	}
	plan, _ := a.through(ctx, now, prompt)
	return plan, nil
}

// unreached returns the plan if the process that holds the session is not the configured server. If it is another
// server, people are told the missing setting.
func (a *Agent) unreached(p process.Live) agent.Plan {
	address := a.finder().Address(p.PID)
	if !processes.IsServer(p.Args) || address == "" {
		return agent.Plan{}
	}
	return told("%s %s (process %d) holds it: set server = %q in [[agent]], and it is continued through that",
		a.brand.program, processes.Command(p.Args), p.PID, address)
}

// told returns the plan for an obstacle that may pass by itself, and that a person is told once.
func told(format string, args ...any) agent.Plan {
	return agent.Plan{Skip: &agent.Skip{Why: fmt.Sprintf(format, args...), Tell: true}}
}

// throughBackground returns how a session of version 2 is continued: by a run that gives the prompt to the
// background server, which works on it. The session keeps its model there.
func (a *Agent) throughBackground(ctx context.Context, s resume.Session, now current, holders []process.Live, prompt string) (agent.Plan, error) {
	var background *server.Service
	for _, p := range holders {
		all := a.services()
		at := slices.IndexFunc(all, func(s server.Service) bool { return s.PID == p.PID })
		if at < 0 {
			return agent.Plan{}, nil // it runs without the background server, and nothing reaches it
		}
		background = &all[at]
	}
	if background == nil {
		return a.noBackground(), nil
	}
	if err := background.Check(ctx); err != nil {
		return agent.SkipPlan(fmt.Sprintf("the server of %s (process %d) does not answer: %s", a.brand.title, background.PID, err)), nil
	}
	spare := agent.Optional(nil, providerVariables) // the server has the keys
	return a.run(s, now, prompt, now.ownAgent(), []string{"--agent", "-m", "--model", "--variant"}, spare), nil
}

// noBackground returns the plan for a session of version 2 whose server does not run. A run would start one,
// which would continue other sessions too, and end with the run.
func (a *Agent) noBackground() agent.Plan {
	return told("the server of %s 2 does not run: start it with %s service start, and the session is continued", a.brand.title, a.brand.program)
}

// through returns how the session is continued through the configured server. It returns false if there is none, or
// if it does not have the session.
func (a *Agent) through(ctx context.Context, now current, prompt string) (agent.Plan, bool) {
	if a.server == nil {
		return agent.Plan{}, false
	}
	client, named := a.client(), "the server of "+a.brand.title
	session, err := client.Session(ctx, now.ID, now.Directory)
	refused, _ := errors.AsType[*server.StatusError](err)
	switch {
	case refused != nil && refused.Code == http.StatusNotFound || server.NotConnected(err),
		err == nil && (session.ID != now.ID || !process.SameDir(session.Directory, now.Directory)):
		return agent.Plan{}, false
	}
	var statuses map[string]server.Status
	if err == nil {
		statuses, err = client.Statuses(ctx, now.Directory)
	}
	switch status := statuses[now.ID]; {
	case err != nil:
		return agent.SkipPlan(named + " does not say how the session stands: " + err.Error()), true
	case status.Kind() == server.Retrying:
		return a.triesAgain(status), true
	case status.Type != "" && status.Kind() != server.Over:
		return agent.SkipPlan(named + " works on the session"), true
	}
	return agent.Plan{Send: &agent.Sending{
		To: named + " at " + a.server.Redacted(), Text: prompt,
		Do: func(ctx context.Context) error { return a.prompt(ctx, session, prompt) },
	}}, true
}

// prompt sends a prompt to the session, once. Its error says whether certainly nothing was sent.
func (a *Agent) prompt(ctx context.Context, s server.Session, prompt string) error {
	err := a.client().Prompt(ctx, s, prompt)
	if server.NotConnected(err) {
		return &agent.NotSentError{Why: "the server of " + a.brand.title + " does not answer: " + err.Error()}
	}
	if status, refused := errors.AsType[*server.StatusError](err); refused && status.Code/100 == 4 {
		return &agent.NotSentError{Why: "the server of " + a.brand.title + " refused the prompt: " + err.Error(), Park: true}
	}
	return err
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
	if e, ok := a.retry(s.Key.ID); ok {
		return now, a.triesAgain(e.Status).Skip, nil
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
		return now, told("%s 2 does not have the session: open it there once", a.brand.title).Skip, nil
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

// triesAgain returns the plan for a session that the agent retries by itself, with the time if it is known.
func (a *Agent) triesAgain(s server.Status) agent.Plan {
	why := a.brand.title + " tries again by itself"
	if at := time.UnixMilli(s.Next).UTC(); s.Next > 0 && resume.ValidRecordTime(at) {
		why += " at " + at.Format(time.RFC3339)
	}
	return agent.SkipPlan(why)
}

// whyNotNow returns why the session is not continued after its last event; "": it is still stopped.
func whyNotNow(s resume.Session, last agent.Evidence) string {
	switch e := last.Event.(type) {
	case resume.Prompted:
		if agent.SentByUs(s, e.At) {
			return "" // of a resume that had no effect
		}
	case resume.Cancelled:
		// An unfinished turn without a process: it waited for a retry until its process died, or it
		// belongs to a resume that was ended.
		if last.Leave != "" && (!e.At.After(s.LimitedAt) || agent.SentByUs(s, e.At)) {
			return ""
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
