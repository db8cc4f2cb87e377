package execrun

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/agents"
	"resumed/internal/config"
	"resumed/internal/headless"
	"resumed/internal/lastwords"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

const id = "4f2a1c9e-0000-4000-8000-000000000001"

// robot is an agent with the command line "robot do PROMPT"; "--in ID" names a session, and
// "robot go on in ID" continues it.
type robot struct {
	agent.Agent
	takesID bool
	owner   *resume.Owner
	ends    time.Time // of the owner; zero: never
	err     error
}

func (r *robot) ProgramName() string { return "robot" }

func (r *robot) ContinueCommand(resume.Session) string { return "robot go on" }

func (r *robot) Owner(context.Context, resume.Session) (*resume.Owner, error) {
	if !r.ends.IsZero() && !time.Now().Before(r.ends) {
		return nil, nil
	}
	return r.owner, r.err
}

func (r *robot) Invocation(args []string) (headless.Invocation, bool) {
	return order{r, args}, len(args) > 0 && args[0] == "do"
}

type order struct {
	*robot
	args []string
}

func (o order) Prompted() bool { return len(o.args) > 1 }

func (o order) Document() bool { return slices.Contains(o.args, "--json") }

func (o order) Session() string {
	if at := slices.Index(o.args, "--in"); at >= 0 {
		return o.args[at+1]
	}
	return ""
}

func (o order) SessionIDArgs(id string) []string {
	if !o.takesID {
		return nil
	}
	return []string{"--as", id}
}

func (o order) Track(string) func(context.Context, headless.Ended) headless.Continuation {
	return func(_ context.Context, run headless.Ended) headless.Continuation {
		if told, ok := strings.CutPrefix(run.Stdout, "in "); ok {
			return headless.Continuation{Session: told}
		}
		return headless.Continuation{Session: run.Session}
	}
}

func (order) Failed(_ limit.Reader, run headless.Printed) (v limit.Verdict, words string) {
	if strings.HasPrefix(run.Stdout, "refused") {
		v = limit.Verdict{Class: limit.Overloaded, WaitHelps: true}
	}
	return v, words
}

func (o order) Resume(t headless.Continuation, prompt string) []string {
	return []string{"go", "on", "in", t.Session, prompt}
}

// talkOf returns a talk with a robot.
func talkOf(r *robot, agentName, argv string) *talk {
	return newTalk(Options{
		Agent: agentName, Argv: strings.Fields(argv), Prompt: func(limit.Verdict, int) string { return "continue" },
		Agents: map[string]agent.Agent{"robots": r, "mybot": struct{ agent.Agent }{}},
	})
}

// ends ends the latest run with that output.
func (t *talk) ends(printed string) {
	t.begins()
	end := &ending{at: time.Now()}
	end.stdout.add([]byte(printed))
	t.heard(context.Background(), end, limit.Reader{})
}

func TestWhoseCommandItIs(t *testing.T) {
	for _, c := range []struct {
		agent, argv, name string
		known             bool
	}{
		{"", "robot do x", "robots", true},
		{"", "/opt/bin/robot do x", "robots", true},
		{"", "robot list", "robots", false},
		{"", "make robot do x", "", false},
		{"", "env A=1 robot do x", "", false},
		{"robots", "env A=1 robot do x", "robots", true},
		{"robots", "my-robot do x", "robots", true},
		{"mybot", "robot do x", "mybot", false},
	} {
		talk := talkOf(new(robot), c.agent, c.argv)
		require.Equal(t, c.name, talk.name, c.argv)
		require.Equal(t, c.known, talk.line != nil, c.argv)
	}
	talk := talkOf(new(robot), "robots", "env A=1 robot do x")
	talk.ends("in " + id)
	argv, continued := talk.next(1)
	require.True(t, continued)
	require.Equal(t, strings.Fields("env A=1 robot go on in "+id+" continue"), argv)
}

func TestACommandIsRepeatedUntilItsSessionIsKnown(t *testing.T) {
	talk := talkOf(new(robot), "", "robot do x")
	require.Equal(t, talk.argv, talk.first())
	talk.ends("")
	argv, continued := talk.next(1)
	require.False(t, continued)
	require.Equal(t, talk.argv, argv)
	require.Empty(t, talk.id)
	talk.ends("in " + id)
	require.Equal(t, id, talk.id)
	_, continued = talk.next(1)
	require.True(t, continued)
}

