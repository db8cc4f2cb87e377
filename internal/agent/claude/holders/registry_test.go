package holders

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/procfs"
	"resumed/internal/resume"
)

// A Claude Code in another PID namespace registers its pid there.
func TestAProcessInANamespaceOfItsOwnIsFound(t *testing.T) {
	a := newHome(t)
	a.Processes = fakeProc(t, procDir{PID: 7, Argv: []string{"sh"}, Start: "500"}, procDir{PID: 4711, Argv: []string{"claude"}, Start: "900"})
	status := filepath.Join(string(a.Processes.FS), "4711", "status")
	require.NoError(t, os.WriteFile(status, []byte("Name:\tclaude\nNSpid:\t4711\t7\n"), 0o600))
	register(t, a.Homes.Roots[0], "7.json", registered(7, sessionA, "900", ""))
	owner, err := a.Owner(t.Context(), resume.Session{Key: resume.Key{Agent: "claude-code", ID: sessionA}})
	require.NoError(t, err)
	require.Equal(t, 4711, owner.PID)
	holder, _, err := a.Holder(resume.Session{Key: resume.Key{Agent: "claude-code", ID: sessionA}}, *owner)
	require.NoError(t, err)
	require.Empty(t, a.SessionOf(4711), "it has no entry of that number")
	require.NotEqual(t, "gone", a.Doing(holder), "it is asked by the number that it registered")

	register(t, a.Homes.Roots[0], "7.json", registered(7, sessionA, "901", ""))
	owner, err = a.Owner(t.Context(), resume.Session{Key: resume.Key{Agent: "claude-code", ID: sessionA}})
	require.NoError(t, err)
	require.Nil(t, owner, "another process, which is gone")
}

// In a PID namespace that shows the processes of ours, the start time of another process is registered.
func TestAProcessInANamespaceWithOurProcessesIsFound(t *testing.T) {
	link := func(a *home, pid int, namespace string) {
		ns := filepath.Join(string(a.Processes.FS), fmt.Sprint(pid), "ns")
		require.NoError(t, os.Mkdir(ns, 0o700))
		require.NoError(t, os.Symlink(namespace, filepath.Join(ns, "pid")))
	}
	session := resume.Session{Key: resume.Key{Agent: "claude-code", ID: sessionA}, PromptedAt: time.Now()}
	for name, c := range map[string]struct {
		argv, namespace, machine string
		found                    bool
	}{
		"by its namespace":      {"claude", "pid:[2]", thisMachine(), true},
		"another program there": {"sh", "pid:[2]", thisMachine(), false},
		"another namespace":     {"claude", "pid:[3]", thisMachine(), false},
		"another machine":       {"claude", "pid:[2]", "other", false},
	} {
		t.Run(name, func(t *testing.T) {
			a := newHome(t)
			a.Processes = fakeProc(t, procDir{PID: os.Getpid(), Argv: []string{"x"}, Start: "1"}, procDir{PID: 4711, Argv: []string{c.argv}, Start: "900"})
			require.NoError(t, os.WriteFile(a.Processes.Path(4711, "status"), []byte("Name:\tclaude\nNSpid:\t4711\t1\n"), 0o600))
			link(a, os.Getpid(), "pid:[1]")
			link(a, 4711, c.namespace)
			register(t, a.Homes.Roots[0], "1.json", registered(1, sessionA, "10", `,"pidDomain":"linux:`+c.machine+`:pid:[2]"`))
			owner, err := a.Owner(t.Context(), session)
			if !c.found {
				require.ErrorIs(t, err, agent.ErrUnseen)
				return
			}
			require.NoError(t, err)
			require.Equal(t, 4711, owner.PID)
			holder, _, err := a.Holder(session, *owner)
			require.NoError(t, err)
			process, known := holder.Process()
			require.True(t, known)
			require.Equal(t, resume.Process{PID: 4711, Start: 900}, process)
		})
	}
}

