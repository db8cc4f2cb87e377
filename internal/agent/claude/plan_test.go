package claude

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

// scene is a stopped session on disk and a claude to continue it with.
type scene struct {
	agent   *Agent
	program string
	cwd     string
	session resume.Session
}

func newScene(t *testing.T, records ...any) scene {
	user := t.TempDir()
	t.Setenv("HOME", user)
	t.Setenv("CLAUDE_CONFIG_DIR", "")
	t.Setenv("IS_SANDBOX", "")
	bin := t.TempDir()
	t.Setenv("PATH", bin)
	sc := scene{program: filepath.Join(bin, "claude"), cwd: filepath.Join(user, "app")}
	require.NoError(t, os.Mkdir(sc.cwd, 0o700))
	require.NoError(t, os.WriteFile(sc.program, []byte("#!/bin/sh\n"), 0o700))

	sc.agent = newAgent(t, Options{Roots: []string{filepath.Join(user, ".claude")}})
	project := filepath.Join(user, ".claude", "projects", "-app")
	require.NoError(t, os.MkdirAll(project, 0o700))
	sc.session = resume.Session{
		Key:        resume.Key{Agent: Name, ID: sessionA},
		Cwd:        sc.cwd,
		Transcript: filepath.Join(project, sessionA+".jsonl"),
	}
	sc.write(t, records...)
	return sc
}

