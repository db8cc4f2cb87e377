package codex

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent/codex/rollout"
	"resumed/internal/agenttest"
	"resumed/internal/leash"
	"resumed/internal/resume"
)

// between returns the arguments of a plan between the directory and the settings of
// the last turn, which begin with its sandbox.
func between(t *testing.T, argv []string) string {
	from, to := slices.Index(argv, "-C"), slices.Index(argv, "-s")
	require.Positive(t, from)
	require.Greater(t, to, from)
	return strings.Join(argv[from+2:to], " ")
}

func TestWhatASessionWasStartedWithIsRepeated(t *testing.T) {
	for rule, c := range map[string]struct{ line, want string }{
		"settings that forbid":                  {"-c shell_environment_policy.inherit=none -c web_search=disabled", "-c shell_environment_policy.inherit=none -c web_search=disabled"},
		"features, both ways":                   {"--disable apps --enable goals", "--disable apps --enable goals"},
		"a profile":                             {"-p work", "-p work"},
		"who is asked":                          {"-c model_providers.x.base_url=http://127.0.0.1/ --oss --local-provider ollama", "-c model_providers.x.base_url=http://127.0.0.1/ --oss --local-provider ollama"},
		"hooks and rules as they were":          {"--dangerously-bypass-hook-trust --ignore-rules --ignore-user-config", "--dangerously-bypass-hook-trust --ignore-rules --ignore-user-config"},
		"not what the last turn tells":          {"-s danger-full-access -a never -C /elsewhere -m old -c sandbox_mode=danger-full-access -c model=old -c sandbox_workspace_write.network_access=true", ""},
		"nor by another spelling":               {"-csandbox_mode=danger-full-access --config=approvals_reviewer=auto_review -c model_provider=x", ""},
		"no flag that bypasses":                 {"--yolo --dangerously-bypass-approvals-and-sandbox --full-auto --approve-for-me", ""},
		"directories are in the sandbox's list": {"--add-dir /lib", ""},
		"no prompt, picture or choice":          {"-i a.png b.png --last --worktree resume", ""},
		"nor how things look":                   {"--no-alt-screen --no-daemon --json --color never -o out.txt", ""},
		"what a terminal takes for itself":      {"--search", `-c web_search="live"`},
		"a flag that nobody knows":              {"--not-known-yet=x", "--not-known-yet=x"},
	} {
		t.Run(rule, func(t *testing.T) {
			sc := newScene(t, stopped(ran(readOnly, `,"model":"gpt-5"`))...)
			sc.startedWith(strings.Fields(c.line)...)
			plan := sc.plan(t, "continue")
			require.NotNil(t, plan.Run)
			require.Equal(t, c.want, between(t, plan.Run.Argv))
			require.Empty(t, plan.Run.Carried.LeftOut)
		})
	}
}

func TestWhatCodexExecDoesNotObeyIsNotGivenToIt(t *testing.T) {
	sc := newScene(t, stopped(ran(readOnly, ""))...)
	sc.startedWith("--search")
	sc.session.Origin.Args = append([]string{execCommand}, sc.session.Origin.Args...)
	require.Empty(t, between(t, sc.plan(t, "continue").Run.Argv))
}

func TestWhatCannotBeRepeatedIsSaid(t *testing.T) {
	sc := newScene(t, stopped(ran(readOnly, ""))...)
	sc.startedWith("--remote", "unix://", "--output-schema", "/tmp/schema.json")
	require.Len(t, sc.plan(t, "continue").Run.Carried.LeftOut, 2)

	for _, secret := range []string{`model_providers.x.http_headers={"X-Corp"="abc"}`, `model_providers.x.experimental_bearer_token="abcdefgh"`} {
		sc.startedWith("-c", secret)
		missing := sc.plan(t, "continue").Run.Carried.Missing
		require.Len(t, missing, 1)
		require.Contains(t, missing[0].What, "model_providers.x.")
		require.NotContains(t, missing[0].What, "abc")
	}
	sc.startedWith("-c", `model_providers.x.env_http_headers={"X-Corp"="CORP"}`, "-c", `model_providers.x.env_key="CORP_KEY"`)
	require.Empty(t, sc.plan(t, "continue").Run.Carried.Missing, "names of variables are no secrets")
}

func TestNoRestrictionIsLostAndNothingGranted(t *testing.T) {
	sc := newScene(t, stopped(ran(readOnly, `,"model":"gpt-5"`))...)
	agenttest.Leash(t, flags, newer(rollout.Turn{Model: "gpt-5"}), func(t *testing.T, o resume.Origin) []string {
		o.SeenAt = sc.session.PromptedAt
		sc.session.Origin = &o
		run := sc.plan(t, "continue").Run
		if len(run.Carried.Missing) > 0 {
			return nil
		}
		return run.Argv[1:]
	})
}

// Whether a session may continue at all without its start is the deliverer's decision.
func TestASessionWhoseStartNobodySaw(t *testing.T) {
	const free = `{"type":"danger-full-access"}`
	for turn, want := range map[string]string{readOnly: "read-only", free: fullAccess} {
		sc := newScene(t, stopped(ran(turn, ""))...)
		run := sc.plan(t, "continue").Run
		require.Equal(t, want, flags.Parse(run.Argv[1:]).Value("-s"), "a sandbox stays the one that it is")
		require.Empty(t, run.Carried.LeftOut)
		require.Equal(t, want != fullAccess, run.AskMode)
		require.Equal(t, want == fullAccess, run.Unproven != "")

		sc.startedWith("--yolo")
		require.Empty(t, sc.plan(t, "continue").Run.Unproven, "as it was")
	}
}