// From the first namespace all processes are visible: one that is not there has ended.
func TestAProcessOfANamespaceThatIsGone(t *testing.T) {
	if thisMachine() == "" {
		t.Skip("THE END OF A NAMESPACE IS NOT TESTED HERE: this machine has no /etc/machine-id")
	}
	session := resume.Session{Key: resume.Key{Agent: "claude-code", ID: sessionA}, PromptedAt: time.Now()}
	for name, c := range map[string]struct {
		ours, machine string
		theirs        string // of a process with the same pid in its namespace; "": there is none, "-": it is not readable
		hidden        bool   // processes of other users are not shown
		held          bool
	}{
		"no such process":            {ours: firstNamespace, machine: thisMachine()},
		"one of another namespace":   {ours: firstNamespace, machine: thisMachine(), theirs: "pid:[3]"},
		"one of its namespace":       {ours: firstNamespace, machine: thisMachine(), theirs: "pid:[2]", held: true},
		"one of another user":        {ours: firstNamespace, machine: thisMachine(), theirs: "-", held: true},
		"we are in a namespace":      {ours: "pid:[1]", machine: thisMachine(), held: true},
		"another machine":            {ours: firstNamespace, machine: "other", held: true},
		"other processes are hidden": {ours: firstNamespace, machine: thisMachine(), hidden: true, held: true},
	} {
		t.Run(name, func(t *testing.T) {
			a := newHome(t)
			running := []procDir{{PID: os.Getpid(), Argv: []string{"x"}, Start: "1"}, {PID: 4711, Argv: []string{"sh"}, Start: "900"}}
			if !c.hidden {
				running = append(running, procDir{PID: 1, Argv: []string{"init"}, Start: "1"})
			}
			a.Processes = fakeProc(t, running...)
			for pid, namespace := range map[int]string{os.Getpid(): c.ours, 4711: c.theirs} {
				if strings.HasPrefix(namespace, "pid") {
					ns := filepath.Join(string(a.Processes.FS), fmt.Sprint(pid), "ns")
					require.NoError(t, os.Mkdir(ns, 0o700))
					require.NoError(t, os.Symlink(namespace, filepath.Join(ns, "pid")))
				}
			}
			if c.theirs != "" {
				require.NoError(t, os.WriteFile(a.Processes.Path(4711, "status"), []byte("Name:\tsh\nNSpid:\t4711\t1\n"), 0o600))
			}
			register(t, a.Homes.Roots[0], "1.json", registered(1, sessionA, "10", `,"pidDomain":"linux:`+c.machine+`:pid:[2]"`))
			owner, err := a.Owner(t.Context(), session)
			require.Nil(t, owner)
			require.Equal(t, c.held, errors.Is(err, agent.ErrUnseen), err)
		})
	}
}

