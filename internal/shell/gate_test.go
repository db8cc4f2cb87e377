package shell

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/procfs"
)

// A unit may restrict its daemon. What runs in the unit beside that does not count as it.
func TestTheFirstProcessOfTheUnitIsTheDaemon(t *testing.T) {
	const manager, system = "0::/user.slice/user-7.slice/user@7.service/init.scope\n", "0::/init.scope\n"
	for name, c := range map[string]struct {
		own, parents string
		want         bool
	}{
		"the user's service":              {"0::/user.slice/user-7.slice/user@7.service/app.slice/resumed.service\n", manager, true},
		"the system's, for a user":        {"0::/system.slice/system-resumed.slice/resumed@alice.service\n", system, true},
		"where there are several groups":  {"12:memory:/\n1:name=systemd:/system.slice/resumed@alice.service\n0::/\n", "1:name=systemd:/init.scope\n0::/\n", true},
		"an agent that it runs":           {"0::/app.slice/resumed.service\n", "0::/app.slice/resumed.service\n", false},
		"one in a unit of its own":        {"0::/app.slice/resumed-4f2a.service\n", manager, false},
		"one below the unit":              {"0::/app.slice/resumed.service/box\n", "0::/app.slice/resumed.service\n", false},
		"another unit":                    {"0::/app.slice/unresumed.service\n", manager, false},
		"one whose parent cannot be seen": {"0::/app.slice/resumed.service\n", "", false},
		"a session":                       {"0::/user.slice/session-1.scope\n", manager, false},
	} {
		t.Run(name, func(t *testing.T) {
			proc := procfs.FS(t.TempDir())
			require.NoError(t, os.Mkdir(proc.Path(9), 0o700))
			require.NoError(t, os.WriteFile(proc.Path(9, "stat"), fmt.Append(nil, "9 (resumed) S 5 9 9 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 109 0 0\n"), 0o600))
			require.NoError(t, os.WriteFile(proc.Path(9, "cgroup"), []byte(c.own), 0o600))
			if c.parents != "" {
				require.NoError(t, os.Mkdir(proc.Path(5), 0o700))
				require.NoError(t, os.WriteFile(proc.Path(5, "cgroup"), []byte(c.parents), 0o600))
			}
			require.Equal(t, c.want, isService(proc, 9))
		})
	}
}
