package dirs

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDirectories(t *testing.T) {
	tests := map[string]struct {
		env            map[string]string
		state, runtime string
		wantErr        string
	}{
		"the service's own come first": {
			env:   map[string]string{"STATE_DIRECTORY": "/var/lib/a:/var/lib/b", "RUNTIME_DIRECTORY": "/run/a:/run/b", "XDG_STATE_HOME": "/x", "XDG_RUNTIME_DIR": "/r", "HOME": "/h"},
			state: "/var/lib/a", runtime: "/run/a",
		},
		"then the user's": {
			env:   map[string]string{"XDG_STATE_HOME": "/x", "XDG_RUNTIME_DIR": "/r", "HOME": "/h"},
			state: "/x/resumed", runtime: "/r/resumed",
		},
		"then the usual place, also for the socket": {
			env:   map[string]string{"HOME": "/h"},
			state: "/h/.local/state/resumed", runtime: "/h/.local/state/resumed",
		},
		"a relative XDG path is passed over": {
			env:   map[string]string{"XDG_STATE_HOME": "x", "XDG_RUNTIME_DIR": "r", "HOME": "/h"},
			state: "/h/.local/state/resumed", runtime: "/h/.local/state/resumed",
		},
		"no home is said":                          {wantErr: "HOME"},
		"a relative service directory is an error": {env: map[string]string{"STATE_DIRECTORY": "a", "HOME": "/h"}, wantErr: "STATE_DIRECTORY"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			getenv := func(key string) string { return tt.env[key] }
			dir, err := State(getenv)
			if tt.wantErr != "" {
				require.ErrorContains(t, err, tt.wantErr)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tt.state, dir)
			dir, err = Runtime(getenv)
			require.NoError(t, err)
			require.Equal(t, tt.runtime, dir)
		})
	}
}

func TestLeasesAreWhereEverybodyLooks(t *testing.T) {
	env := func(runtime string) func(string) string {
		return func(key string) string { return map[string]string{"XDG_RUNTIME_DIR": runtime}[key] }
	}
	const state, beside = "/home/dev/.local/state/resumed", "/home/dev/.local/state/resumed/leases"
	require.Equal(t, []string{beside, "/run/user/1/resumed/leases"}, Leases(env("/run/user/1"), state))
	require.Equal(t, []string{beside}, leases(state, "/not/there", false), "nobody has logged in")
	login := t.TempDir()
	require.Equal(t, []string{beside, login + "/resumed/leases"}, leases(state, login, false), "a cron job is not told of it")
	for _, untold := range []string{"", "run"} {
		dir, told := Login(env(untold))
		require.False(t, told)
		require.Equal(t, fmt.Sprintf("/run/user/%d", os.Getuid()), dir)
	}
}

func TestADaemonIsLookedForInAllPlaces(t *testing.T) {
	usual := fmt.Sprintf("/run/user/%d/resumed", os.Getuid())
	tests := map[string]struct {
		env  map[string]string
		want []string
	}{
		"from a login":    {map[string]string{"HOME": "/h", "XDG_RUNTIME_DIR": "/r"}, []string{"/h/.local/state/resumed", "/r/resumed"}},
		"from a cron job": {map[string]string{"HOME": "/h"}, []string{"/h/.local/state/resumed", "/h/.local/state/resumed", usual}},
		"from nowhere":    {nil, []string{usual}},
	}
	for name, tt := range tests {
		require.Equal(t, tt.want, Sockets(func(key string) string { return tt.env[key] }), name)
	}
}