// Versions before 2.1.2xx do not name the namespace: what they register there fits a process of ours, which
// may live for ever.
func TestAProcessThatRegisteredTheStartOfAnotherIsFound(t *testing.T) {
	session := resume.Session{Key: resume.Key{Agent: "claude-code", ID: sessionA}}
	const began = 991 * time.Second // ago, in the namespace; our pid 1 began long before
	for name, c := range map[string]struct {
		first, argv []string // of pid 1, and in the namespace
		cwd         string
		age         time.Duration // of the entry
		want        int           // 0: it is gone
	}{
		"in the directory of its entry":      {[]string{"init"}, []string{"claude"}, "/src/app", began, 4711},
		"another program":                    {[]string{"init"}, []string{"sh"}, "/src/app", began, 0},
		"in another directory":               {[]string{"init"}, []string{"claude"}, "/src", began, 1},
		"of a later container":               {[]string{"init"}, []string{"claude"}, "/src/app", time.Hour, 0},
		"a Claude Code that is pid 1":        {[]string{"claude"}, []string{"claude"}, "/src/app", began, 1},
		"pid 1 is as old, by whatever name":  {[]string{"agent"}, []string{"sh"}, "/src/app", 5 * time.Hour, 1},
		"an entry that does not say its age": {[]string{"agent"}, []string{"sh"}, "/src/app", 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			a := newHome(t)
			a.Processes = fakeProc(t, procDir{PID: 1, Argv: c.first, Start: "11"}, procDir{PID: 4711, Argv: c.argv, Cwd: c.cwd, Start: "1700900"})
			require.NoError(t, os.WriteFile(a.Processes.Path(4711, "status"), []byte("Name:\tclaude\nNSpid:\t4711\t1\n"), 0o600))
			require.NoError(t, os.WriteFile(filepath.Join(string(a.Processes.FS), "uptime"), []byte("18000.00 0.00\n"), 0o600))
			more := `,"cwd":"/src/app"`
			if c.age > 0 {
				more += fmt.Sprintf(`,"startedAt":%d`, time.Now().Add(-c.age).UnixMilli())
			}
			register(t, a.Homes.Roots[0], "1.json", registered(1, sessionA, "11", more))
			owner, err := a.Owner(t.Context(), session)
			require.NoError(t, err)
			if c.want == 0 {
				require.Nil(t, owner)
				return
			}
			require.Equal(t, c.want, owner.PID)
		})
	}
}

func TestAProcessTellsItsSession(t *testing.T) {
	a := newHome(t)
	a.Processes = fakeProc(t, procDir{PID: 7, Argv: []string{"claude"}, Start: "900"})
	register(t, a.Homes.Roots[0], "7.json", registered(7, sessionA, "900", ""))
	require.Equal(t, sessionA, a.SessionOf(7))
	require.Empty(t, a.SessionOf(8))
	register(t, a.Homes.Roots[0], "7.json", registered(7, sessionA, "901", ""))
	require.Empty(t, a.SessionOf(7), "another process, which is gone")
}

func TestWhatAnotherMachineRegisteredIsHeld(t *testing.T) {
	now := time.Now()
	a := newHome(t)
	a.Processes = fakeProc(t, procDir{PID: os.Getpid(), Argv: []string{"x"}, Start: "1"})
	ns := filepath.Join(string(a.Processes.FS), fmt.Sprint(os.Getpid()), "ns")
	require.NoError(t, os.Mkdir(ns, 0o700))
	require.NoError(t, os.Symlink("pid:[1]", filepath.Join(ns, "pid")))
	machine, _ := os.ReadFile("/etc/machine-id")
	session := resume.Session{Key: resume.Key{Agent: "claude-code", ID: sessionA}, PromptedAt: now}
	for domain, held := range map[string]bool{
		"linux:" + string(machine[:max(0, len(machine)-1)]) + ":pid:[2]": true,
		"linux:of-another-machine:pid:[1]":                               true,
		"linux:" + string(machine[:max(0, len(machine)-1)]) + ":pid:[1]": false,
		"linux:" + string(machine[:max(0, len(machine)-1)]) + ":":        false,
		"linux": false,
	} {
		register(t, a.Homes.Roots[0], "7.json", registered(7, sessionA, "900", fmt.Sprintf(`,"pidDomain":%q,"updatedAt":%d`, domain, now.UnixMilli())))
		_, err := a.Owner(t.Context(), session)
		require.Equal(t, held, err != nil, "%s: %v", domain, err)
		if held {
			require.ErrorIs(t, err, agent.ErrUnseen)
			require.ErrorContains(t, err, "remove "+filepath.Join(a.Homes.Roots[0], "sessions", "7.json"))
			require.Equal(t, strings.Contains(domain, "another"), strings.Contains(err.Error(), "machine-id begins with of-anoth)"), err)
		}
	}
	register(t, a.Homes.Roots[0], "7.json", registered(7, sessionA, "900", fmt.Sprintf(`,"pidDomain":"linux:other:pid:[2]","updatedAt":%d`, now.Add(-time.Hour).UnixMilli())))
	_, err := a.Owner(t.Context(), session)
	require.NoError(t, err, "somebody else took the last prompt")
	register(t, a.Homes.Roots[0], "7.json", registered(7, sessionA, "900", `,"pidDomain":"linux:other:pid:[2]","startedAt":1`))
	_, err = a.Owner(t.Context(), session)
	require.ErrorIs(t, err, agent.ErrUnseen, "it does not say when it took which prompt")

	session.Origin = &resume.Origin{Process: resume.Process{PID: 7, Start: 900}, Boot: procfs.Boot()}
	_, err = a.Owner(t.Context(), session)
	require.ErrorIs(t, err, agent.ErrUnseen)
	session.Origin.Boot = "an earlier one"
	_, err = a.Owner(t.Context(), session)
	require.NoError(t, err, "it was seen here, before a restart of the machine")
	session.Origin.Process.Start = 901
	_, err = a.Owner(t.Context(), session)
	require.ErrorIs(t, err, agent.ErrUnseen, "another process was seen here")
}

