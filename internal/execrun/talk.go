package execrun

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"resumed/internal/agent"
	"resumed/internal/headless"
	"resumed/internal/lastwords"
	"resumed/internal/limit"
	"resumed/internal/procfs"
	"resumed/internal/resume"
	"resumed/internal/sanitize"
)

// talk is one command and, if it is that of a known agent, its session.
type talk struct {
	argv    []string
	prompt  func(limit.Verdict, int) string
	verdict limit.Verdict // on the latest run
	dir     string

	name  string              // of the agent; empty: not known
	agent agent.Agent         // nil if the command cannot be continued
	line  headless.Invocation // nil if agent is nil
	at    int                 // index in argv of the first argument of the agent

	given []string // added to a command that starts a session, to set its id
	id    string   // of the session, if it was set, in the arguments or printed
	ended func(context.Context, headless.Ended) headless.Continuation

	start *resume.Origin        // of the latest run; nil: not known
	began time.Time             // when the latest run started
	trail headless.Continuation // what the latest run left
	fault resume.Limited        // why the latest run failed, by its transcript or its output; of class none: neither says it
	last  agent.Evidence        // the last event in its transcript then
}

func newTalk(o Options) *talk {
	t := &talk{argv: o.Argv, prompt: o.Prompt, dir: o.Dir}
	t.name, t.at = whose(o)
	known, ok := o.Agents[t.name].(headless.CommandLine)
	if !ok {
		return t
	}
	line, ok := known.Invocation(o.Argv[t.at:])
	if !ok {
		return t
	}
	t.agent, t.line = o.Agents[t.name], line
	if t.id = line.Session(); t.id == "" {
		t.give()
	}
	return t
}

// whose returns the agent that a command runs, and the index of the agent's own arguments. A
// wrapper before the agent (env, npx) is recognised only if Options.Agent is set.
func whose(o Options) (name string, at int) {
	runs := func(arg string, a agent.Agent) bool {
		known, ok := a.(headless.CommandLine)
		return ok && strings.TrimSuffix(filepath.Base(arg), ".exe") == known.ProgramName()
	}
	if o.Agent != "" {
		at := slices.IndexFunc(o.Argv, func(arg string) bool { return runs(arg, o.Agents[o.Agent]) })
		return o.Agent, max(at, 0) + 1
	}
	for name, a := range o.Agents {
		if runs(o.Argv[0], a) {
			return name, 1
		}
	}
	return "", 1
}

// give sets a new id for the session that the command starts, if the agent allows that.
func (t *talk) give() {
	id := uuid.NewString()
	if t.given = t.line.SessionIDArgs(id); t.given != nil {
		t.id = id
	}
}

func (t *talk) first() []string {
	if len(t.given) == 0 {
		return t.argv
	}
	end := slices.Index(t.argv, "--")
	if end < 0 {
		end = len(t.argv)
	}
	return slices.Concat(t.argv[:end], t.given, t.argv[end:])
}

// next returns the command line of a later run, and whether it continues the session.
func (t *talk) next(attempt int) (argv []string, continued bool) {
	if t.trail.Session == "" {
		return t.first(), false
	}
	return slices.Concat(t.argv[:t.at], t.line.Resume(t.trail, t.prompt(t.verdict, attempt))), true
}

func (t *talk) begins() {
	if t.line != nil {
		t.start, t.began, t.ended = nil, time.Now(), t.line.Track(t.dir)
	}
}

// heard records the result of a run.
func (t *talk) heard(ctx context.Context, end *ending, reader limit.Reader) {
	if t.line == nil {
		return
	}
	printed := headless.Printed{Stdout: end.stdout.all(), Stderr: end.stderr.all()}
	t.trail = t.ended(ctx, headless.Ended{Printed: printed, Code: end.code, Session: t.id})
	t.id = cmp.Or(t.trail.Session, t.id)
	t.last = t.evidence(ctx)
	t.fault = t.recorded()
	if line, ok := t.line.(telling); ok {
		t.compare(line.Failed(reader, printed))
	}
}

