package e2e

import (
	"cmp"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agenttest"
	"resumed/internal/limit"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

// interruption is one way in which an agent at work is stopped, and what the
// daemon must make of it.
type interruption struct {
	name   string
	answer agenttest.Answer
	signal syscall.Signal // sent while the provider keeps the agent waiting; 0: none
	class  limit.Class
	end    end
	stated bool // the daemon must know when the limit lifts
}

// end is how an interruption must end.
type end int

const (
	resumed   end = iota + 1 // the task was finished in the same session, with one continuation
	parked                   // nothing is sent, and a person is told
	leftAlone                // nothing is sent
)

// headless are the interruptions of an agent that runs without a terminal.
var headless = []interruption{
	{name: "limit with a stated reset", answer: agenttest.UsageLimit(8 * time.Second), class: limit.UsageLimit, end: resumed, stated: true},
	{name: "throttle without one", answer: agenttest.RateLimit(0), class: limit.RateLimit, end: resumed},
	{name: "overload", answer: agenttest.Overloaded(), class: limit.Overloaded, end: resumed},
	{name: "wrong key", answer: agenttest.Unauthorized(), class: limit.Auth, end: parked},
	{name: "cancelled by the user", answer: agenttest.StuckStream(), signal: syscall.SIGINT, end: leftAlone},
	{name: "killed in the middle", answer: agenttest.StuckStream(), signal: syscall.SIGKILL, end: leftAlone},
}

func TestMatrix(t *testing.T) {
	for i, k := range []kit{
		claude("2.1.325"),
		older(claude("2.1.197")),
		codex("0.166.0"),
		silent(codex("0.144.6")),
		opencode("1.18.33"),
		kilo("7.7.7"),
		copilot("1.0.102"),
		gemini("0.61.0"),
		qwen("0.24.4"),
		kimi("2.1.0"),
		bundled(pi("1.5.0")),
		pi("0.87.1"),
	} {
		k.place = 100 * i
		t.Run(k.name(), func(t *testing.T) { try(t, k) })
	}
}

func try(t *testing.T, k kit) {
	if !wanted(k.agent) {
		table.add(result{place: k.place, kit: k.name(), outcome: "SKIPPED: E2E does not ask for it"})
		t.Skip("SKIPPED: E2E does not ask for it")
	}
	bin, pinned := install(t, k)
	if !pinned {
		k.version = "in PATH"
	}
	t.Parallel() // the lanes below say what that means
	for i, s := range k.situations() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			lane := busyLane
			if k.slow[s.name] {
				lane = idleLane
			}
			lane <- struct{}{}
			defer func() { <-lane }()

			began := time.Now()
			row := result{place: k.place + i, kit: k.name(), row: s.name}
			defer func() {
				row.took = time.Since(began)
				switch {
				case t.Failed():
					row.outcome = "FAILED"
				case t.Skipped():
					row.outcome = "SKIPPED"
				}
				table.add(row)
			}()
			s.play(t, newBox(t, k, bin), &row)
		})
	}
}

// Agents are heavy when they start, and wait then. A lane is how many of them
// are at it at a time; those that do little but wait have one of their own.
var (
	busyLane = make(chan struct{}, 4)
	idleLane = make(chan struct{}, 6)
)

// The waits before a resume where no time is stated: in a hurry, and where
// somebody has to do something first.
const (
	hasty   = 2 * time.Second
	patient = 8 * time.Second
)

// config is the daemon's, in a hurry.
func (b *box) config() string {
	return fmt.Sprintf(hurry, b.kit.margin, cmp.Or(b.kit.unseen, "park"), "type", b.backoff, "[]")
}

const hurry = `
[resume]
margin = %q
unseen = %q
stagger = "0s"
live = %q
[backoff]
base_delay = %q
jitter = false
[[backoff.policy]]
name = "like-limits"
classes = ["overloaded", "server_error", "network"]
[notify]
group_wait = "0s"
events = %s
`

const prompt = "Write two lines into work.txt."

