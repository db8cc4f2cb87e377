package gemini

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/limit"
	"resumed/internal/lines"
	"resumed/internal/resume"
)

const sessionA = "1f5b6930-90d5-42d3-b422-4a4abfc38b59"

// scene is a stopped session on disk and a gemini to continue it with.
type scene struct {
	agent   *agent.Described
	program string
	cwd     string
	session resume.Session
}

var began = time.Now().Add(-time.Hour).UTC().Truncate(time.Second)

func newScene(t *testing.T, lines ...any) scene {
	user, bin := t.TempDir(), t.TempDir()
	t.Setenv("HOME", user)
	t.Setenv(homeVariable, "")
	t.Setenv("PATH", bin)
	sc := scene{program: filepath.Join(bin, "gemini"), cwd: filepath.Join(user, "app")}
	require.NoError(t, os.Mkdir(sc.cwd, 0o700))
	require.NoError(t, os.WriteFile(sc.program, []byte("#!/bin/sh\n"), 0o700))
	sc.agent = newAgent(t, agent.Options{Roots: []string{filepath.Join(user, ".gemini")}})
	sc.settle(t, filepath.Join(user, ".gemini"), lines...)
	return sc
}

// settle writes the session's chat into a home.
func (sc *scene) settle(t *testing.T, home string, lines ...any) {
	project := filepath.Join(home, "tmp", "app")
	require.NoError(t, os.MkdirAll(filepath.Join(project, "chats"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(project, ".project_root"), []byte(sc.cwd), 0o600))
	sc.session = resume.Session{
		Key:        resume.Key{Agent: Name, ID: sessionA},
		Cwd:        sc.cwd,
		Transcript: filepath.Join(project, "chats", "session-2026-11-15T00-19-1f5b6930.jsonl"),
	}
	write(t, sc.session.Transcript, append([]any{header(sessionA), set(preamble())}, lines...)...)
}

func write(t *testing.T, path string, lines ...any) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	require.NoError(t, err)
	defer f.Close()
	for _, line := range lines {
		data, err := json.Marshal(line)
		require.NoError(t, err)
		_, err = fmt.Fprintf(f, "%s\n", data)
		require.NoError(t, err)
	}
}

type object = map[string]any

func header(id string) object {
	return object{"sessionId": id, "projectHash": "10c0", "startTime": began, "lastUpdated": began, "kind": "main"}
}

func set(messages ...object) object {
	return object{"$set": object{"messages": messages, "lastUpdated": began}}
}

func said(id, kind string, content any, after time.Duration) object {
	return object{"id": id, "timestamp": began.Add(after).Format("2006-01-02T15:04:05.000Z07:00"), "type": kind, "content": content}
}

func preamble() object {
	return said("d0", "user", []object{{"text": "<session_context>\nThis is the Gemini CLI.\n</session_context>"}}, 0)
}

func asked(id, text string, after time.Duration) object {
	return said(id, "user", []object{{"text": text}}, after)
}

func answered(id string, after time.Duration) object {
	m := said(id, "gemini", "done", after)
	m["model"] = "gemini-2.5-pro"
	return m
}

func overloaded(after time.Duration) object {
	return said("e1", "error", `[API Error: {"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}]`, after)
}

// stopped is a chat whose second prompt was refused and removed.
func stopped() []any {
	first, answer := asked("u1", "first", time.Second), answered("g1", 2*time.Second)
	return []any{
		first, answer, asked("u2", "second", 3*time.Second), set(preamble(), first, answer), overloaded(4 * time.Second),
		said("i1", "info", "This request failed. Press F12 for diagnostics", 5*time.Second),
	}
}

// halted is a chat that was refused in the middle of a turn: the prompt stays.
func halted() []any {
	first, answer := asked("u1", "first", time.Second), answered("g1", 2*time.Second)
	return []any{first, answer, set(preamble(), first, answer), overloaded(4 * time.Second)}
}

func (sc scene) plan(t *testing.T, prompt string) agent.Plan {
	plan, err := sc.agent.Plan(t.Context(), sc.session, prompt)
	require.NoError(t, err)
	return plan
}

