package claude

import (
	"cmp"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/agent/claude/startup"
	"resumed/internal/agenttest"
	"resumed/internal/leash"
	"resumed/internal/resume"
)

// startedWith marks the session's process as seen, with these arguments.
func (sc *scene) startedWith(args ...string) {
	sc.session.Origin = &resume.Origin{Cwd: sc.cwd, Args: startup.Flags.Storable(args, false), ArgsSeen: true, SeenAt: time.Now()}
}

// inMode is a session that stopped in that mode; empty: its version does not record it.
func inMode(t *testing.T, mode string) scene {
	fields := map[string]any{"permissionMode": mode}
	if mode == "" {
		fields = nil
	}
	t.Helper()
	sc := newScene(t, asked(fields, "work"), overload())
	t.Setenv("IS_SANDBOX", "1")
	return sc
}

func TestAResumeLacksNoRestrictionAndHasNoNewGrant(t *testing.T) {
	sc := inMode(t, "default")
	agenttest.Leash(t, startup.Flags, nil, func(t *testing.T, o resume.Origin) []string {
		o.SeenAt = time.Now()
		sc.session.Origin = &o
		run := sc.plan(t, "continue").Run
		if len(run.Carried.Missing) > 0 {
			return nil
		}
		return run.Argv[1:]
	})
}

func TestWhatASessionWasStartedWithIsRepeated(t *testing.T) {
	for rule, c := range map[string]struct {
		mode string
		args []string
		want []string // after -p
		left []string
	}{
		"what is forbidden stays so": {
			"default",
			[]string{"--disallowedTools", "Bash(touch:*)", "Edit", "--tools=Read,Bash", "-p", "do it"},
			[]string{"--disallowedTools", "Bash(touch:*)", "Edit", "--tools=Read,Bash", "--resume", sessionA, "--permission-mode", "default"},
			nil,
		},
		"a mode is told by the transcript, never by the flag that skips permissions": {
			bypass,
			[]string{"--dangerously-skip-permissions", "--disallowedTools", "Bash"},
			[]string{"--disallowedTools", "Bash", "--resume", sessionA, "--permission-mode", bypass},
			nil,
		},
		"a mode that was lowered since counts": {
			"plan", []string{"--dangerously-skip-permissions"}, []string{"--resume", sessionA, "--permission-mode", "plan"}, nil,
		},
		"where no transcript tells, the mode is what the flags said": {
			"", []string{"--permission-mode", "acceptEdits"}, []string{"--resume", sessionA, "--permission-mode", "acceptEdits"}, nil,
		},
		"where no transcript tells, skipping is a mode": {
			"", []string{"--dangerously-skip-permissions"}, []string{"--resume", sessionA, "--permission-mode", bypass}, nil,
		},
		"where neither tells, it has none": {"", []string{"--verbose"}, []string{"--resume", sessionA}, nil},
		"limits and budgets": {
			"default",
			[]string{"-p", "--max-turns", "3", "--max-budget-usd=2"},
			[]string{"--max-turns", "3", "--max-budget-usd=2", "--resume", sessionA, "--permission-mode", "default"},
			nil,
		},
		"a session of another start is not chosen again": {
			"default",
			[]string{"-c", "--fork-session", "-r", "x", "--session-id", "y", "-w", "tree"},
			[]string{"--resume", sessionA, "--permission-mode", "default"},
			nil,
		},
		"what needs a terminal is told": {
			"default",
			[]string{"--ide"},
			[]string{"--resume", sessionA, "--permission-mode", "default"},
			[]string{"--ide: it needs a terminal, or the program that started the session"},
		},
	} {
		t.Run(rule, func(t *testing.T) {
			sc := inMode(t, c.mode)
			sc.startedWith(c.args...)
			run := sc.plan(t, "continue").Run
			require.Equal(t, append(append([]string{sc.program, "-p"}, c.want...), "continue"), run.Argv)
			require.Empty(t, run.Carried.Missing)
			require.ElementsMatch(t, c.left, leash.Describe(run.Carried.LeftOut))
		})
	}
}

