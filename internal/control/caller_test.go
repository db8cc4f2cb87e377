package control

import (
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/procfs"
	"resumed/internal/resume"
)

// shown is a process in a made-up /proc.
type shown struct {
	parent, session int
	environ, cgroup string
}

func kernel(t *testing.T, processes map[int]shown) procfs.FS {
	proc := procfs.FS(t.TempDir())
	for pid, p := range processes {
		require.NoError(t, os.Mkdir(proc.Path(pid), 0o700))
		stat := fmt.Sprintf("%d (sh) S %d %d %d 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 %d 0 0\n", pid, p.parent, pid, p.session, 100+pid)
		for name, text := range map[string]string{"stat": stat, "environ": "PATH=/bin\x00" + p.environ, "cgroup": "0::" + p.cgroup + "\n"} {
			require.NoError(t, os.WriteFile(proc.Path(pid, name), []byte(text), 0o600))
		}
	}
	return proc
}

func TestWhoBelongsToARun(t *testing.T) {
	const marked = resume.MarkVariable + "=m\x00"
	const asks, shell, agent, keeper, login = 9, 8, 7, 6, 5
	daemon := os.Getpid()
	for name, c := range map[string]struct {
		processes map[int]shown
		want      bool
	}{
		"a person does not": {map[int]shown{
			asks: {shell, shell, "", "/user.slice/session-1.scope"}, shell: {login, shell, "", "/user.slice/session-1.scope"}, login: {1, login, "", ""},
		}, false},
		"nor one in a container, whose parents are not seen": {map[int]shown{asks: {0, 0, "", "/"}}, false},
		"who has the mark does":                              {map[int]shown{asks: {1, asks, marked, ""}}, true},
		"whose parent has it": {map[int]shown{
			asks: {shell, agent, "", ""}, shell: {agent, agent, marked, ""}, agent: {1, agent, marked, ""},
		}, true},
		"whose parents of parents have it": {map[int]shown{
			asks: {shell, asks, "", ""}, shell: {agent, shell, "", ""}, agent: {keeper, keeper, "", ""}, keeper: {1, keeper, marked, ""},
		}, true},
		"who has no parent left, and the session of a run": {map[int]shown{asks: {1, keeper, "", ""}, keeper: {1, keeper, marked, ""}}, true},
		"whom the daemon started, with no mark at all": {map[int]shown{
			asks: {shell, asks, "", ""}, shell: {daemon, shell, "", ""}, daemon: {1, daemon, "", ""},
		}, true},
		"who lives in the unit of a run, whoever its parents are": {map[int]shown{
			asks: {1, asks, "", "/user.slice/user@0.service/app.slice/resumed-4f2a.service"},
		}, true},
		"or in the daemon's":                 {map[int]shown{asks: {1, asks, "", "/user@0.service/app.slice/resumed.service/x"}}, true},
		"not in one that is called likewise": {map[int]shown{asks: {1, asks, "", "/user@0.service/app.slice/unresumed.service"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ofARun(kernel(t, c.processes), resume.Process{PID: asks, Start: 100 + asks})
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

func TestWhoCannotBeSeenIsNoPerson(t *testing.T) {
	proc := kernel(t, map[int]shown{9: {parent: 1}})
	for name, process := range map[string]resume.Process{
		"the kernel does not tell": {},
		"it has ended":             {PID: 8, Start: 108},
		"its number is another's":  {PID: 9, Start: 1},
	} {
		_, err := ofARun(proc, process)
		require.ErrorIs(t, err, errGone, name)
	}
	require.NoError(t, os.Remove(proc.Path(9, "environ")))
	_, err := ofARun(proc, resume.Process{PID: 9, Start: 109})
	require.ErrorContains(t, err, strconv.Itoa(9), "it hides its environment")
}