// telling is the command line of an agent whose output says why a run failed, whatever its exit code is. Few agents have
// to: the transcripts of the others say it.
type telling interface {
	// Failed returns a verdict of class none if the output does not say it.
	Failed(limits limit.Reader, run headless.Printed) (limit.Verdict, string)
}

// compare compares the failure in the transcript with the one that was printed: the transcript counts, with the more
// precise time of both.
func (t *talk) compare(v limit.Verdict, words string) {
	exact := v.Reset.Stated() && !v.Reset.Rough
	switch {
	case t.fault.Class == limit.None:
		t.fault = resume.Limited{Verdict: v, Text: words}
	case t.fault.Class == v.Class && exact && (t.fault.Reset.Rough || !t.fault.Reset.Stated()):
		t.fault.Reset = v.Reset
	}
}

// evidence returns the last event in the session's transcript; zero: not known.
func (t *talk) evidence(ctx context.Context) (last agent.Evidence) {
	if t.trail.Transcript == "" {
		return last
	}
	switch a := t.agent.(type) { // a transcript that cannot be read has none
	case agent.FileAgent:
		last, _, _ = agent.LastOf(ctx, a, t.session())
	case agent.DatabaseAgent:
		all, _ := a.Evidence(t.trail.Transcript)
		if at := slices.IndexFunc(all, func(e agent.Evidence) bool { return e.Key.ID == t.id }); at >= 0 {
			last = all[at]
		}
	}
	return last
}

// wentOn reports whether somebody has continued the session since the latest run.
func (t *talk) wentOn(ctx context.Context) bool {
	now := t.evidence(ctx)
	return t.last.Event != nil && now.Event != nil && (now.Offset != t.last.Offset || !resume.When(now.Event).Equal(resume.When(t.last.Event)))
}

// recorded returns the failure of the latest run in the transcript; of class none if there is none.
func (t *talk) recorded() resume.Limited {
	refused, _ := t.last.Event.(resume.Limited)
	if refused.At.Before(t.began.Truncate(time.Second)) { // some transcripts have times in whole seconds
		return resume.Limited{}
	}
	return refused
}

// session returns the session for calls of the agent.
func (t *talk) session() resume.Session {
	return resume.Session{
		Key:        resume.Key{Agent: t.name, ID: t.id},
		Transcript: t.trail.Transcript,
		Cwd:        cmp.Or(t.trail.Cwd, t.dir),
	}
}

// owner returns the process that holds the session, or nil.
func (t *talk) owner(ctx context.Context) (*resume.Owner, error) {
	if t.trail.Session == "" {
		return nil, nil
	}
	return t.agent.Owner(ctx, t.session())
}

// leftRunning returns a process that a daemon left running when it ended: it has no lease.
func (t *talk) leftRunning(ctx context.Context) (pid int, found bool, err error) {
	owner, err := t.agent.Owner(ctx, t.session())
	if err != nil || owner == nil || owner.Kind != "headless" {
		return 0, false, err
	}
	return owner.PID, procfs.Proc.Variable(owner.PID, agent.MarkVariable) != "", nil
}

// tidy removes files that the run left beside the transcript and that must not stay.
func (t *talk) tidy(ctx context.Context) error {
	if t.agent == nil || t.trail.Transcript == "" {
		return nil
	}
	return t.agent.Tidy(ctx, t.session())
}

// document reports whether a run prints one document, which a retry would make two. Few agents do.
func (t *talk) document() bool {
	line, ok := t.line.(interface{ Document() bool })
	return ok && line.Document()
}

// needsInput reports whether another run needs the input of the first one.
func (t *talk) needsInput() bool {
	return t.line != nil && !t.line.Prompted() && (t.trail.Session == "" || t.trail.Again)
}

// failed reports whether a run failed although its exit code may be 0.
func (t *talk) failed() bool { return t.fault.Class != limit.None && !t.fault.InProgress }