func TestAnIDIsGivenBeforeTheArgumentsThatAreNoOptions(t *testing.T) {
	talk := talkOf(&robot{takesID: true}, "", "robot do -- x")
	require.NotEmpty(t, talk.id)
	require.Equal(t, strings.Fields("robot do --as "+talk.id+" -- x"), talk.first())
	talk = talkOf(&robot{takesID: true}, "", "robot do x --in "+id)
	require.Equal(t, talk.argv, talk.first(), "it is in a session already")
	require.Equal(t, id, talk.id)
}

func TestASessionWhoseOwnerIsUnknownIsLeft(t *testing.T) {
	unknown := &task{talk: talkOf(&robot{err: errors.New("no such luck")}, "", "robot do x")}
	require.NoError(t, unknown.awaitOwner(t.Context()), "there is no session yet")
	unknown.talk.ends("in " + id)
	err := unknown.awaitOwner(t.Context())
	require.EqualError(t, err, "cannot tell whether another process has session "+id+" open: no such luck")
	code, _ := conclude(err)
	require.Equal(t, CodeGaveUp, code)
}

// A person may have it open for hours.
func TestASessionThatIsOpenIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said strings.Builder
		began := time.Now()
		r := &robot{owner: &resume.Owner{PID: 42, Kind: "interactive", Guessed: true}, ends: began.Add(5 * time.Hour)}
		held := &task{talk: talkOf(r, "", "robot do x"), Options: Options{Messages: &said}}
		held.talk.ends("in " + id)
		require.NoError(t, held.awaitOwner(t.Context()))
		require.Less(t, time.Since(began)-5*time.Hour, 2*ownerLook)
		require.Equal(t, "resumed: process 42 (interactive) may have session "+id+" open: it is continued when that process ends\n", said.String(), "once")

		r.ends = time.Time{}
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Hour, func() { cancel(&signalled{syscall.SIGINT}) })
		require.EqualError(t, held.awaitOwner(ctx), "signal: interrupt")
	})
}

func captured(t *testing.T, name string) string {
	data, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	return string(data)
}

func TestJudgement(t *testing.T) {
	for rule, c := range map[string]struct {
		argv, stdout, stderr string
		code                 int
		failed               bool // even if the code is 0
		class                limit.Class
		gist                 string
	}{
		"codex": {"codex exec x", "", "session id: " + id + "\nERROR: Reconnecting... 1/2\nERROR: You’ve hit your usage limit. Try again at 12:58 AM.\ntokens used\n1,240\n", 1, false, limit.UsageLimit, "ERROR: You’ve hit your usage limit. Try again at 12:58 AM."},
		"opencode, in colour": {
			"opencode run x", "", "\x1b[0m\n> build · rl\n\x1b[0m\n\x1b[91m\x1b[1mError: \x1b[0mRate limit reached for requests\n", 1, false,
			limit.RateLimit, "Error: Rate limit reached for requests",
		},
		"claude, with a result that is none": {"claude -p x", `{"type":"result","subtype":"success","is_error":true,"result":"API Error: 529 Overloaded"}` + "\n" +
			`{"type":"result","subtype":"success","is_error":false,"result":"","num_turns":0}`, "", 0, true, limit.Overloaded, "API Error: 529 Overloaded"},
		"gemini, by its exit code": {"gemini -p x", "", "", 173, false, limit.RateLimit, ""},
		"gemini, with a stack": {
			"gemini -p x", "", captured(t, "gemini-0.61-429.stderr"), 1, true, limit.RateLimit,
			"Resource has been exhausted (e.g. check quota).",
		},
		"gemini, that says 0":         {"gemini -p x", `{"type":"result","status":"error","error":{"message":"[API Error: terminated]"}}`, "", 0, true, limit.Network, "[API Error: terminated]"},
		"gemini, that is fine":        {"gemini -p x", `{"type":"result","status":"success","stats":{}}`, "", 0, false, limit.None, ""},
		"gemini, that gave up trying": {"gemini -p x", `{"type":"result","status":"error","error":{"message":"[API Error: No capacity available for model x on the server]"}}`, "Attempt 1 failed: No capacity available. Retrying after 1189ms...", 173, true, limit.Overloaded, "[API Error: No capacity available for model x on the server]"},
		"qwen, that says 0":           {"qwen -p x", "[API Error: 401 Incorrect API key provided: dummy.]\n", "", 0, true, limit.Auth, "[API Error: 401 Incorrect API key provided: dummy.]"},
		"qwen, that speaks of errors": {"qwen -p x", "The text [API Error: 401] means that a key is wrong.\n", "", 0, false, limit.None, "The text [API Error: 401] means that a key is wrong."},
		"anybody else's 0":            {"mycmd", "[API Error: 401 Incorrect API key]", "", 0, false, limit.Auth, "[API Error: 401 Incorrect API key]"},
	} {
		t.Run(rule, func(t *testing.T) {
			t.Setenv("HOME", t.TempDir())
			known, err := agents.MakeAll(config.Default())
			require.NoError(t, err)
			talk := newTalk(Options{Argv: strings.Fields(c.argv), Dir: "/src", Agents: known})
			talk.begins()
			end := &ending{code: c.code, at: time.Now()}
			end.stdout.add([]byte(c.stdout))
			end.stderr.add([]byte(c.stderr))
			talk.heard(t.Context(), end, limit.Reader{At: end.at})
			require.Equal(t, c.failed, talk.failed())
			verdict, words := talk.judge(end, limit.Reader{At: end.at})
			require.Equal(t, c.class, verdict.Class)
			require.Equal(t, c.gist, words)
		})
	}
}

