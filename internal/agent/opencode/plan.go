package opencode

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"resumed/internal/agent"
	"resumed/internal/leash"
	"resumed/internal/program"
	"resumed/internal/resume"
	"resumed/internal/sqliteread"
)

var plainName = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z_-]*$`)

// Plan says how the session is continued now: by a headless run of the same
// session in its own directory, or through a server that knows the session.
// Model and agent are the session's own, and its permissions are never widened.
func (a *Agent) Plan(ctx context.Context, s resume.Session, w agent.Words) (agent.Plan, error) {
	c, plan, stands, err := a.stands(ctx, s)
	if !stands {
		return plan, err
	}
	if a.mayBeServed(s) {
		if plan, ok := a.through(ctx, c, w); ok {
			return plan, nil
		}
	}
	return a.run(s, w, c)
}

// mayBeServed reports whether a server may go on with the session: it worked on it
// before, or nobody saw who did. A session of another process had an environment
// of its own, which the server has not.
func (a *Agent) mayBeServed(s resume.Session) bool {
	o := s.StartedWith()
	return o == nil || o.Server
}

// stands reads the session anew and reports whether it stands where it stopped,
// or returns what is to be done otherwise.
func (a *Agent) stands(ctx context.Context, s resume.Session) (c conversation, otherwise agent.Plan, stands bool, err error) {
	if err := ctx.Err(); err != nil {
		return c, agent.Plan{}, false, err
	}
	if !plainName.MatchString(s.Key.ID) {
		return c, agent.Parked("the session id %q has characters that no id of %s has", s.Key.ID, a.brand.name), false, nil
	}
	if n, ok := a.retries.get(s.Key.ID); ok && n.kind == retrying {
		return c, agent.Left(a.brand.triesAgain(n.status.Next)), false, nil
	}
	var (
		last agent.Evidence
		why  string
	)
	err = sqliteread.Steadily(ctx, func(ctx context.Context) error {
		return readDatabase(ctx, s.Transcript, func(db *database) (err error) {
			c, last, why, err = a.again(ctx, db, s)
			return err
		})
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return c, agent.Parked("the database is gone"), false, nil
	case err != nil:
		return c, agent.Plan{}, false, err
	case why != "":
		return c, agent.Parked("%s", why), false, nil
	}
	if why := standsBack(s, last); why != "" {
		return c, agent.Left(why), false, nil
	}
	if err := agent.CheckDir(c.directory); err != nil {
		return c, agent.Parked("%s", err), false, nil
	}
	return c, agent.Plan{}, true, nil
}

// triesAgain says that the agent goes on by itself, and when where that is told.
func (b *brand) triesAgain(ms int64) string {
	words := b.title + " tries again by itself"
	if ms <= 0 || ms > latestMS {
		return words
	}
	return words + " at " + time.UnixMilli(ms).UTC().Format(time.RFC3339)
}

// again reads the session anew. why is set where it is not to be continued at
// all.
func (a *Agent) again(ctx context.Context, db *database, s resume.Session) (c conversation, last agent.Evidence, why string, err error) {
	c, found, err := db.conversation(ctx, s.Key.ID)
	switch {
	case err != nil:
		return c, last, "", err
	case !found:
		return c, last, "the session is not in the database any more", nil
	case c.parent != "":
		return c, last, "it is a child session: its parent goes on by itself", nil
	case c.archived:
		return c, last, "the session was archived", nil
	}
	messages, err := db.latest(ctx, c.id)
	if err != nil {
		return c, last, "", err
	}
	b := &book{path: s.Transcript, agent: a.brand.name, account: s.Account, reader: a.Limits}
	if last, err = a.judge(ctx, b, db, c, messages); err != nil {
		return c, last, "", err
	}
	c.asked, err = db.lastPrompt(ctx, c.id)
	return c, last, "", err
}

// standsBack returns why the session is not continued by what the database says
// last, or nothing where it stands where it stopped.
func standsBack(s resume.Session, last agent.Evidence) string {
	switch e := last.Event.(type) {
	case resume.Prompted:
		if agent.SentByUs(s, e.At) {
			return "" // of a resume that came to nothing
		}
	case resume.Cancelled:
		// A turn that is not over and that nobody holds: it was the one that
		// waited by itself until it died, or that of a resume which was ended.
		if last.Leave != "" && (!e.At.After(s.LimitedAt) || agent.SentByUs(s, e.At)) {
			return ""
		}
	}
	return agent.WhyNotNow(s, last.Event, time.Now())
}

// run returns the command that continues the session.
func (a *Agent) run(s resume.Session, w agent.Words, c conversation) (agent.Plan, error) {
	found, err := a.Find(s)
	if err != nil {
		return a.Missing(), nil
	}
	chosen, newer := c.chosen()
	carried, _ := a.Carry(s, newer...) // of what nobody saw there is only what the database tells
	args := slices.Concat([]string{"run", "--session", s.Key.ID, "--format", "json"}, chosen, carried.Args, words(w.Prompt))
	command := a.Begin(found, c.directory, carried, a.environment(found, s.Transcript), args...)
	command.Spare = a.spare(c.asked.provider(), c.directory)
	return agent.Plan{Run: command}, nil
}

// chosen returns what the session's last prompt was asked with. Left to itself
// opencode takes the usual agent, which may do more than the session's own, and
// the model of that, which may be another provider's.
// newer are the flags that the start of the session need not tell any more.
func (c conversation) chosen() (args, newer []string) {
	if name := cmp.Or(c.agent, c.asked.Agent); plainName.MatchString(name) {
		args, newer = append(args, "--agent", name), append(newer, "--agent")
	}
	model := c.asked.Model
	with := leash.WithModel(args, model.Provider+"/"+model.ID)
	if model.Provider == "" || model.ID == "" || len(with) == len(args) {
		return args, newer
	}
	if variant := cmp.Or(model.Variant, c.asked.Variant); plainName.MatchString(variant) {
		with = append(with, "--variant", variant)
	}
	return with, append(newer, "-m", "--model", "--variant")
}

// words returns the prompt as arguments. opencode joins its arguments by blanks
// and puts quotes around those that contain one, so each word is its own.
func words(prompt string) []string {
	all := slices.DeleteFunc(strings.Split(prompt, " "), func(word string) bool { return word == "" })
	if slices.ContainsFunc(all, func(word string) bool { return strings.HasPrefix(word, "-") }) {
		return append([]string{"--"}, all...)
	}
	return all
}

// environment returns what makes a run find the database that the session is in.
func (a *Agent) environment(found program.Found, path string) []string {
	env := found.Environment(a.Env)
	dir, name := filepath.Dir(path), filepath.Base(path)
	usual, ok := a.brand.usualHome(a.UserDir)
	if ok && dir == usual.dir && (name == usual.only || usual.only == "" && name == a.brand.usualDatabase()) {
		return env
	}
	if filepath.Base(dir) == a.brand.program && dir != usual.dir {
		env = append(env, "XDG_DATA_HOME="+filepath.Dir(dir)) // its logins are there too
	}
	return append(env, a.brand.variable("DB")+"="+path)
}
