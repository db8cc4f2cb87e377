package codex

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/leash"
	"resumed/internal/resume"
)

func TestVariablesThatAConfigurationNames(t *testing.T) {
	for text, want := range map[string]map[string][]string{
		"model = \"x\"\n[model_providers.shop]\nname = \"s\"\nenv_key = \"SHOP_KEY\" # mine\n[other]\nkey = \"NO\"\n": {"shop": {"SHOP_KEY"}},
		"[model_providers]\nshop = { base_url = \"http://x\", env_key = 'SHOP_KEY' }\n":                               {"shop": {"SHOP_KEY"}},
		"model_providers.shop.env_key=SHOP_KEY":                                                                       {"shop": {"SHOP_KEY"}},
		"model_providers={shop={env_key=\"SHOP_KEY\"}}":                                                               {anyProvider: {"SHOP_KEY"}},
		"[ model_providers.\"my shop\" ]\nenv_key = \"A\"\n":                                                          {"my": {"A"}},
		"[model_providers.shop.env_http_headers]\n\"X-Corp\" = \"CORP\"\n\"X-Team\" = \"TEAM\"\n":                     {"shop": {"CORP", "TEAM"}},
		"[model_providers.shop]\nenv_http_headers = { \"X-Corp\" = \"CORP\", X-Team = \"TEAM\" }\n":                   {"shop": {"CORP", "TEAM"}},
		"[mcp_servers.docs]\nbearer_token_env_var = \"DOCS_TOKEN\"\n":                                                 {"": {"DOCS_TOKEN"}},
		"[model_providers.shop]\nhttp_headers = { \"X-Corp\" = \"secret\" }\n":                                        {},
		"no toml at all": {},
	} {
		all := make(map[string][]string)
		nameIn(text, all)
		require.Equal(t, want, all, text)
	}
}

const twoProviders = "[model_providers.shop]\nenv_key = \"SHOP_KEY\"\n[model_providers.lab]\nenv_key = \"LAB_KEY\"\n"

// had sets the variables of the session's process.
func (sc *scene) had(environ ...string) {
	sc.startedWith()
	sc.session.Origin.Env, sc.session.Origin.Salt = sc.agent.Variables().Storable(environ, false)
	sc.session.Origin.EnvSeen = true
}

func TestTheKeysOfOtherProvidersAreSpared(t *testing.T) {
	sc := newScene(t, append([]string{meta(`,"model_provider":"shop","cli_version":"0.166.0"`)}, stopped(ran(readOnly, ""))[1:]...)...)
	home := filepath.Join(os.Getenv("HOME"), ".codex")
	require.NoError(t, os.WriteFile(filepath.Join(home, "config.toml"), []byte(twoProviders), 0o600))
	sc.had("SHOP_KEY=shop-1234567", "LAB_KEY=lab-1234567", "OPENAI_API_KEY=sk-12345678", "EDITOR=vi", "CODEX_API_KEY=sk-1234567890")
	kept := leash.Variables{}
	for _, v := range sc.session.Origin.Env {
		require.NotEmpty(t, v.Hash, v.Name)
		kept = append(kept, leash.Row{Names: v.Name})
	}
	spare := sc.plan(t, "continue").Run.Optional
	for name, want := range map[string]bool{"LAB_KEY": true, "OPENAI_API_KEY": true, "AWS_PROFILE": true, "SHOP_KEY": false, "CODEX_API_KEY": false, "HTTPS_PROXY": false} {
		require.Equal(t, want, spare(name), name)
	}
	require.True(t, kept.Has("SHOP_KEY"))
	require.False(t, kept.Has("EDITOR"))

	sc = newScene(t, append([]string{meta(`,"model_provider":"openai","cli_version":"0.58.0"`)}, stopped(ran(readOnly, ""))[1:]...)...)
	require.False(t, sc.plan(t, "continue").Run.Optional(usualKey), "nobody knows whether an old version obeys it")
}

func TestWhoIsSignedIn(t *testing.T) {
	home := t.TempDir()
	write := func(text string) {
		require.NoError(t, os.WriteFile(filepath.Join(home, "auth.json"), []byte(text), 0o600))
	}
	who := func(environ ...string) string {
		return newAgent(t, Options{}).Login(append(environ, homeVariable+"="+home), "salt")
	}
	require.Empty(t, who(), "nobody")
	write(`{"tokens":{"account_id":"mine","access_token":"a"}}`)
	mine := who()
	require.NotEmpty(t, mine)
	require.NotContains(t, mine, "mine")
	write(`{"tokens":{"account_id":"mine","access_token":"renewed"}}`)
	require.Equal(t, mine, who(), "tokens are renewed")
	write(`{"tokens":{"account_id":"others"}}`)
	require.NotEqual(t, mine, who())
	write(`{"OPENAI_API_KEY":"sk-1"}`)
	require.NotEqual(t, mine, who())
	require.Empty(t, who(execKey+"=sk-2"), "who is signed in is not asked")
	require.NotEmpty(t, who(execKey+"="))
	write("no JSON")
	require.Empty(t, who())
}

func TestATerminalsSessionIsNotGivenAKeyThatItDidNotObey(t *testing.T) {
	for originator, want := range map[string][]string{"codex-tui": {execKey}, "codex_exec": nil} {
		sc := newScene(t, append([]string{meta(`,"originator":"` + originator + `"`)}, stopped(ran(readOnly, ""))[1:]...)...)
		require.Equal(t, want, sc.plan(t, "continue").Run.Unset, originator)
	}
	sc := newScene(t, append([]string{meta(`,"originator":"codex-tui"`)}, stopped(ran(readOnly, ""))[1:]...)...)
	sc.session.Origin = &resume.Origin{SeenAt: time.Now(), ArgsSeen: true, Args: []string{execCommand}}
	require.Empty(t, sc.plan(t, "continue").Run.Unset, "it was last continued by codex exec")
}
