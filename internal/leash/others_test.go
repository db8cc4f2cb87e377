package leash

import (
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

func TestAWholeEnvironmentIsComparedByNames(t *testing.T) {
	var o resume.Origin
	surroundings.Record(&o, []string{"BOT_DENY=all", "PATH=/bin", "DATABASE_URL=dev", "EDITOR=vi", "TERM=xterm", "KITTY_PID=7", "RESUMED_MARK=m", "NOTIFY_SOCKET=/run/n", "STATE_DIRECTORY=/var/lib/x", "PWD=/", ""}, false)
	require.True(t, o.EnvSeen)
	var names []string
	for _, other := range o.Others {
		names = append(names, other.Name)
		require.Empty(t, other.Value, "values stay in memory")
	}
	require.Equal(t, []string{"DATABASE_URL", "EDITOR"}, names)

	lost, added := surroundings.Changed(o, []string{"DATABASE_URL=prod", "KUBECONFIG=/x", "TERM=dumb", "BOT_DENY=none"})
	require.Equal(t, []string{"DATABASE_URL", "EDITOR"}, lost)
	require.Equal(t, []string{"KUBECONFIG"}, added)
	lost, added = surroundings.Changed(o, []string{"EDITOR=vi", "DATABASE_URL=dev"})
	require.Empty(t, lost)
	require.Empty(t, added)
	require.Equal(t, []string{"A=1"}, Inherited([]string{"A=1", "TMUX=x", "SHLVL=2", "GHOSTTY_BIN=/x"}))
}

func TestVariablesThatChooseATarget(t *testing.T) {
	for _, name := range []string{
		"DATABASE_URL", "KUBECONFIG", "AWS_PROFILE", "PGHOST", "https_proxy", "STRIPE_KEY", "GITHUB_TOKEN", "RAILS_ENV", "DOCKER_HOST", "VAULT_ADDR", "GOOGLE_APPLICATION_CREDENTIALS",
		"DOCKER_CERT_PATH", "PGSSLCERT", "VAULT_CLIENT_CERT",
	} {
		require.True(t, ChoosesTarget(name), name)
	}
	for _, name := range []string{
		"EDITOR", "LANG", "SSH_AUTH_SOCK", "DISPLAY", "LS_COLORS", "MY_DIRENV", "DBUS_SESSION_BUS_ADDRESS", "GOPATH",
		"AWS_CA_BUNDLE", "CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE", "REQUESTS_CA_BUNDLE", "PGSSLROOTCERT", "VAULT_CACERT", "CONSUL_CAPATH", "DOCKER_SSL_CERT_FILE",
	} {
		require.False(t, ChoosesTarget(name), name)
	}
}

func TestFilesThatFlagsName(t *testing.T) {
	require.Equal(t, []string{"/src/a.json", "/b", "/src/c"}, table.Files([]string{"--settings", "a.json", "--add-dir", "/b", "c", "-m", "opus", "text"}, "/src"))
}
