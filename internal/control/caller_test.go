package control

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/procfs"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
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

func TestWhoIsInTheGroupOfARunBelongsToIt(t *testing.T) {
	proc := kernel(t, map[int]shown{9: {1, 9, "", ""}, 6: {1, 6, resume.MarkVariable + "=m\x00", ""}})
	stat, err := os.ReadFile(proc.Path(9, "stat"))
	require.NoError(t, err)
	stat = []byte(strings.Replace(string(stat), "S 1 9 9", "S 1 6 9", 1))
	require.NoError(t, os.WriteFile(proc.Path(9, "stat"), stat, 0o600))
	is, err := ofARun(proc, resume.Process{PID: 9, Start: 109})
	require.NoError(t, err)
	require.True(t, is)
}

// obeys is a daemon that records what it was asked for.
type obeys struct {
	Backend
	did []string
}

func (o *obeys) Find(_ context.Context, name string) (resume.Key, error) {
	if strings.Contains(name, "/") {
		return resume.Key{}, resume.ErrNoSession
	}
	return resume.Key{ID: name}, nil
}

func (o *obeys) Do(_ context.Context, _ resume.Key, order Action) (view.Session, error) {
	o.did = append(o.did, string(order))
	return view.Session{}, nil
}

func (o *obeys) DoAway(_ context.Context, host, _ string, order Action) (view.Session, error) {
	o.did = append(o.did, string(order)+" at "+host)
	return view.Session{}, nil
}

// obeyed is its queue.
type obeyed struct {
	queue
	by *obeys
}

type queue interface{ Tasks } // not of the name of one of its methods

func (o *obeys) Queue() Tasks { return obeyed{by: o} }

func (o obeyed) Enqueue(_ context.Context, order view.TaskOrder) (view.Task, error) {
	o.by.did = append(o.by.did, "task in mode "+order.Mode)
	return view.Task{}, nil
}

// An agent that was told so by a text must neither spend money nor start another one that may do more than it may itself.
func TestAnAgentThatADaemonRunsIsRefusedWhatAPersonDecides(t *testing.T) {
	child := exec.Command("sleep", "1000") // the test is its daemon
	require.NoError(t, child.Start())
	defer func() {
		require.NoError(t, child.Process.Kill())
		_ = child.Wait()
	}()
	stat, err := procfs.Proc.Stat(child.Process.Pid)
	require.NoError(t, err)
	agent, unknown := resume.Process{PID: stat.PID, Start: stat.Start}, resume.Process{}
	decides := []string{"session/own_key?name=s", "session/ask_own_key?name=s", "session/use_reset?name=s", "session/ask_reset?name=s", "queue/add?order=%7B%22mode%22:%22yolo%22%7D"}
	free := []string{"session/retry?name=s", "queue/add?order=%7B%22prompt%22:%22x%22%7D"}
	ask := func(daemon *obeys, process resume.Process, order string) string {
		r := httptest.NewRequest(http.MethodPost, "/v1/"+order, http.NoBody)
		w := httptest.NewRecorder()
		(&Server{backend: daemon}).handler().ServeHTTP(w, r.WithContext(context.WithValue(t.Context(), callerOf{}, process)))
		return w.Body.String()
	}
	for who, process := range map[string]resume.Process{"a resumed agent cannot": agent, "cannot be seen which process asks": unknown} {
		daemon := new(obeys)
		for _, order := range decides {
			require.Contains(t, ask(daemon, process, order), who, order)
			require.Empty(t, daemon.did, order)
		}
		for _, order := range free {
			ask(daemon, process, order)
		}
		require.Equal(t, []string{"retry", "task in mode "}, daemon.did)
	}

	stat, err = procfs.Proc.Stat(os.Getpid())
	require.NoError(t, err)
	person := resume.Process{PID: stat.PID, Start: stat.Start}
	if is, err := ofARun(procfs.Proc, person); is || err != nil {
		t.Skip("NOT TESTED: this test is itself started by an agent:", err)
	}
	daemon := new(obeys)
	for _, order := range []string{"retry", "own_key", "use_reset"} {
		ask(daemon, person, "session/"+order+"?name=desk/s")
	}
	require.Equal(t, []string{"retry at desk"}, daemon.did, "nobody spends on another host")
	ask(daemon, person, "session/own_key?name=s")
	require.Equal(t, []string{"retry at desk", "own_key"}, daemon.did)
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
