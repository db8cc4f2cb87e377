package caller

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/peer"
	"resumed/internal/procfs"
	"resumed/internal/resume"
)

// shown is a process in a made-up /proc.
type shown struct {
	parent, group, session int
	environ, cgroup        string
}

func kernel(t *testing.T, processes map[int]shown) procfs.FS {
	proc := procfs.FS(t.TempDir())
	for pid, p := range processes {
		require.NoError(t, os.Mkdir(proc.Path(pid), 0o700))
		stat := fmt.Sprintf("%d (sh) S %d %d %d 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 %d 0 0\n", pid, p.parent, p.group, p.session, 100+pid)
		for name, text := range map[string]string{"stat": stat, "environ": "PATH=/bin\x00" + p.environ, "cgroup": "0::" + p.cgroup + "\n"} {
			require.NoError(t, os.WriteFile(proc.Path(pid, name), []byte(text), 0o600))
		}
	}
	return proc
}

// The processes of the tests: who asks, what started it, and the daemon.
const asks, shell, agent, keeper, login, daemon, manager, ended = 9, 8, 7, 6, 5, 4, 3, 2

func at(pid int) peer.Process {
	return peer.Process{Process: resume.Process{PID: pid, Start: uint64(100 + pid)}, UID: os.Getuid()}
}

func judgeIn(proc procfs.FS, agents ...int) Judge {
	return Judge{
		Proc: proc, Daemon: daemon, Variables: map[string]string{"bot": "BOT"},
		Agent: func(pid int) string {
			if slices.Contains(agents, pid) {
				return "bot"
			}
			return ""
		},
		Hook:    func(pid int) bool { return pid == keeper },
		Started: func(session int) bool { return session == ended },
	}
}

func TestWhoACallerIs(t *testing.T) {
	const marked, inBot = resume.MarkVariable + "=m\x00", "BOT=1\x00"
	for name, c := range map[string]struct {
		processes map[int]shown
		agents    []int
		want      Kind
	}{
		"a person is in a shell":                                              {map[int]shown{asks: {shell, asks, shell, "", "/session-1.scope"}, shell: {login, shell, shell, "", ""}, login: {1, login, login, "", ""}}, nil, Person},
		"or in a container, whose parents are not seen":                       {map[int]shown{asks: {0, asks, 0, "", "/"}}, nil, Person},
		"beside an agent in the same shell that is stopped":                   {map[int]shown{asks: {shell, asks, shell, "", ""}, shell: {login, shell, shell, "", ""}, agent: {shell, agent, shell, "", ""}}, []int{agent}, Person},
		"whom an agent left behind that has ended, with a shell":              {map[int]shown{asks: {shell, asks, shell, "", ""}, shell: {1, shell, shell, "", ""}}, nil, Person},
		"who has the mark is a run":                                           {map[int]shown{asks: {1, asks, asks, marked, ""}}, nil, Run},
		"whose parent has it":                                                 {map[int]shown{asks: {shell, asks, agent, "", ""}, shell: {agent, shell, agent, marked, ""}, agent: {1, agent, agent, marked, ""}}, nil, Run},
		"whose parents of parents have it":                                    {map[int]shown{asks: {shell, asks, asks, "", ""}, shell: {agent, shell, shell, "", ""}, agent: {login, login, login, "", ""}, login: {1, login, login, marked, ""}}, nil, Run},
		"who has no parent left, and the session of a run":                    {map[int]shown{asks: {1, asks, agent, "", ""}, agent: {1, agent, agent, marked, ""}}, nil, Run},
		"who has no parent left, and the group of a run":                      {map[int]shown{asks: {1, agent, asks, "", ""}, agent: {1, agent, agent, marked, ""}}, nil, Run},
		"whom the daemon started, with no mark at all":                        {map[int]shown{asks: {shell, asks, asks, "", ""}, shell: {daemon, shell, shell, "", ""}, daemon: {1, daemon, daemon, "", ""}}, nil, Run},
		"but not the program that tells of a notice":                          {map[int]shown{asks: {keeper, asks, asks, "", ""}, keeper: {daemon, keeper, keeper, "", ""}, daemon: {1, daemon, daemon, "", ""}}, nil, Person},
		"who is in the unit of a run, whoever its parents are":                {map[int]shown{asks: {1, asks, asks, "", "/user@0.service/app.slice/resumed-0190a1b2-0000-7000-8000-000000000000.service"}}, nil, Run},
		"or in the daemon's":                                                  {map[int]shown{asks: {1, asks, asks, "", "/user@0.service/app.slice/resumed.service/x"}}, nil, Run},
		"or in that of the system":                                            {map[int]shown{asks: {1, asks, asks, "", "/system.slice/system-resumed.slice/resumed@alice.service"}}, nil, Run},
		"not in one that is called likewise":                                  {map[int]shown{asks: {1, asks, asks, "", "/app.slice/unresumed.service"}}, nil, Person},
		"nor in one that a person called after it":                            {map[int]shown{asks: {1, asks, asks, "", "/app.slice/resumed-nightly.service"}}, nil, Person},
		"whose parents of parents are an agent":                               {map[int]shown{asks: {shell, asks, shell, "", ""}, shell: {agent, shell, shell, "", ""}, agent: {login, agent, login, "", ""}, login: {1, login, login, "", ""}}, []int{agent}, Agent},
		"who is in a pipe behind an agent":                                    {map[int]shown{asks: {shell, agent, shell, "", ""}, shell: {1, shell, shell, "", ""}, agent: {shell, agent, shell, "", ""}}, []int{agent}, Agent},
		"who has no parent left, and an agent in its session":                 {map[int]shown{asks: {1, asks, shell, "", ""}, shell: {login, shell, shell, "", ""}, agent: {shell, agent, shell, "", ""}, login: {1, login, login, "", ""}}, []int{agent}, Agent},
		"who has no parent left, and a shell of an agent's leads its session": {map[int]shown{asks: {1, asks, shell, "", ""}, shell: {agent, shell, shell, "", ""}, agent: {1, agent, agent, "", ""}}, []int{agent}, Agent},
		"who has no parent left but what the daemon has too, and an agent leads its session": {map[int]shown{
			asks: {manager, asks, agent, "", ""}, agent: {login, agent, agent, "", ""}, login: {1, login, login, "", ""},
			daemon: {manager, daemon, daemon, "", ""}, manager: {1, manager, manager, "", ""},
		}, []int{agent}, Agent},
		"or is in it, where a shell leads it": {map[int]shown{
			asks: {manager, asks, shell, "", ""}, shell: {login, shell, shell, "", ""}, agent: {shell, agent, shell, "", ""}, login: {1, login, login, "", ""},
			daemon: {manager, daemon, daemon, "", ""}, manager: {1, manager, manager, "", ""},
		}, []int{agent}, Agent},
		"who joins the group of the program that tells of a notice": {map[int]shown{
			asks: {agent, keeper, shell, "", ""}, agent: {shell, agent, shell, "", ""}, shell: {1, shell, shell, "", ""},
			keeper: {daemon, keeper, shell, "", ""}, daemon: {shell, daemon, shell, "", ""},
		}, []int{agent}, Run},
		"who is in the session of a run that has ended": {map[int]shown{asks: {1, asks, ended, "", ""}}, nil, Run},
		"who has the variable of an agent":              {map[int]shown{asks: {1, asks, asks, inBot, ""}}, nil, Agent},
		"whose shell has it":                            {map[int]shown{asks: {shell, asks, shell, "", ""}, shell: {1, shell, shell, inBot, ""}}, nil, Agent},
		"an agent that is a run is a run":               {map[int]shown{asks: {agent, agent, agent, "", ""}, agent: {login, agent, agent, "", ""}, login: {1, login, login, marked, ""}}, []int{agent}, Run},
		"who was started by what started the daemon has its ancestors, also if those have left theirs": {map[int]shown{
			asks: {manager, asks, login, "", ""}, daemon: {manager, manager, login, "", ""}, manager: {1, manager, login, "", ""}, agent: {1, agent, login, "", ""},
		}, []int{agent}, Person},
		"who started the daemon is not judged by that": {map[int]shown{
			asks: {agent, asks, agent, "", ""}, daemon: {agent, daemon, agent, "", ""}, agent: {manager, agent, agent, "", ""}, manager: {1, manager, manager, "", ""},
		}, []int{agent}, Person},
	} {
		t.Run(name, func(t *testing.T) {
			j := judgeIn(kernel(t, c.processes), c.agents...)
			require.NoError(t, j.visible(at(asks)))
			require.Equal(t, c.want, j.belongs(asks).Kind, j.belongs(asks).Why)
		})
	}
}