func TestASessionIsContinuedWithWhatItNeeds(t *testing.T) {
	first := asked("u1", "first", time.Second)
	typed := asked("u2", "first\n--- Content from referenced files ---\n…", 2*time.Second)
	typed["displayContent"] = []object{{"text": "read @notes"}}
	for rule, c := range map[string]struct {
		lines  []any
		prompt string
		want   []string
	}{
		"a turn that was broken off goes on":                    {halted(), "continue", []string{"--model", "gemini-2.5-pro", "-p", "continue"}},
		"a prompt that was taken back is given again":           {stopped(), "continue", []string{"--model", "gemini-2.5-pro", "-p", "second"}},
		"a first prompt that was taken back":                    {[]any{first, set(preamble()), overloaded(time.Minute)}, "continue", []string{"-p", "first"}},
		"what a person typed, not what was made of it":          {[]any{typed, set(preamble()), overloaded(time.Minute)}, "continue", []string{"-p", "read @notes"}},
		"a prompt that no list has taken back goes on":          {[]any{first, overloaded(time.Minute)}, "continue", []string{"-p", "continue"}},
		"a prompt is never an option":                           {halted(), "--help", []string{"--model", "gemini-2.5-pro", "--prompt=--help"}},
		"our own prompt of a lost resume stands not in the way": {append(halted(), asked("u9", "continue", time.Minute)), "continue", []string{"--model", "gemini-2.5-pro", "-p", "continue"}},
	} {
		t.Run(rule, func(t *testing.T) {
			sc := newScene(t, c.lines...)
			plan := sc.plan(t, c.prompt)
			require.NotNil(t, plan.Run, "%+v", plan.Skip)
			require.Equal(t, append([]string{sc.program, "--resume", sessionA}, c.want...), plan.Run.Argv)
			require.Equal(t, sc.cwd, plan.Run.Dir)
			require.Empty(t, plan.Run.Env)
			require.Equal(t, []string{sc.session.Transcript}, plan.Run.Backup, "Gemini may lose it")
		})
	}
}

// A failed run without a terminal writes its prompt to the chat and removes it, but writes no error: the state of the
// session does not change.
func TestAResumeThatFailedMayBeSentAgain(t *testing.T) {
	sc := newScene(t, stopped()...)
	first, answer := asked("u1", "first", time.Second), answered("g1", 2*time.Second)
	again := asked("u3", "second", 10*time.Minute)
	write(t, sc.session.Transcript,
		object{"$set": object{"sessionId": sessionA}}, set(preamble(), first, answer), again, set(preamble(), first, answer))
	require.Contains(t, sc.plan(t, "continue").Skip.Why, "newer prompt", "nobody of us gave it")

	sc.session.Attempts = []resume.Attempt{
		{N: 1, Mark: "m1", StartedAt: began.Add(9 * time.Minute), EndedAt: began.Add(11 * time.Minute), Outcome: resume.Failed},
		{N: 2, Mark: "m2", StartedAt: began.Add(20 * time.Minute)},
	}
	sc.session.Run = &resume.Run{Mark: "m2"}
	plan := sc.plan(t, "continue")
	require.NotNil(t, plan.Run, "%+v", plan.Skip)
	require.Equal(t, "second", plan.Run.Argv[len(plan.Run.Argv)-1])

	write(t, sc.session.Transcript, asked("u4", "never mind", 20*time.Minute+time.Second))
	require.Contains(t, sc.plan(t, "continue").Skip.Why, "newer prompt", "the second resume has not been sent yet")
}

func TestASessionThatWentOnIsLeftAlone(t *testing.T) {
	for why, line := range map[string]any{
		"newer prompt":         asked("u3", "never mind", time.Minute),
		"moved on":             answered("g3", time.Minute),
		"interrupted":          said("i3", "info", "Request cancelled.", time.Minute),
		"interrupted by the u": object{"$rewindTo": "u1"},
		"stopped again":        said("e3", "error", "[API Error: You exceeded your current quota.\nSuggested retry after 11520s.]", time.Minute),
	} {
		t.Run(why, func(t *testing.T) {
			sc := newScene(t, stopped()...)
			require.NotNil(t, sc.plan(t, "continue").Run)
			write(t, sc.session.Transcript, line)
			leave := sc.plan(t, "continue").Skip
			require.NotNil(t, leave)
			require.Contains(t, leave.Why, why)
			require.False(t, leave.Park)
		})
	}
}