func TestARelativePathIsMeantFromWhereTheSessionBegan(t *testing.T) {
	sc := inMode(t, "default")
	sc.startedWith("--settings", "s.json", "--add-dir", "../lib", "/abs", "--agents", `{"a":{}}`)
	require.Equal(t, []string{
		"--settings", filepath.Join(sc.cwd, "s.json"), "--add-dir", filepath.Join(filepath.Dir(sc.cwd), "lib"), "/abs", "--agents", `{"a":{}}`,
	}, sc.plan(t, "continue").Run.Argv[2:9])
}

// The model of the last answer counts, not the one requested at the start.
func TestModelAndEffortAreTheNewest(t *testing.T) {
	sc := newScene(t, asked(map[string]any{"permissionMode": "default"}, "work"),
		answered(map[string]any{"requestedModel": "claude-opus-5-5", "effort": "high"}), overload())
	sc.startedWith("--model", "sonnet", "--effort", "low", "--fallback-model", "haiku")
	require.Equal(t, []string{
		"-p", "--fallback-model", "haiku", "--resume", sessionA, "--permission-mode", "default", "--model", "claude-opus-5-5", "--effort", "high", "continue",
	}, sc.plan(t, "continue").Run.Argv[1:])

	sc = inMode(t, "default")
	sc.startedWith("--model", "sonnet", "--effort", "low")
	require.Equal(t, []string{"-p", "--model", "sonnet", "--effort", "low", "--resume"}, sc.plan(t, "continue").Run.Argv[1:7])
}

// Whether a session may continue at all without its start is the deliverer's decision.
func TestASessionWhoseStartNobodySaw(t *testing.T) {
	driven := "another program drove the session, and may have restricted it"
	for rule, c := range map[string]struct {
		mode           string
		args           []string // if the start was seen
		plans, asks    bool
		unproven, want string
	}{
		"keeps its mode, which asks":         {mode: "acceptEdits", want: "acceptEdits", asks: true},
		"or plans":                           {mode: "plan", want: "plan", plans: true, asks: true},
		"or never asks":                      {mode: bypass, want: bypass},
		"or refuses without asking":          {mode: "dontAsk", want: "dontAsk"},
		"an unknown mode is that of today":   {mode: ""},
		"a program that drives it restricts": {mode: bypass, args: []string{"-p", "--input-format", "stream-json", "--output-format=stream-json"}, want: bypass, unproven: driven},
		"also one in the background":         {mode: bypass, args: []string{"--bg-spare", "/tmp/s"}, want: bypass, unproven: driven},
		"also one that is asked":             {mode: bypass, args: []string{"--permission-prompt-tool=stdio"}, want: bypass, unproven: driven},
	} {
		t.Run(rule, func(t *testing.T) {
			sc := inMode(t, c.mode)
			if c.args != nil {
				sc.startedWith(c.args...)
			}
			run := sc.plan(t, "continue").Run
			require.Equal(t, c.want, startup.Flags.Parse(run.Argv[1:]).Value("--permission-mode"))
			require.Equal(t, []any{c.plans, c.asks, c.unproven}, []any{run.PlanOnly, run.AskMode, run.Unproven})
		})
	}
}

