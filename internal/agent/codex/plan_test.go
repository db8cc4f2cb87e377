package codex

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

// scene is a stopped session on disk and a codex to continue it with.
type scene struct {
	agent   *Agent
	program string
	cwd     string
	session resume.Session
}

// newScene writes a session of these lines. @ is replaced by its directory.
func newScene(t *testing.T, lines ...string) *scene {
	user := resolved(t.TempDir())
	t.Setenv("HOME", user)
	t.Setenv(homeVariable, "")
	bin := t.TempDir()
	t.Setenv("PATH", bin)
	sc := &scene{program: filepath.Join(bin, "codex"), cwd: filepath.Join(user, "app")}
	require.NoError(t, os.MkdirAll(filepath.Join(sc.cwd, ".git"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(sc.cwd, ".git", "HEAD"), nil, 0o600))
	require.NoError(t, os.WriteFile(sc.program, []byte("#!/bin/sh\n"), 0o700))
	sc.agent = newAgent(t, Options{Roots: []string{filepath.Join(user, ".codex")}})
	day := filepath.Join(user, ".codex", "sessions", "2026", "11", "15")
	require.NoError(t, os.MkdirAll(day, 0o700))
	sc.session = resume.Session{
		Key:        resume.Key{Agent: Name, ID: sessionA},
		Cwd:        sc.cwd,
		Transcript: filepath.Join(day, "rollout-2026-11-15T00-00-00-"+sessionA+".jsonl"),
	}
	sc.write(t, lines...)
	return sc
}

func (sc *scene) write(t *testing.T, lines ...string) {
	f, err := os.OpenFile(sc.session.Transcript, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(t, err)
	defer f.Close()
	for _, l := range lines {
		_, err := f.WriteString(strings.ReplaceAll(l, `"@"`, `"`+sc.cwd+`"`) + "\n")
		require.NoError(t, err)
	}
}

// startedWith marks the session's process as seen, with these arguments.
func (sc *scene) startedWith(args ...string) {
	sc.session.Origin = &resume.Origin{SeenAt: time.Now(), Cwd: sc.cwd, Args: flags.Storable(args, false), ArgsSeen: true}
}

func (sc *scene) plan(t *testing.T, prompt string) agent.Plan {
	plan, err := sc.agent.Plan(t.Context(), sc.session, prompt)
	require.NoError(t, err)
	require.True(t, (plan.Run == nil) != (plan.Skip == nil), "exactly one field is set")
	return plan
}

func ran(sandbox, more string) string {
	return line("turn_context", `{"cwd":"@","approval_policy":"on-request","sandbox_policy":`+sandbox+more+`}`)
}

const readOnly = `{"type":"read-only"}`

func overload() string { return failed(`"server_overloaded"`, "Selected model is at capacity.") }

// stopped is a session that an overload stopped in a turn with these settings.
func stopped(turn string) []string {
	return []string{meta(`,"cli_version":"0.166.0"`), event(started), turn, event(prompted), overload()}
}

func TestAStoppedSessionIsContinuedWithTheSettingsItHad(t *testing.T) {
	const write = `{"type":"workspace-write","writable_roots":["/a \"b\"","/c<d"],"network_access":true,"exclude_tmpdir_env_var":true,"exclude_slash_tmp":false}`
	provider := []string{"-c", `model_provider="openai"`}
	with := func(groups ...[]string) (all []string) {
		for _, g := range groups {
			all = append(all, g...)
		}
		return all
	}
	for rule, c := range map[string]struct {
		lines  []string
		prompt string
		want   []string // between the directory and the session
	}{
		"the sandbox":                          {stopped(ran(readOnly, "")), "continue", with([]string{"-s", "read-only"}, provider)},
		"the name that early versions give it": {stopped(ran(`{"mode":"read-only"}`, "")), "continue", with([]string{"-s", "read-only"}, provider)},
		"all that a sandbox allows": {stopped(ran(write, "")), "continue", with([]string{
			"-s", "workspace-write",
			"-c", "sandbox_workspace_write.network_access=true",
			"-c", `sandbox_workspace_write.writable_roots=["/a \"b\"","/c<d"]`,
			"-c", "sandbox_workspace_write.exclude_tmpdir_env_var=true",
			"-c", "sandbox_workspace_write.exclude_slash_tmp=false",
		}, provider)},
		"nothing that it does not allow, whatever is configured": {stopped(ran(`{"type":"workspace-write"}`, "")), "continue", with([]string{
			"-s", "workspace-write",
			"-c", "sandbox_workspace_write.network_access=false",
			"-c", "sandbox_workspace_write.writable_roots=[]",
			"-c", "sandbox_workspace_write.exclude_tmpdir_env_var=false",
			"-c", "sandbox_workspace_write.exclude_slash_tmp=false",
		}, provider)},
		"model and effort": {
			stopped(ran(readOnly, `,"model":"gpt-5.1-codex","effort":"high","active_permission_profile":{"id":":read-only"}`)), "continue",
			with([]string{"-s", "read-only", "-m", "gpt-5.1-codex"}, provider, []string{"-c", `model_reasoning_effort="high"`}),
		},
		"a permission profile of the user's": {
			stopped(ran(readOnly, `,"active_permission_profile":{"id":"strict"}`)), "continue",
			with([]string{"-c", `default_permissions="strict"`}, provider),
		},
		"a reviewer that asks nobody": {
			stopped(ran(readOnly, `,"approvals_reviewer":"auto_review"`)), "continue",
			with([]string{"-s", "read-only", "-c", `approvals_reviewer="auto_review"`, "-c", `approval_policy="on-request"`}, provider),
		},
		"none where a person was asked, whatever is configured": {
			stopped(ran(readOnly, `,"approvals_reviewer":"user"`)), "continue",
			with([]string{"-s", "read-only", "-c", `approvals_reviewer="user"`}, provider),
		},
		"those of the last turn": {
			append(stopped(ran(`{"type":"danger-full-access"}`, `,"model":"a"`)), stopped(ran(readOnly, `,"model":"b"`))[1:]...), "continue",
			with([]string{"-s", "read-only", "-m", "b"}, provider),
		},
		"a name that is none is not passed on": {
			stopped(ran(readOnly, `,"model":"--yolo","effort":"high\" x"`)), "continue", with([]string{"-s", "read-only"}, provider),
		},
		"settings and notes after the stop change nothing": {
			append(stopped(ran(readOnly, "")), event(`{"type":"thread_settings_applied"}`), windows("100@1794704327", "", "")), "continue",
			with([]string{"-s", "read-only"}, provider),
		},
		"a prompt is never an option": {stopped(ran(readOnly, "")), "--help", with([]string{"-s", "read-only"}, provider)},
	} {
		t.Run(rule, func(t *testing.T) {
			sc := newScene(t, c.lines...)
			sc.startedWith()
			plan := sc.plan(t, c.prompt)
			require.NotNil(t, plan.Run, "%+v", plan.Skip)
			want := with([]string{sc.program, "exec", "-C", sc.cwd}, c.want, []string{"resume", sessionA})
			if strings.HasPrefix(c.prompt, "-") {
				want = append(want, "--")
			}
			require.Equal(t, append(want, c.prompt), plan.Run.Argv)
			require.Equal(t, sc.cwd, plan.Run.Dir)
			require.Empty(t, plan.Run.Env)
			require.NotContains(t, strings.Join(plan.Run.Argv, " "), "bypass")
		})
	}
}

func TestTheSessionIsContinuedWhereItWorkedLast(t *testing.T) {
	sc := newScene(t, stopped(turnIn("/gone", ""))...)
	sc.write(t, stopped(ran(readOnly, ""))[1:]...)
	sc.session.Cwd = "/gone"
	require.Equal(t, sc.cwd, sc.plan(t, "continue").Run.Dir)
}

func TestOutsideARepositoryCodexIsToldThatItMayBegin(t *testing.T) {
	sc := newScene(t, stopped(ran(readOnly, ""))...)
	require.NotContains(t, sc.plan(t, "continue").Run.Argv, "--skip-git-repo-check")
	told := func() {
		argv := sc.plan(t, "continue").Run.Argv
		require.Equal(t, []string{"--skip-git-repo-check", "resume", sessionA, "continue"}, argv[len(argv)-4:])
	}
	git := filepath.Join(sc.cwd, ".git")
	require.NoError(t, os.Remove(filepath.Join(git, "HEAD")))
	told() // a sandbox leaves an empty directory behind
	require.NoError(t, os.Remove(git))
	told()
	require.NoError(t, os.WriteFile(git, []byte("gitdir: /elsewhere\n"), 0o600))
	require.NotContains(t, sc.plan(t, "continue").Run.Argv, "--skip-git-repo-check", "a further work tree")
}

func TestASessionThatWentOnIsLeftAlone(t *testing.T) {
	soon := time.Now().Add(time.Hour).Truncate(time.Second)
	again := event(`{"type":"task_complete","error":{"message":"You've hit your usage limit. Try again later.","codex_error_info":"usage_limit_exceeded"}}`)
	used := windows(fmt.Sprintf("100@%d", soon.Unix()), "", "")
	for why, lines := range map[string][]string{
		"newer prompt":  {event(prompted)},
		"moved on":      {said(answered)},
		"interrupted":   {event(`{"type":"turn_aborted","reason":"interrupted"}`)},
		"stopped again": {event(started), used, again},
	} {
		t.Run(why, func(t *testing.T) {
			sc := newScene(t, stopped(ran(readOnly, ""))...)
			require.NotNil(t, sc.plan(t, "continue").Run)
			sc.write(t, lines...)
			leave := sc.plan(t, "continue").Skip
			require.NotNil(t, leave)
			require.Contains(t, leave.Why, why)
			require.False(t, leave.Park)
		})
	}
	t.Run("a person may be faster than the reset they know of", func(t *testing.T) {
		sc := newScene(t, meta(""), event(started), ran(readOnly, ""), used, again)
		sc.session.Limit.Reset = limit.Reset{At: soon, Source: limit.Structured}
		require.NotNil(t, sc.plan(t, "continue").Run)
	})
}

func TestASessionThatSomebodyHoldsIsLeftAlone(t *testing.T) {
	sc := newScene(t, stopped(ran(readOnly, ""))...)
	sc.agent.Processes = fakeProc(t, "", procDir{pid: 7, argv: []string{"codex"}, open: map[string]string{sc.session.Transcript: toWrite}})
	leave := sc.plan(t, "continue").Skip
	require.NotNil(t, leave)
	require.Equal(t, "process 7 (interactive) holds the session", leave.Why)
	require.False(t, leave.Park)
}

func TestWhatWaitingDoesNotMendIsParked(t *testing.T) {
	rewrite := func(turn string) func(*testing.T, *scene) {
		return func(t *testing.T, sc *scene) { sc.write(t, stopped(turn)[1:]...) }
	}
	for why, spoil := range map[string]func(*testing.T, *scene){
		"codex was not found: set command in [[agent]]": func(t *testing.T, sc *scene) { require.NoError(t, os.Remove(sc.program)) },
		"is gone":                func(t *testing.T, sc *scene) { require.NoError(t, os.RemoveAll(sc.cwd)) },
		"the transcript is gone": func(t *testing.T, sc *scene) { require.NoError(t, os.Remove(sc.session.Transcript)) },
		"is not a directory any more": func(t *testing.T, sc *scene) {
			require.NoError(t, os.RemoveAll(sc.cwd))
			require.NoError(t, os.WriteFile(sc.cwd, nil, 0o600))
		},
		"is none of codex":              func(_ *testing.T, sc *scene) { sc.session.Key.ID = "--help" },
		"asks before it runs commands":  rewrite(line("turn_context", `{"cwd":"@","approval_policy":"untrusted","sandbox_policy":{"type":"read-only"}}`)),
		"the permission profile":        rewrite(ran(readOnly, `,"active_permission_profile":{"id":"a b"}`)),
		`the sandbox "external-sandbox`: rewrite(ran(`{"type":"external-sandbox"}`, "")),
		"does not say which sandbox":    rewrite(ran(`null`, "")),
	} {
		t.Run(why, func(t *testing.T) {
			sc := newScene(t, stopped(ran(readOnly, ""))...)
			require.NotNil(t, sc.plan(t, "continue").Run)
			spoil(t, sc)
			leave := sc.plan(t, "continue").Skip
			require.NotNil(t, leave)
			require.Contains(t, leave.Why, why)
			require.True(t, leave.Park)
		})
	}
}

func TestAnotherHomeIsNamedToTheRun(t *testing.T) {
	sc := newScene(t, stopped(ran(readOnly, ""))...)
	t.Setenv(homeVariable, "/elsewhere")
	root := filepath.Join(os.Getenv("HOME"), ".codex")
	sc.agent = newAgent(t, Options{Roots: []string{"/elsewhere", root}})
	require.Equal(t, []string{homeVariable + "=" + root}, sc.plan(t, "continue").Run.Env)
}

func TestCodexIsFoundWhereItIsUsuallyInstalled(t *testing.T) {
	for _, place := range []string{".local/bin", ".npm-global/bin", ".nvm/versions/node/v22.3.0/bin"} {
		sc := newScene(t, stopped(ran(readOnly, ""))...)
		dir := filepath.Join(os.Getenv("HOME"), place)
		require.NoError(t, os.MkdirAll(dir, 0o700))
		require.NoError(t, os.Rename(sc.program, filepath.Join(dir, "codex")))
		run := sc.plan(t, "continue").Run
		require.NotNil(t, run, place)
		require.Equal(t, filepath.Join(dir, "codex"), run.Argv[0])
		require.Equal(t, []string{"PATH=" + dir + ":" + os.Getenv("PATH")}, run.Env, "node may lie beside it")
	}
	sc := newScene(t, stopped(ran(readOnly, ""))...)
	sc.agent.Command = filepath.Join(t.TempDir(), "codex")
	require.Contains(t, sc.plan(t, "continue").Skip.Why, "set command in [[agent]]", "what is configured is not guessed at")
}