func TestWhatWaitingDoesNotMendIsParked(t *testing.T) {
	for why, spoil := range map[string]func(*testing.T, *scene){
		"gemini was not found: set command in [[agent]]": func(t *testing.T, sc *scene) { require.NoError(t, os.Remove(sc.program)) },
		"is gone":                func(t *testing.T, sc *scene) { require.NoError(t, os.Remove(sc.cwd)) },
		"the transcript is gone": func(t *testing.T, sc *scene) { require.NoError(t, os.Remove(sc.session.Transcript)) },
		"is none of gemini":      func(_ *testing.T, sc *scene) { sc.session.Key.ID = "--help" },
		"not of session":         func(_ *testing.T, sc *scene) { sc.session.Key.ID = "0b6b1a62-1f8e-4a3b-9d5b-0a6de1f3c002" },
		"cannot be given again": func(t *testing.T, sc *scene) {
			picture := said("u7", "user", []object{{"text": "what is this?"}, {"inlineData": object{"data": "…"}}}, time.Minute)
			write(t, sc.session.Transcript, picture, set(preamble()), overloaded(2*time.Minute))
		},
	} {
		t.Run(why, func(t *testing.T) {
			sc := newScene(t, stopped()...)
			spoil(t, &sc)
			leave := sc.plan(t, "continue").Skip
			require.NotNil(t, leave)
			require.Contains(t, leave.Why, why)
			require.True(t, leave.Park)
		})
	}
}

func TestAPromptTooLongForACommandLineIsNotCutShort(t *testing.T) {
	sc := newScene(t, asked("u1", strings.Repeat("x", maxPrompt+1), 0), set(preamble()), overloaded(time.Minute))
	require.True(t, sc.plan(t, "continue").Skip.Park)
}

func TestAnotherHomeIsNamedToTheRun(t *testing.T) {
	sc := newScene(t, stopped()...)
	work := filepath.Join(t.TempDir(), ".gemini")
	var err error
	sc.agent, err = described.New(agent.Options{Roots: []string{filepath.Join(os.Getenv("HOME"), ".gemini"), work}, Env: []string{"A=1"}})
	require.NoError(t, err)
	require.Equal(t, []string{"A=1"}, sc.plan(t, "continue").Run.Env)
	require.Equal(t, "gemini:default", sc.agent.Sources()[0].Account)
	require.Equal(t, "gemini:"+work, sc.agent.Sources()[1].Account)

	sc.settle(t, work, stopped()...)
	require.Equal(t, []string{"A=1", "GEMINI_CLI_HOME=" + filepath.Dir(work)}, sc.plan(t, "continue").Run.Env)

	_, err = described.New(agent.Options{Roots: []string{"/srv/gemini", "relative/.gemini"}})
	require.ErrorContains(t, err, "is not called .gemini")
	require.ErrorContains(t, err, "not an absolute path")
}

func TestTheProjectIsFoundInTheListWhereItsOwnFileIsMissing(t *testing.T) {
	sc := newScene(t, stopped()...)
	home := filepath.Join(os.Getenv("HOME"), ".gemini")
	require.NoError(t, os.Remove(filepath.Join(home, "tmp", "app", ".project_root")))
	require.NotNil(t, sc.plan(t, "continue").Skip, "nothing says where it worked")
	list := fmt.Sprintf(`{"projects":{"/elsewhere":"other",%q:"app"}}`, sc.cwd)
	require.NoError(t, os.WriteFile(filepath.Join(home, "projects.json"), []byte(list), 0o600))
	require.Equal(t, sc.cwd, sc.plan(t, "continue").Run.Dir)
}