func (c interruption) play(t *testing.T, b *box, row *result) {
	row.provider = string(c.answer.Kind())
	if c.signal == syscall.SIGKILL && b.kit.turns {
		c.end, c.class = parked, limit.CutOff
	}
	b.start(b.config())
	b.provider.Script(b.step("one"), c.answer)
	b.provider.Upon("continue", b.step("two"), agenttest.Text("All done."))
	agent := b.begin(prompt)
	if c.signal != 0 {
		if c.end == resumed {
			b.untilState(resume.Waiting)
		} else {
			b.until("the provider keeps the agent waiting", func() bool { return len(b.provider.Requests()) == 2 })
			time.Sleep(time.Second) // what it has of the answer it shows
		}
		require.NoError(t, syscall.Kill(-agent.cmd.Process.Pid, c.signal))
	}
	if c.end == resumed {
		c.mustResume(t, b, agent, row)
		return
	}
	agent.wait(t)
	before := b.provider.Requests()
	require.Equal(t, "one", b.done(), "the agent had begun")

	if c.end == parked {
		s := b.untilState(resume.Parked)
		row.said, row.did, row.outcome = saw(s), "parked it", "left to a person"
		require.Equal(t, c.class, s.Class)
		b.mustStayQuiet(before, 0)
		return
	}
	b.mustStayQuiet(before, 0)
	row.said, row.did, row.outcome = "nothing to wait for", "nothing", "left alone"
	if s, ok := b.session(); ok {
		require.Equal(t, resume.Watching, s.State)
	}
}

// mustResume waits until the daemon has continued the session and checks that
// it did so once, in time, and that the task is done.
func (c interruption) mustResume(t *testing.T, b *box, agent *run, row *result) {
	s := b.untilState(resume.Waiting, resume.Resuming, resume.Settling)
	agent.wait(t)
	before := b.refused()
	row.said = saw(s)
	require.Equal(t, b.kit.agent, s.Agent)
	require.Equal(t, c.class, s.Class)
	require.Equal(t, b.work, s.Cwd)
	refused := before[len(before)-1]
	if c.stated {
		require.NotNil(t, s.ResetAt, "the provider stated %s", refused.Reset)
		require.NotNil(t, s.NextAt)
		require.False(t, s.NextAt.Before(refused.Reset), "it would be resumed at %s, before the reset at %s", s.NextAt, refused.Reset)
	}

	news := b.finished(s, before, 1, once)
	row.did = fmt.Sprintf("continued once, %s after the refusal", news[0].At.Sub(refused.At).Round(100*time.Millisecond))
	row.outcome = "finished"
}

// refused returns the requests before the first continuation.
func (b *box) refused() []agenttest.Request {
	all := b.provider.Requests()
	for i, r := range all {
		if agenttest.Says(r.Prompts, "continue") > 0 {
			return all[:i]
		}
	}
	return all
}

// finished waits until the task is done and checks that it was done in the
// same session, not before the limit had lifted, by so many resumes, and with
// these prompts in the conversation, and in what the agent keeps of it.
func (b *box) finished(s view.Session, before []agenttest.Request, resumes int, want prompts) []agenttest.Request {
	b.t.Helper()
	b.until("the task is done", func() bool {
		return b.done() == "one two" && len(b.provider.Requests()) >= len(before)+2
	})
	after := b.untilState(resume.Watching)
	require.Equal(b.t, s.ID, after.ID)
	require.Equal(b.t, s.Transcript, after.Transcript)
	news := b.mustStayQuiet(b.provider.Requests(), resumes)[len(before):]
	require.Len(b.t, news, 2, "a continuation is one step and one last word")
	reset := before[len(before)-1].Reset
	require.False(b.t, news[0].At.Before(reset), "continued at %s, before %s", news[0].At, reset)
	mustSay(b.t, news[1].Prompts, want)
	b.mustKeep(want)
	return news
}

// mustStayQuiet waits for what must not happen: another resume, another
// request.
func (b *box) mustStayQuiet(before []agenttest.Request, resumes int) []agenttest.Request {
	b.t.Helper()
	time.Sleep(b.backoff + time.Second)
	now := b.provider.Requests()
	require.Len(b.t, now, len(before), "requests of the agent")
	log := b.log.String()
	done := strings.Count(log, "msg=resumed ") + strings.Count(log, "msg=typed ") + strings.Count(log, `msg="handed over" `)
	require.Equal(b.t, resumes, done, "resumes of the daemon")
	return now
}

// saw is what the daemon says about the session.
func saw(s view.Session) string { return short(s.Reason) }

// short makes a text fit the table.
func short(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > 60 {
		text = string(r[:59]) + "…"
	}
	return text
}