// judge returns why a run failed, and the text for people: by its transcript or its result, by the last words of its
// output, or by its exit code.
func (t *talk) judge(end *ending, reader limit.Reader) (limit.Verdict, string) {
	verdict, words := t.fault.Verdict, sanitize.Short(t.fault.Text, longestText)
	if verdict.Class == limit.None {
		verdict, words = lastwords.Judge(reader, lastwords.Last(end.stderr.all()), lastwords.Last(end.stdout.all()))
	}
	if verdict.Class == limit.None && t.trail.Status != 0 {
		verdict = reader.Refusal(limit.Refusal{Status: t.trail.Status})
	}
	t.verdict = verdict
	return verdict, words
}

const longestText = 160

// ownerLook is how often exec looks whether a process still holds the session.
const ownerLook = 2 * time.Second

// TakenError says that the session is left to somebody else.
type TakenError struct {
	Why  string
	GoOn string // the command with which a person continues the session; empty: not known
}

func (e *TakenError) Error() string { return e.Why }

// awaitOwner waits until no other process holds the session. The error is a *TakenError if somebody
// has continued the session meanwhile, or if it is not known whether a process holds it.
func (t *task) awaitOwner(ctx context.Context) error {
	for told := false; ; told = true {
		owner, err := t.talk.owner(ctx)
		switch {
		case err != nil:
			return t.taken("cannot tell whether another process has session %s open: %v", t.talk.id, err)
		case t.talk.wentOn(ctx): // asked last: the process may have ended just now
			return t.taken("session %s was continued without it while it waited", t.talk.id)
		case owner == nil:
			return nil
		}
		if has := map[bool]string{false: "has", true: "may have"}[owner.Guessed]; !told {
			t.say(fmt.Sprintf("process %d (%s) %s session %s open: it is continued when that process ends", owner.PID, owner.Kind, has, t.talk.id))
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(ownerLook):
		}
	}
}

func (t *task) taken(format string, args ...any) error {
	return &TakenError{fmt.Sprintf(format, args...), t.talk.agent.ContinueCommand(t.talk.session())}
}

// The process of a run is looked at less and less often.
const (
	firstLook = 20 * time.Millisecond
	lastLook  = time.Minute
)

// observeStart stores what the agent's process was started with, until ctx is done: if this process is
// killed, a daemon continues the session as it was started. One look is not enough. A script first
// becomes its interpreter, and a start counts only if the process was seen after it got its prompt.
func (t *task) observeStart(ctx context.Context, pid int) {
	if t.talk.agent == nil {
		return
	}
	for wait := firstLook; ; wait = min(2*wait, lastLook) {
		if start := t.startBelow(pid); start != nil {
			t.talk.start = start
			t.storeStart(start.SeenAt)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// maxDepth is more than there are programs between a command and the agent that it starts.
const maxDepth = 8

// startBelow returns how the agent's process was started; nil: it is not known. The process is the command
// itself or, behind a program such as npx or bwrap, the nearest one below it: what the agent starts is further
// down.
func (t *task) startBelow(pid int) *resume.Origin {
	level := []int{pid}
	for depth := 0; depth < maxDepth && len(level) > 0; depth++ {
		for _, pid := range level {
			o := t.talk.agent.Origin(pid, false)
			if !o.Seen() {
				continue
			}
			if o.Program == (resume.Program{}) && !t.talk.agent.Lives(o.Process) {
				return nil // what an earlier look has found stays
			}
			return o
		}
		level = procfs.Proc.Children(level)
	}
	return nil
}

// storeStart stores the start of the latest run, if it is known. seen is when its process last lived.
func (t *task) storeStart(seen time.Time) {
	if t.talk.start == nil || t.talk.id == "" {
		return
	}
	t.talk.start.SeenAt = seen.Round(0)
	_ = t.Starts.Put(t.talk.session().Key, t.talk.start) // without it the daemon asks a person
}