// Every program that can write to a rollout can add a turn to it.
func TestATurnNeverWidensWhatTheStartAllowed(t *testing.T) {
	const free, write, read = `{"type":"danger-full-access"}`, `{"type":"workspace-write","network_access":true}`, readOnly
	for rule, c := range map[string]struct{ turn, line, config, later, want string }{
		"a start without a flag has a sandbox":          {free, "", "", "", "workspace-write"},
		"and one that names it stays in it":             {free, "-s read-only", "", "", "read-only"},
		"in any spelling":                               {free, `exec -csandbox_mode="read-only"`, "", "", "read-only"},
		"what writes was no reader":                     {write, "--sandbox=read-only", "", "", "read-only"},
		"a configuration does not outdo a flag":         {free, "-s workspace-write", `sandbox_mode = "danger-full-access"`, "", "workspace-write"},
		"full access where the start had it":            {free, "-s danger-full-access", "", "", fullAccess},
		"or skipped all":                                {free, "--yolo", "", "", fullAccess},
		"or the configuration allows it":                {free, "", `sandbox_mode = "danger-full-access"`, "", fullAccess},
		"not one that came later":                       {free, "", "", `sandbox_mode = "danger-full-access"`, "workspace-write"},
		"a turn narrows":                                {read, "--yolo", "", "", "read-only"},
		"a session that asks before it runs is left so": {write, "-a untrusted", "", "", ""},
	} {
		t.Run(rule, func(t *testing.T) {
			sc := newScene(t, stopped(ran(c.turn, `,"approval_policy":"never"`))...)
			sc.startedWith(strings.Fields(c.line)...)
			config := filepath.Join(sc.agent.Homes.Roots[0], "config.toml")
			require.NoError(t, os.WriteFile(config, []byte(c.config), 0o600))
			o := sc.session.Origin
			o.Env = append(o.Env, resume.Variable{Name: homeVariable, Value: filepath.Dir(config)})
			o.EnvSeen = true
			o.Settings = sc.agent.SettingsAt(*o)
			require.NoError(t, os.WriteFile(config, []byte(c.config+c.later), 0o600))
			plan := sc.plan(t, "continue")
			if c.want == "" {
				require.Contains(t, plan.Skip.Why, "asks before it runs commands")
				return
			}
			require.Equal(t, c.want, flags.Parse(plan.Run.Argv[1:]).Value("-s"))
			left := leash.Describe(plan.Run.Carried.LeftOut)
			if strings.Contains(c.turn, c.want) {
				require.Empty(t, left)
			} else {
				require.Contains(t, left[0], ": the session was started with less: continued in "+c.want)
				require.NotContains(t, strings.Join(plan.Run.Argv, " "), "network_access=true")
			}
		})
	}
}

func TestWhatIsSeenOfALivingProcess(t *testing.T) {
	if _, err := os.Stat("/proc/self/ns/mnt"); err != nil {
		t.Skip("SKIPPED: this system has no /proc, so that nothing is seen of processes")
	}
	a, s, _ := held(t)
	home := a.Homes.Roots[0]
	require.NoError(t, os.WriteFile(filepath.Join(home, "auth.json"), []byte(`{"OPENAI_API_KEY":"sk-1"}`), 0o600))
	for rule, c := range map[string]struct {
		line string
		args []string
		seen bool
	}{
		"a terminal":                          {"-s read-only --search fix_it", []string{"-s", "read-only", "--search"}, true},
		"a run without one":                   {"-p a exec -p b --strict-config fix_it", []string{"exec", "-p", "b", "--strict-config"}, true},
		"the server that terminals share":     {"app-server --listen unix:// -c features.goals=false --managed-daemon", []string{"--listen", "unix://", "-c", "features.goals=false", "--managed-daemon"}, true},
		"a server of another program":         {"app-server -c web_search=disabled", []string{"-c", "web_search=disabled"}, false},
		"settings of one key are not one":     {"-c a=1 -c b=2 exec -c a=3", []string{"exec", "-c", "a=1", "-c", "b=2", "-c", "a=3"}, true},
		"a value that is no flag's is no run": {"-m exec", []string{"-m", "exec"}, true},
	} {
		t.Run(rule, func(t *testing.T) {
			pid, end := livingWith(t, "open:"+s.Transcript, strings.Fields(c.line), "CODEX_API_KEY=sk-1234567890", "CODEX_SANDBOX=x", "CODEX_THREAD_ID=y", homeVariable+"="+home)
			defer end()
			o := a.Origin(pid, false)
			require.NotNil(t, o)
			require.Equal(t, c.args, o.Args)
			require.Equal(t, c.seen, o.ArgsSeen)
			require.True(t, o.EnvSeen)
			var names []string
			for _, v := range o.Env {
				names = append(names, v.Name)
			}
			require.Contains(t, names, "CODEX_SANDBOX")
			require.NotContains(t, names, "CODEX_THREAD_ID")
			require.Equal(t, slices.Contains(c.args, execCommand) && c.args[0] == execCommand, slices.Contains(names, execKey), "a terminal does not obey it")
			require.Equal(t, slices.Contains(names, execKey), o.Login == "", "where a key decides, it does not matter who is signed in")
		})
	}
}

// A server that terminals share also serves programs that restrict a session by other means.
func TestASessionOfTheSharedServer(t *testing.T) {
	for originator, proven := range map[string]bool{"codex-tui": true, "codex_vscode": false} {
		sc := newScene(t, append([]string{meta(`,"source":"vscode","originator":"` + originator + `"`)}, stopped(ran(`{"type":"danger-full-access"}`, ""))[1:]...)...)
		sc.startedWith("app-server", "-c", "features.goals=false", managedDaemon)
		run := sc.plan(t, "continue").Run
		require.Equal(t, "-c features.goals=false", between(t, run.Argv))
		require.Equal(t, proven, run.Unproven == "", originator)
	}
}
