package qwen

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agenttest"
	"resumed/internal/leash"
	"resumed/internal/resume"
)

func TestAResumeLacksNoRestrictionAndHasNoGrantOfItsOwn(t *testing.T) {
	sc := newScene(t, stopped()...)
	agenttest.Leash(t, flags, []string{"-m", "--model"}, sc.Arguments)
	sc.Write(t, failed(time.Minute, object{"auth_type": "openai"}))
	agenttest.Leash(t, flags, []string{"-m", "--model", "--auth-type"}, sc.Arguments)
}

func TestASessionGoesOnAsItWasStarted(t *testing.T) {
	for line, want := range map[string]string{
		"-m old --auth-type anthropic -yp fix":            "--model qwen3-max --auth-type openai -y",
		"--exclude-tools a b --core-tools c -i fix":       "--model qwen3-max --auth-type openai --exclude-tools a b --core-tools c",
		"--approval-mode=yolo --max-session-turns 3 -c":   "--model qwen3-max --auth-type openai --approval-mode=yolo --max-session-turns 3",
		"--add-dir lib /abs --mcp-config m.json -s":       "--model qwen3-max --auth-type openai --add-dir /src/lib /abs --mcp-config /src/m.json -s",
		"--openai-base-url http://h/v1 -o json -d prompt": "--model qwen3-max --auth-type openai --openai-base-url http://h/v1",
	} {
		sc := newScene(t, failed(time.Second, object{"auth_type": "openai"}))
		got := sc.Arguments(t, resume.Origin{Cwd: "/src", Args: flags.Storable(strings.Fields(line), false), ArgsSeen: true})
		require.Equal(t, "--resume "+sessionA+" "+want+" -p continue", strings.Join(got, " "), line)
	}
}

func TestSettingsThatCameLaterDoNotWiden(t *testing.T) {
	sc, dir := newScene(t, stopped()...), t.TempDir()
	o := resume.Origin{Cwd: dir, ArgsSeen: true}
	o.Settings = sc.Agent.SettingsAt(o)
	agenttest.Write(t, filepath.Join(dir, ".qwen", "settings.json"), `{"tools":{"approvalMode":"yolo"}}`)
	require.Contains(t, strings.Join(sc.Arguments(t, o), " "), " --approval-mode default ")
	require.Contains(t, leash.Describe(sc.Plan(t, "continue").Run.Carried.LeftOut), "yolo: the session was started with less: continued in default")
	o.Settings = sc.Agent.SettingsAt(o)
	require.NotContains(t, strings.Join(sc.Arguments(t, o), " "), "--approval-mode", "they were there")
	require.False(t, sc.Plan(t, "continue").Run.AskMode)
}

func TestAKeyOnTheCommandLineIsNotKept(t *testing.T) {
	sc := newScene(t, stopped()...)
	kept := flags.Storable([]string{"--openai-api-key", "hunter2"}, false)
	require.NotContains(t, strings.Join(kept, " "), "hunter2")
	o := resume.Origin{Args: kept, ArgsSeen: true, SeenAt: time.Now()}
	sc.Session.Origin = &o
	require.Len(t, sc.Plan(t, "continue").Run.Carried.Missing, 1, "so that nothing is sent")
}

func TestWhichKeysASessionNeeds(t *testing.T) {
	spare := func(auth string) string {
		sc := newScene(t, failed(time.Second, object{"auth_type": auth}))
		agenttest.Write(t, filepath.Join(sc.Session.Cwd, ".qwen", "settings.json"), `{"modelProviders":{"x":[{"envKey": "SHOP_KEY"}]}}`)
		require.True(t, sc.Agent.Variables().Has("SHOP_KEY"))
		does := sc.Plan(t, "continue").Run.Optional
		if does == nil {
			return "nobody knows"
		}
		var names []string
		for _, name := range []string{"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "SHOP_KEY", "QWEN_SANDBOX", "PATH"} {
			if does(name) {
				names = append(names, name)
			}
		}
		return strings.Join(names, " ")
	}
	require.Equal(t, "OPENAI_API_KEY ANTHROPIC_API_KEY", spare("qwen-oauth"))
	require.Equal(t, "OPENAI_API_KEY", spare("anthropic"))
	require.Equal(t, "nobody knows", spare("openai"))
}

// Variables that Qwen Code sets when it restarts itself are not the person's.
func TestVariablesOfItsOwnDoNotMatter(t *testing.T) {
	table := leash.Variables(variables)
	for _, name := range []string{"QWEN_CODE_NO_RELAUNCH", "QWEN_CODE_MANAGED_NPM_PIN", "QWEN_CODE_PRIVATE_RELAUNCH_ENV_PROVENANCE", "QWEN_CODE_CLI"} {
		require.False(t, table.Has(name), name)
	}
	require.True(t, table.Has("QWEN_SANDBOX"))
	require.True(t, table.Has("QWEN_HOME"))
}