func TestWhatALineMeans(t *testing.T) {
	a := newAgent(t, agent.Options{})
	src := a.Sources()[0]
	path := filepath.Join(t.TempDir(), "session-2026-11-15T00-19-1f5b6930.jsonl")
	write(t, path, header(sessionA))
	at := began.Add(time.Minute)
	for rule, c := range map[string]struct {
		line any
		want resume.Event
	}{
		"a prompt":                      {asked("u", "go", time.Minute), resume.Prompted{At: at}},
		"a plain text is a prompt too":  {said("u", "user", "go", time.Minute), resume.Prompted{At: at}},
		"the preamble is none":          {preamble(), nil},
		"the result of a tool is none":  {said("u", "user", []object{{"functionResponse": object{"id": "x"}}}, time.Minute), nil},
		"what it tells itself is none":  {said("u", "user", []object{{"text": "[System: You previously returned an empty response.]"}}, time.Minute), nil},
		"nor is that, in later words":   {said("u", "user", []object{{"text": "System: Please continue."}}, time.Minute), nil},
		"a person says please":          {said("u", "user", []object{{"text": "Please continue."}}, time.Minute), resume.Prompted{At: at}},
		"an answer":                     {answered("g", time.Minute), resume.Progressed{At: at}},
		"an answer that holds nothing":  {said("g", "gemini", "", time.Minute), nil},
		"an update of metadata":         {object{"$set": object{"lastUpdated": began}}, nil},
		"a list that is restated":       {set(preamble(), answered("g", 0)), nil},
		"a list that ends in a prompt":  {set(preamble(), asked("u", "go", 0)), nil},
		"a list that ends cancelled":    {set(asked("u", "go", 0), said("i", "info", "Request cancelled.", time.Minute)), resume.Cancelled{At: at}},
		"an error of another origin":    {said("e", "error", "Failed to connect to MCP server 'x': rate limit exceeded", time.Minute), nil},
		"a warning":                     {said("w", "warning", "[API Error: quota exceeded]", time.Minute), nil},
		"a hint that follows a failure": {said("i", "info", "This request failed. Press F12 for diagnostics", time.Minute), nil},
	} {
		t.Run(rule, func(t *testing.T) {
			data, err := json.Marshal(c.line)
			require.NoError(t, err)
			s, ok := a.Observe(src, lines.Line{Path: path, Data: data})
			require.Equal(t, c.want != nil, ok)
			require.Equal(t, c.want, s.Event)
		})
	}
	list, err := json.Marshal(set(asked("u", "go", 0), overloaded(time.Minute), said("i", "info", "This request failed.", time.Minute)))
	require.NoError(t, err)
	s, ok := a.Observe(src, lines.Line{Path: path, Data: list})
	require.True(t, ok)
	require.Equal(t, limit.Overloaded, s.Event.(resume.Limited).Class)

	sub := filepath.Join(t.TempDir(), "session-2026-11-15T00-19-1f5b6930.jsonl")
	write(t, sub, object{"sessionId": sessionA, "projectHash": "10c0", "kind": "subagent"})
	_, ok = a.Observe(src, lines.Line{Path: sub, Data: list})
	require.False(t, ok, "a subagent is no session")
	_, ok = a.Observe(src, lines.Line{Path: path, Data: list, Cut: true})
	require.False(t, ok)
}

func TestOnlyChatsOfSessionsAreWatched(t *testing.T) {
	for rel, want := range map[string]bool{
		"app/chats/session-2026-11-15T00-19-1f5b6930.jsonl":               true,
		"app/chats/session-2026-11-15T00-19-1f5b6930.json":                false,
		"app/chats/1f5b6930-90d5-42d3-b422-4a4abfc38b59/c23690e7-x.jsonl": false,
		"app/logs/session-2026-11-15T00-19-1f5b6930.jsonl":                false,
		"session-2026-11-15T00-19-1f5b6930.jsonl":                         false,
		"app/chats/deep/session-2026-11-15T00-19-1f5b6930.jsonl":          false,
	} {
		require.Equal(t, want, newAgent(t, agent.Options{}).Sources()[0].Match(filepath.FromSlash(rel)), rel)
	}
}
