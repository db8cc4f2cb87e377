package procfs

import (
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAProcessIsTighterIfItIsMoreRestricted(t *testing.T) {
	free := map[string]string{"NoNewPrivs": "0", "Seccomp": "0", "Seccomp_filters": "0", "CapEff": "0", "CapBnd": "ff"}
	with := func(name, value string) map[string]string {
		status := maps.Clone(free)
		status[name] = value
		return status
	}
	for want, status := range map[string]map[string]string{
		"":                   free,
		"no_new_privs":       with("NoNewPrivs", "1"),
		"system call filter": with("Seccomp", "2"),
		"fewer capabilities": with("CapBnd", "fe"),
	} {
		require.Equal(t, want, strings.Join(tighter(status, free), ", "))
		require.Empty(t, tighter(free, status), "not the other way round")
	}
	ambient := with("CapEff", "800000000")
	require.Empty(t, tighter(free, ambient), "a login gives its user some, and another way in does not")
	ambient["Uid"] = "0\t0\t0\t0"
	require.Equal(t, []string{"fewer capabilities"}, tighter(free, ambient))
	require.Equal(t, []string{"system call filter"}, tighter(map[string]string{"Seccomp": "2", "Seccomp_filters": "3"}, map[string]string{"Seccomp": "2", "Seccomp_filters": "2"}))
}
