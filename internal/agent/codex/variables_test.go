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

// had says which variables the session's process had.
func (sc *scene) had(environ ...string) {
	sc.startedWith()
	sc.session.Origin.Env, sc.session.Origin.Salt = sc.agent.Variables().Keep(environ, false)
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
	spare := sc.plan(t, "continue").Run.Spare
	for name, want := range map[string]bool{"LAB_KEY": true, "OPENAI_API_KEY": true, "AWS_PROFILE": true, "SHOP_KEY": false, "CODEX_API_KEY": false, "HTTPS_PROXY": false} {
		require.Equal(t, want, spare(name), name)
	}
	require.True(t, kept.Has("SHOP_KEY"))
	require.False(t, kept.Has("EDITOR"))

	sc = newScene(t, append([]string{meta(`,"model_provider":"openai","cli_version":"0.58.0"`)}, stopped(ran(readOnly, ""))[1:]...)...)
	require.False(t, sc.plan(t, "continue").Run.Spare(usualKey), "nobody knows whether an old version obeys it")
}

func TestASessionIsNotContinuedInAnothersName(t *testing.T) {
	const mine, others = `{"tokens":{"account_id":"mine","access_token":"a"}}`, `{"tokens":{"account_id":"others"}}`
	sc := newScene(t, append([]string{meta(`,"model_provider":"openai"`)}, stopped(ran(readOnly, ""))[1:]...)...)
	auth := filepath.Join(os.Getenv("HOME"), ".codex", "auth.json")
	write := func(text string) { require.NoError(t, os.WriteFile(auth, []byte(text), 0o600)) }
	missing := func() []leash.Omission { return sc.plan(t, "continue").Run.Carried.Missing }
	write(mine)
	sc.session.Origin = &resume.Origin{SeenAt: time.Now(), ArgsSeen: true, Salt: "s", Login: leash.Hash("s", signedIn(filepath.Dir(auth)))}
	require.Empty(t, missing())
	write(`{"tokens":{"account_id":"mine","access_token":"renewed"}}`)
	require.Empty(t, missing(), "tokens are renewed")
	write(others)
	require.Len(t, missing(), 1)
	require.Contains(t, missing()[0].String(), "auth.json: another account would be asked")
	write(`{"OPENAI_API_KEY":"sk-1"}`)
	require.Len(t, missing(), 1)
	sc.session.Origin.Env = []resume.Variable{{Name: execKey, Hash: "x"}}
	require.Empty(t, missing(), "who is signed in was not asked")
	sc.session.Origin.Env = nil
	require.NoError(t, os.Remove(auth))
	require.Empty(t, missing(), "Codex itself says that nobody is signed in")
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