// write appends records, all in the session's directory.
func (sc scene) write(t *testing.T, records ...any) {
	f, err := os.OpenFile(sc.session.Transcript, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(t, err)
	defer f.Close()
	for _, r := range records {
		if fields, ok := r.(map[string]any); ok && fields["cwd"] == "/src/app" {
			fields["cwd"] = sc.cwd
		}
		_, err := f.Write(append(encode(t, r), '\n'))
		require.NoError(t, err)
	}
}

func (sc scene) plan(t *testing.T, prompt string) agent.Plan {
	plan, err := sc.agent.Plan(t.Context(), sc.session, prompt)
	require.NoError(t, err)
	require.True(t, (plan.Run == nil) != (plan.Skip == nil), "exactly one field is set")
	return plan
}

func overload() map[string]any {
	return refused(map[string]any{"apiErrorStatus": 529}, "API Error: 529 Overloaded.")
}

func answered(fields map[string]any) map[string]any {
	r := base(fields)
	r["type"], r["message"] = "assistant", said("claude-opus-5-5", "Done.")
	return r
}

func TestAStoppedSessionIsContinuedWithTheSettingsItHad(t *testing.T) {
	mode := func(m string) map[string]any { return asked(map[string]any{"permissionMode": m}, "work") }
	for rule, c := range map[string]struct {
		records []any
		prompt  string
		want    []string
	}{
		"an old version tells no settings": {
			[]any{asked(nil, "work"), overload()}, "continue", []string{"continue"},
		},
		"the mode of the last prompt": {
			[]any{mode("plan"), answered(nil), mode("acceptEdits"), overload()},
			"continue",
			[]string{"--permission-mode", "acceptEdits", "continue"},
		},
		"the mode that a person changed to in the middle of the turn": {
			[]any{mode("acceptEdits"), answered(nil), map[string]any{"type": "permission-mode", "permissionMode": "plan"}, overload()},
			"continue",
			[]string{"--permission-mode", "plan", "continue"},
		},
		"the usual mode is named too, whatever the user's default is": {
			[]any{mode("default"), overload()}, "continue", []string{"--permission-mode", "default", "continue"},
		},
		"for a mode nobody knows the usual one, whatever the user's default is": {
			[]any{mode("--yolo"), overload()}, "continue", []string{"--permission-mode", "default", "continue"},
		},
		"model and effort of the last answer": {
			[]any{
				mode("auto"), answered(map[string]any{"requestedModel": "claude-opus-5-5", "effort": "high"}),
				answered(map[string]any{"requestedModel": "claude-haiku-5", "isSidechain": true}), overload(),
			},
			"continue",
			[]string{"--permission-mode", "auto", "--model", "claude-opus-5-5", "--effort", "high", "continue"},
		},
		"a prompt is never an option": {
			[]any{mode("plan"), overload()}, "--help", []string{"--permission-mode", "plan", "--", "--help"},
		},
		"bookkeeping, leaving and notes after the stop change nothing": {
			[]any{
				mode("default"), overload(),
				map[string]any{"type": "last-prompt", "sessionId": sessionA},
				asked(nil, "<command-name>/exit</command-name>"), asked(map[string]any{"queueTranscriptOnly": true}, "task done"),
			}, "continue", []string{"--permission-mode", "default", "continue"},
		},
	} {
		t.Run(rule, func(t *testing.T) {
			sc := newScene(t, c.records...)
			plan := sc.plan(t, c.prompt)
			require.NotNil(t, plan.Run, "%+v", plan.Skip)
			require.Equal(t, append([]string{sc.program, "-p", "--resume", sessionA}, c.want...), plan.Run.Argv)
			require.Equal(t, sc.cwd, plan.Run.Dir)
			require.Empty(t, plan.Run.Env)
		})
	}
}

func TestASessionThatWentOnIsLeftAlone(t *testing.T) {
	soon := time.Now().Add(time.Hour).Truncate(time.Second)
	again := refused(map[string]any{
		"error": "rate_limit", "apiErrorStatus": 429, "apiError": "usage_limit_reached",
		"quotaLimits": map[string]any{"status": "rejected", "resetsAt": soon.Unix()},
	}, "You've hit your 5-hour limit")
	for why, record := range map[string]any{
		"newer prompt":  asked(nil, "never mind"),
		"moved on":      answered(nil),
		"interrupted":   asked(nil, "[Request interrupted by user]"),
		"stopped again": again,
		"goes on as":    answered(map[string]any{"sessionId": "0b6b1a62-1f8e-4a3b-9d5b-0a6de1f3c002"}),
	} {
		t.Run(why, func(t *testing.T) {
			sc := newScene(t, asked(nil, "work"), overload())
			require.NotNil(t, sc.plan(t, "continue").Run)
			sc.write(t, record)
			leave := sc.plan(t, "continue").Skip
			require.NotNil(t, leave)
			require.Contains(t, leave.Why, why)
			require.False(t, leave.Park)
		})
	}
	t.Run("a person may be faster than the reset they know of", func(t *testing.T) {
		sc := newScene(t, asked(nil, "work"), again)
		sc.session.Limit.Reset = limit.Reset{At: soon, Source: limit.Structured}
		require.NotNil(t, sc.plan(t, "continue").Run)
	})
}

// A killed resume leaves its prompt behind. No person wrote it, and the session must not wait
// forever because of it.
func TestThePromptOfAResumeThatWasCutOffIsNotAPersons(t *testing.T) {
	started := time.Now().Add(-10 * time.Minute)
	at := func(t time.Time) map[string]any { return map[string]any{"timestamp": t.UTC().Format(time.RFC3339Nano)} }
	sc := newScene(t, overload(), asked(at(started.Add(time.Second)), "continue"))
	require.NotNil(t, sc.plan(t, "continue").Skip)

	sc.session.Attempts = []resume.Attempt{{Mark: "m", StartedAt: started, EndedAt: started.Add(time.Minute), Outcome: resume.TimedOut}}
	require.NotNil(t, sc.plan(t, "continue").Run)

	sc.write(t, asked(at(started.Add(5*time.Minute)), "never mind"))
	require.NotNil(t, sc.plan(t, "continue").Skip, "that one is a person's")
}

func TestWhatWaitingDoesNotMendIsParked(t *testing.T) {
	for why, spoil := range map[string]func(*testing.T, *scene){
		"claude was not found: set command in [[agent]]": func(t *testing.T, sc *scene) {
			require.NoError(t, os.Remove(sc.program))
		},
		"is gone":                func(t *testing.T, sc *scene) { require.NoError(t, os.Remove(sc.cwd)) },
		"the transcript is gone": func(t *testing.T, sc *scene) { require.NoError(t, os.Remove(sc.session.Transcript)) },
		"is not a directory any more": func(t *testing.T, sc *scene) {
			require.NoError(t, os.Remove(sc.cwd))
			require.NoError(t, os.WriteFile(sc.cwd, nil, 0o600))
		},
		"no id of claude-code": func(_ *testing.T, sc *scene) { sc.session.Key.ID = "--help" },
	} {
		t.Run(why, func(t *testing.T) {
			sc := newScene(t, asked(nil, "work"), overload())
			spoil(t, &sc)
			leave := sc.plan(t, "continue").Skip
			require.NotNil(t, leave)
			require.Contains(t, leave.Why, why)
			require.True(t, leave.Park)
		})
	}
}

func TestTheSessionIsContinuedWhereItBegan(t *testing.T) {
	elsewhere := t.TempDir()
	sc := newScene(t, asked(nil, "work"), asked(map[string]any{"cwd": elsewhere}, "go on"),
		refused(map[string]any{"cwd": elsewhere, "apiErrorStatus": 529}, "API Error: 529 Overloaded."))
	sc.session.Cwd = elsewhere
	require.Equal(t, sc.cwd, sc.plan(t, "continue").Run.Dir)
	last, _, err := agent.Last(t.Context(), sc.agent, sc.agent.Sources()[0], sc.session.Transcript)
	require.NoError(t, err)
	require.Equal(t, sc.cwd, last.Cwd)
}

// The directory of the process counts before those in the transcript, but in a sandbox the same path leads elsewhere.
func TestADirectoryInsideASandboxIsNoneOfThisMachine(t *testing.T) {
	sc, started := newScene(t, asked(nil, "work"), overload()), t.TempDir()
	sc.startedWith()
	sc.session.Origin.Cwd = started
	require.Equal(t, started, sc.plan(t, "continue").Run.Dir)
	sc.session.Origin.Sandbox = "mounts of its own"
	require.Equal(t, sc.cwd, sc.plan(t, "continue").Run.Dir)
}

func TestBypassIsNeverForcedOnRoot(t *testing.T) {
	sc := newScene(t, asked(map[string]any{"permissionMode": bypass}, "work"), overload())
	sc.startedWith("--dangerously-skip-permissions")
	if os.Geteuid() == 0 {
		leave := sc.plan(t, "continue").Skip
		require.NotNil(t, leave)
		require.True(t, leave.Park)
		require.Contains(t, leave.Why, bypass)
		sc.agent.Env = []string{"IS_SANDBOX=1"}
	}
	require.Contains(t, sc.plan(t, "continue").Run.Argv, bypass, "the session itself had it")

	sc.agent.Env, sc.session.Origin.EnvSeen = nil, true
	sc.session.Origin.Env = []resume.Variable{{Name: "IS_SANDBOX", Value: "1"}}
	require.Contains(t, sc.plan(t, "continue").Run.Argv, bypass, "it said so in its own environment")
}

func TestAnotherHomeIsNamedToTheRun(t *testing.T) {
	sc := newScene(t, asked(nil, "work"), overload())
	work := t.TempDir()
	var err error
	sc.agent, err = New(Options{Roots: []string{filepath.Join(os.Getenv("HOME"), ".claude"), work}, Env: []string{"A=1"}})
	require.NoError(t, err)
	require.Equal(t, []string{"A=1"}, sc.plan(t, "continue").Run.Env)

	content, err := os.ReadFile(sc.session.Transcript)
	require.NoError(t, err)
	sc.session.Transcript = filepath.Join(work, "projects", "-app", sessionA+".jsonl")
	require.NoError(t, os.MkdirAll(filepath.Dir(sc.session.Transcript), 0o700))
	require.NoError(t, os.WriteFile(sc.session.Transcript, content, 0o600))
	require.Equal(t, []string{"A=1", "CLAUDE_CONFIG_DIR=" + work}, sc.plan(t, "continue").Run.Env)
}

func TestClaudeIsFoundWhereItIsUsuallyInstalled(t *testing.T) {
	for _, place := range []string{".local/bin", ".claude/local", ".nvm/versions/node/v22.3.0/bin"} {
		t.Run(place, func(t *testing.T) {
			sc := newScene(t, asked(nil, "work"), overload())
			dir := filepath.Join(os.Getenv("HOME"), place)
			require.NoError(t, os.MkdirAll(dir, 0o700))
			require.NoError(t, os.Rename(sc.program, filepath.Join(dir, "claude")))
			run := sc.plan(t, "continue").Run
			require.NotNil(t, run)
			require.Equal(t, filepath.Join(dir, "claude"), run.Argv[0])
			require.Equal(t, []string{"PATH=" + dir + ":" + os.Getenv("PATH")}, run.Env, "node may lie beside it")
		})
	}
	sc := newScene(t, asked(nil, "work"), overload())
	sc.agent.Command = filepath.Join(t.TempDir(), "claude")
	require.Contains(t, sc.plan(t, "continue").Skip.Why, "set command in [[agent]]", "what is configured is not guessed at")
}

func TestALongTurnSinceThePromptDoesNotHideItsMode(t *testing.T) {
	sc := newScene(t, asked(map[string]any{"permissionMode": "acceptEdits"}, "work"))
	filler := bytes.Repeat(append(encode(t, answered(nil)), '\n'), 3000)
	f, err := os.OpenFile(sc.session.Transcript, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.Write(filler)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	sc.write(t, overload())
	require.Contains(t, sc.plan(t, "continue").Run.Argv, "acceptEdits")
}

// Versions before 2.0 continue under a new id, so the waiting session would never move, and its
// prompt would be sent again and again.
func TestAVersionThatForksSessionsIsNotUsed(t *testing.T) {
	install := map[string]func(t *testing.T, dir, version string) string{
		"npm": func(t *testing.T, dir, version string) string {
			pkg := filepath.Join(dir, "lib", "node_modules", "@anthropic-ai", "claude-code")
			require.NoError(t, os.MkdirAll(pkg, 0o700))
			description := `{"name":"@anthropic-ai/claude-code","version":"` + version + `"}`
			require.NoError(t, os.WriteFile(filepath.Join(pkg, "package.json"), []byte(description), 0o600))
			return filepath.Join(pkg, "cli.js")
		},
		"native": func(_ *testing.T, dir, version string) string { return filepath.Join(dir, version) },
	}
	for name, place := range install {
		for version, usable := range map[string]bool{"0.2.9": false, "1.0.60": false, "2.0.30": true, "10.0.1": true} {
			t.Run(name+" "+version, func(t *testing.T) {
				sc := newScene(t, asked(nil, "work"), overload())
				target := place(t, t.TempDir(), version)
				require.NoError(t, os.Rename(sc.program, target))
				require.NoError(t, os.Symlink(target, sc.program))
				plan := sc.plan(t, "continue")
				if usable {
					require.NotNil(t, plan.Run)
					return
				}
				require.NotNil(t, plan.Skip)
				require.True(t, plan.Skip.Park)
				require.Contains(t, plan.Skip.Why, version)
			})
		}
	}
}