// A process says in the registry what it asks its user for, and which session it holds since /clear.
func TestWhatAProcessSaysOfItsUser(t *testing.T) {
	a := newHome(t)
	a.Processes = fakeProc(t, procDir{PID: 7, Argv: []string{"claude"}, Start: "900"})
	root := a.Homes.Roots[0]
	dir := filepath.Join(root, "projects", "p")
	require.NoError(t, os.MkdirAll(dir, 0o700))
	session := resume.Session{
		Key: resume.Key{Agent: "claude-code", ID: sessionA}, Transcript: filepath.Join(dir, sessionA+".jsonl"), LimitedAt: time.Now(),
		Origin: &resume.Origin{Process: resume.Process{PID: 7}},
	}
	call := `{"type":"assistant","message":{"model":"m","content":[{"type":"tool_use","id":"a","name":"Bash","input":{"command":"make"}}]}}` + "\n"
	require.NoError(t, os.WriteFile(session.Transcript, []byte(call), 0o600))
	for status, want := range map[string]string{
		`"busy"`: "", `"waiting","waitingFor":"dialog open"`: "",
		`"waiting","waitingFor":"permission prompt"`: "permission: Bash (make)",
		`"waiting","waitingFor":"input needed"`:      "an answer to its question",
	} {
		register(t, root, "7.json", fmt.Sprintf(`{"pid":7,"sessionId":%q,"procStart":"900","startedAt":1,"status":%s}`, sessionA, status))
		working, what, err := a.PendingQuestion(t.Context(), session)
		require.NoError(t, err)
		require.NotNil(t, working, status)
		require.Equal(t, want, what, status)
	}
	register(t, root, "7.json", fmt.Sprintf(`{"pid":7,"sessionId":%q,"procStart":"900","startedAt":1,"status":"idle"}`, sessionA))
	working, _, err := a.PendingQuestion(t.Context(), session)
	require.NoError(t, err)
	require.Nil(t, working, "its turn is over")
	require.False(t, a.UserLeft(t.Context(), session), "it holds the session")

	const other = "0b6b1a62-1f8e-4a3b-9d5b-0a6de1f3c0ff"
	register(t, root, "7.json", fmt.Sprintf(`{"pid":7,"sessionId":%q,"procStart":"900","startedAt":1,"status":"idle"}`, other))
	require.False(t, a.UserLeft(t.Context(), session), "it holds another one, as after /resume")
	cleared := `{"type":"user","message":{"role":"user","content":"<command-name>/clear</command-name>"}}` + "\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, other+".jsonl"), []byte(cleared), 0o600))
	require.True(t, a.UserLeft(t.Context(), session))
	session.Origin.Process.PID = 8
	require.False(t, a.UserLeft(t.Context(), session), "another process held it")
}