// Every program that can write to a transcript can add a mode to it.
func TestARecordNeverWidensWhatTheStartAllowed(t *testing.T) {
	bypassed := `{"permissions":{"defaultMode":"bypassPermissions"}}`
	for rule, c := range map[string]struct {
		told     string // by the transcript
		args     []string
		settings map[string]string
		later    bool   // the settings came after the start
		now      string // the mode that they would give the resume
		want     string
	}{
		"a start without a flag is none without checks": {told: bypass, want: usualMode},
		"nor one that forbids something":                {told: bypass, args: []string{"--disallowedTools", "Bash"}, want: usualMode},
		"nor one that plans":                            {told: bypass, args: []string{"--permission-mode", "plan"}, want: "plan"},
		"one that accepts edits does that":              {told: bypass, args: []string{"--permission-mode=acceptEdits"}, want: "acceptEdits"},
		"one that plans accepts no edits":               {told: "acceptEdits", args: []string{"--permission-mode", "plan"}, want: "plan"},
		"nor does it ask":                               {told: usualMode, args: []string{"--permission-mode", "plan"}, want: "plan"},
		"one that asks does not leave it to a judge":    {told: "auto", args: []string{"--permission-mode", "default"}, want: usualMode},
		"one that refuses does not ask":                 {told: "acceptEdits", args: []string{"--permission-mode", "dontAsk"}, want: "dontAsk"},
		"a mode of the start that nobody knows asks":    {told: bypass, args: []string{"--permission-mode", "yolo"}, want: usualMode},
		"what the start allowed may come later":         {told: bypass, args: []string{"--permission-mode", "plan", "--allow-dangerously-skip-permissions"}, want: bypass},
		"as a judge may":                                {told: "auto", args: []string{"-p", "--enable-auto-mode"}, want: "auto"},
		"in a terminal a start without a flag has auto": {told: "auto", want: "auto"},
		"and without one it asks":                       {told: "auto", args: []string{"-p"}, want: usualMode},
		"what is narrower counts":                       {told: "dontAsk", want: "dontAsk"},

		"settings allow it":            {told: bypass, settings: map[string]string{".claude/settings.json": bypassed}, want: bypass},
		"those of the project as well": {told: bypass, settings: map[string]string{"app/.claude/settings.local.json": bypassed}, want: bypass},
		"not against a flag":           {told: bypass, args: []string{"--permission-mode", "plan"}, settings: map[string]string{".claude/settings.json": bypassed}, want: "plan"},
		"nor where they are not read":  {told: bypass, args: []string{"--setting-sources", "project"}, settings: map[string]string{".claude/settings.json": bypassed}, want: usualMode},
		"nor against nearer ones": {
			told:     bypass,
			settings: map[string]string{".claude/settings.json": bypassed, "app/.claude/settings.json": `{"permissions":{"defaultMode":"plan"}}`}, want: "plan",
		},
		"but not those that came later": {told: bypass, settings: map[string]string{"app/.claude/settings.local.json": bypassed}, later: true, want: usualMode},
		"also where no record states a mode": {
			told: "", settings: map[string]string{"app/.claude/settings.local.json": bypassed}, later: true, now: bypass, want: usualMode,
		},
		"or one that nobody knows": {
			told: "", settings: map[string]string{"app/.claude/settings.json": `{"permissions":{"defaultMode":"new"}}`}, later: true, now: "new", want: usualMode,
		},
		"by a file that a flag names": {told: bypass, args: []string{"--settings", "own.json"}, settings: map[string]string{"app/own.json": bypassed}, want: bypass},
		"by the flag":                 {told: bypass, args: []string{"--settings", bypassed}, want: bypass},
	} {
		t.Run(rule, func(t *testing.T) {
			sc := inMode(t, c.told)
			sc.startedWith(c.args...)
			if c.later {
				sc.session.Origin.Settings = sc.agent.SettingsAt(*sc.session.Origin)
			}
			for file, text := range c.settings {
				path := filepath.Join(os.Getenv("HOME"), file)
				require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
				require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
			}
			if !c.later {
				sc.session.Origin.Settings = sc.agent.SettingsAt(*sc.session.Origin)
			}
			run := sc.plan(t, "continue").Run
			require.Equal(t, c.want, modeOf(run.Argv[1:]))
			var left []string
			if c.want != c.told {
				left = []string{cmp.Or(c.told, c.now) + ": the session was started with less: continued in " + c.want}
			}
			require.ElementsMatch(t, left, leash.Describe(run.Carried.LeftOut))
		})
	}
}