func TestTheTranscriptSaysWhyARunFailedWithTheMorePreciseTime(t *testing.T) {
	minute := time.Date(2026, 5, 4, 15, 15, 0, 0, time.UTC)
	second := limit.Reset{At: minute.Add(20 * time.Second), Source: limit.Structured}
	stated := func(class limit.Class, reset limit.Reset) limit.Verdict {
		return limit.Verdict{Class: class, Reset: reset}
	}
	rough := limit.Reset{At: minute, Source: limit.Words, Rough: true}
	for rule, c := range map[string]struct{ recorded, printed, want limit.Verdict }{
		"the transcript says nothing":      {stated(limit.None, limit.Reset{}), stated(limit.UsageLimit, rough), stated(limit.UsageLimit, rough)},
		"the transcript has the second":    {stated(limit.UsageLimit, second), stated(limit.UsageLimit, rough), stated(limit.UsageLimit, second)},
		"the output has the second":        {stated(limit.UsageLimit, rough), stated(limit.UsageLimit, second), stated(limit.UsageLimit, second)},
		"the output alone has a time":      {stated(limit.UsageLimit, limit.Reset{}), stated(limit.UsageLimit, second), stated(limit.UsageLimit, second)},
		"the time is of something else":    {stated(limit.Overloaded, limit.Reset{}), stated(limit.UsageLimit, second), stated(limit.Overloaded, limit.Reset{})},
		"the output says nothing about it": {stated(limit.UsageLimit, rough), stated(limit.None, limit.Reset{}), stated(limit.UsageLimit, rough)},
	} {
		talk := &talk{fault: resume.Limited{Verdict: c.recorded}}
		talk.compare(c.printed, "")
		require.Equal(t, c.want, talk.fault.Verdict, rule)
	}
}

func TestATimeThatHasPassedIsNoWaitForALaterRun(t *testing.T) {
	at := time.Date(2026, 5, 4, 15, 15, 10, 0, time.UTC)
	refused := &Failure{At: at, Verdict: limit.Verdict{Class: limit.RateLimit, Reset: limit.Reset{At: at.Add(-10 * time.Second), Rough: true}}}
	_, stated := (&task{runs: 1}).stated(refused)
	require.True(t, stated, "the first run may have met what is over now")
	_, stated = (&task{runs: 2}).stated(refused)
	require.False(t, stated, "the second run waited for that time, and was refused all the same")
	wait, stated := (&task{runs: 2, Options: Options{Margin: time.Minute}}).stated(refused)
	require.True(t, stated)
	require.Equal(t, 50*time.Second, wait)
}

func TestWordsAreKeptAtBothEnds(t *testing.T) {
	var w words
	var printed strings.Builder
	for i := range 5000 {
		text := strings.Repeat(string(rune('a'+i%26)), i%97) + "\n"
		printed.WriteString(text)
		w.add([]byte(text))
	}
	all := printed.String()
	require.Equal(t, all[:kept]+"\n"+all[len(all)-kept:], w.all())

	w = words{}
	w.add([]byte("one\n"))
	w.add([]byte("\x1b[31mtwo\x1b[0m\n"))
	require.Equal(t, "one\ntwo\n", w.all(), "a little is kept once")

	w = words{}
	w.add([]byte(strings.Repeat("x", 3*kept) + "\nthe end\n\n"))
	require.Equal(t, "the end", lastwords.Last(w.all()))
	require.LessOrEqual(t, len(w.tail), 2*kept)
}