func TestACallerThatCannotBeSeenMayNothing(t *testing.T) {
	proc := kernel(t, map[int]shown{asks: {parent: 1}})
	j := judgeIn(proc)
	for name, process := range map[string]peer.Process{
		"the kernel does not tell": {},
		"it has ended":             at(shell),
		"its number is another's":  {Process: resume.Process{PID: asks, Start: 1}},
	} {
		for _, c := range []Caller{j.Of(process), j.Seen(process)} {
			require.Equal(t, Unseen, c.Kind, name)
			require.Contains(t, c.Why, errGone.Error(), name)
			for _, right := range []Right{Look, Report, Order} {
				require.ErrorIs(t, c.May(right), ErrRefused, name)
			}
		}
	}
	require.Equal(t, Unseen, j.Of(at(asks)).Kind, "what restricts it is not told")
	require.NoError(t, os.Remove(proc.Path(asks, "environ")))
	require.Contains(t, j.Seen(at(asks)).Why, strconv.Itoa(asks), "it hides its environment")
}

func TestWhatEachCallerMay(t *testing.T) {
	for kind, want := range map[Kind][]Right{
		Person: {Look, Report, Order}, Run: {Look, Report}, Agent: {Look, Report}, Confined: {Look}, Unseen: nil, Kind(99): nil,
	} {
		var may []Right
		for right := range Order + 2 { // with rights that nobody has
			if err := (Caller{Kind: kind}).May(right); err == nil {
				may = append(may, right)
			} else {
				require.ErrorIs(t, err, ErrRefused)
				require.ErrorContains(t, err, "run ")
			}
		}
		require.Equal(t, want, may)
	}
}

func TestThisProcessIsAPersonsOrTheTestIsAnAgents(t *testing.T) {
	j := Judge{Proc: procfs.Proc, Daemon: os.Getpid()}
	require.Equal(t, Person, j.Of(peer.At(os.Getpid(), os.Getuid())).Kind)
}