// Settings outdo the environment of a run, so that nothing of ours turns such a switch off.
func TestSettingsThatMakeItActAreAskedAbout(t *testing.T) {
	sc := inMode(t, "default")
	settings := filepath.Join(os.Getenv("HOME"), ".claude", "settings.json")
	require.NoError(t, os.WriteFile(settings, []byte(`{"env":{"CLAUDE_CODE_RESUME_INTERRUPTED_TURN":"0","DISABLE_TELEMETRY":"1"}}`), 0o600))
	require.NotNil(t, sc.plan(t, "continue").Run)
	require.NoError(t, os.WriteFile(settings, []byte(`{"env":{"CLAUDE_CODE_RESUME_INTERRUPTED_TURN":"1"}}`), 0o600))
	skip := sc.plan(t, "continue").Skip
	require.True(t, skip.Park)
	require.Contains(t, skip.Why, settings+" sets CLAUDE_CODE_RESUME_INTERRUPTED_TURN, with which Claude Code continues by itself")
}

func TestSeenBeforeTheLastPromptIsNotSeen(t *testing.T) {
	sc := inMode(t, bypass)
	sc.startedWith("--add-dir", "/lib")
	sc.session.PromptedAt = time.Now().Add(time.Minute)
	require.NotContains(t, sc.plan(t, "continue").Run.Argv, "--add-dir")
	require.False(t, sc.session.StartedWith().Seen())
}

func TestTheUsualHomeIsNotTakenForTheDaemons(t *testing.T) {
	sc := inMode(t, "default")
	home := filepath.Join(os.Getenv("HOME"), ".claude")
	t.Setenv("CLAUDE_CONFIG_DIR", t.TempDir())
	sc.agent = newAgent(t, Options{Roots: []string{os.Getenv("CLAUDE_CONFIG_DIR"), home}})
	run := sc.plan(t, "continue").Run
	require.Contains(t, run.Unset, "CLAUDE_CONFIG_DIR")

	t.Setenv("CLAUDE_CONFIG_DIR", "")
	sc.agent = newAgent(t, Options{Roots: []string{home}})
	require.NotContains(t, sc.plan(t, "continue").Run.Unset, "CLAUDE_CONFIG_DIR")
}

// A daemon may be started in a terminal of Claude Code. What that says about itself is nothing of a run: it would be taken
// for a part of that session, and would connect to the editor beside it.
func TestARunHasNothingOfTheClaudeCodeThatTheDaemonWasStartedIn(t *testing.T) {
	sc := inMode(t, "default")
	begins, err := sc.agent.Start(resume.Session{Key: sc.session.Key, Cwd: sc.cwd, Task: &resume.Task{Prompt: "fix the tests"}})
	require.NoError(t, err)
	for _, run := range []*agent.Command{sc.plan(t, "continue").Run, begins.Run} {
		require.Subset(t, run.Unset, []string{
			"CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_CHILD_SESSION",
			"CLAUDE_CODE_SESSION_ATTENDED", "CLAUDE_PID", "CLAUDE_EFFORT",
		})
	}
}

// An AWS key in the environment does not decide the account, unless the session uses Bedrock.
func TestACloudsKeysMatterWhereThatCloudIsAsked(t *testing.T) {
	sc := inMode(t, "default")
	sc.startedWith()
	spare := func(name string) bool { return sc.plan(t, "continue").Run.Optional(name) }
	require.True(t, spare("AWS_SECRET_ACCESS_KEY"))
	require.False(t, spare("AWS_BEARER_TOKEN_BEDROCK"))
	require.False(t, spare("ANTHROPIC_API_KEY"))

	sc.session.Origin.Env = []resume.Variable{{Name: "CLAUDE_CODE_USE_BEDROCK", Value: "1"}}
	require.False(t, spare("AWS_SECRET_ACCESS_KEY"))
	sc.session.Origin.Env = nil
	require.NoError(t, os.WriteFile(filepath.Join(os.Getenv("HOME"), ".claude/settings.json"), []byte(`{"env":{"CLAUDE_CODE_USE_BEDROCK":"1"}}`), 0o600))
	require.False(t, spare("AWS_SECRET_ACCESS_KEY"), "settings say so, too")
}
