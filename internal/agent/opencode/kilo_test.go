package opencode

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/agent/opencode/processes"
	"resumed/internal/agenttest"
	"resumed/internal/process"
	"resumed/internal/procfs"
	"resumed/internal/resume"
)

func newKilo(t testing.TB, o agent.Options) *Agent {
	o.Zone, o.Grace = time.UTC, 2*time.Hour
	a, err := kilo.make(o)
	require.NoError(t, err)
	a.Processes = process.At(procfs.FS(t.TempDir()))
	return a
}

func TestEveryCapturedSessionOfKiloIsUnderstood(t *testing.T) {
	t.Parallel()
	n := 0
	for _, c := range agenttest.Cases[captured](t) {
		if !strings.HasPrefix(c.File, "kilo/") {
			continue
		}
		n++
		t.Run(c.Case, func(t *testing.T) {
			a := newKilo(t, agent.Options{Roots: []string{t.TempDir()}})
			s := newStore(t, a.homes.Roots[0])
			s.add(loadRows(t, c.File))
			found, err := a.Evidence(s.path)
			require.NoError(t, err)
			require.Len(t, found, 1)
			require.Equal(t, resume.Key{Agent: "kilo", ID: c.Session}, found[0].Key)
			require.Equal(t, c.Cwd, found[0].Cwd)
			if c.shows() {
				requireMeaning(t, c, found[0].Event)
			} else {
				require.IsType(t, resume.Cancelled{}, found[0].Event, "the retry that it waited in is in no row")
			}
		})
	}
	require.Positive(t, n)
}

// Everything of Kilo has its own name, and nothing of opencode is mistaken for it.
func TestKiloHasPlacesOfItsOwn(t *testing.T) {
	t.Setenv("HOME", "/home/u")
	t.Setenv("XDG_DATA_HOME", "")
	t.Setenv("OPENCODE_DB", "/x/opencode.db")
	t.Setenv("KILO_DB", "")
	a := newKilo(t, agent.Options{})
	require.Equal(t, []string{"/home/u/.local/share/kilo"}, a.homes.Roots)
	require.Equal(t, "kilo:default", a.Home())
	t.Setenv("KILO_DB", "/x/y.db")
	named := newKilo(t, agent.Options{})
	require.Equal(t, []string{"/x"}, named.homes.Roots)
	require.Equal(t, "kilo:default", named.Home())
	require.True(t, named.watches("/x/y.db"))

	for name, want := range map[string]bool{"kilo.db": true, "kilo-dev.db": true, "kilo.db-wal": false, "opencode.db": false} {
		require.Equal(t, want, a.HasDatabase("/x/"+name), name)
	}
	for path, want := range map[string]bool{"/usr/bin/kilo": true, "/n/@kilocode/cli/bin/.kilo": true, "/usr/bin/kilocode": true, "/usr/bin/opencode": false} {
		require.Equal(t, want, a.brand.isProgram(path), path)
	}
	require.Contains(t, Kilo.Plugin.Install, "~/.config/kilo/plugin/")
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	require.Empty(t, Kilo.Plugin.Version())
	config := filepath.Join(os.Getenv("XDG_CONFIG_HOME"), "kilo", "kilo.json")
	require.NoError(t, os.MkdirAll(filepath.Dir(config), 0o700))
	plugin, err := filepath.Abs("../../../plugins/opencode/resumed.js")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(config, []byte(`{"plugin": ["file://`+plugin+`"]}`), 0o600))
	require.NotEmpty(t, Kilo.Plugin.Version())
	require.Equal(t, []string{"KILO_DB"}, Kilo.Variables)
}

// newStoppedKilo is a session of Kilo stopped by a limit, with a program to continue it.
func newStoppedKilo(t *testing.T) *stopped {
	s := newStopped(t)
	t.Setenv("KILO_DB", "")
	s.program = filepath.Join(filepath.Dir(s.program), "kilo")
	require.NoError(t, os.WriteFile(s.program, []byte("#!/bin/sh\n"), 0o700))
	s.agent = newKilo(t, agent.Options{})
	require.NoError(t, os.MkdirAll(s.agent.homes.Roots[0], 0o700))
	moved := filepath.Join(s.agent.homes.Roots[0], "kilo.db")
	for _, more := range []string{"", "-wal", "-shm"} {
		require.NoError(t, os.Rename(s.path+more, moved+more))
	}
	s.session.Key.Agent, s.session.Transcript = KiloName, moved
	return s
}

func TestASessionOfKiloIsContinuedByKilo(t *testing.T) {
	s := newStoppedKilo(t)
	require.Equal(t, agent.Plan{Run: &agent.Command{
		Argv:  []string{s.program, "run", "--session", "ses_1", "--format", "json", "continue"},
		Dir:   s.dir,
		Files: []string{s.program},
	}}, s.plan("continue"))

	elsewhere := filepath.Join(t.TempDir(), "kilo.db")
	require.NoError(t, os.Rename(s.session.Transcript, elsewhere))
	require.NoError(t, os.Rename(s.session.Transcript+"-wal", elsewhere+"-wal"))
	s.session.Transcript = elsewhere
	require.Equal(t, []string{"KILO_DB=" + elsewhere}, s.plan("continue").Run.Env)
}

func TestAResumeOfKiloLacksNoRestrictionAndHasNoGrantOfItsOwn(t *testing.T) {
	s := newStoppedKilo(t)
	agenttest.Leash(t, processes.Flags, nil, func(_ *testing.T, o resume.Origin) []string {
		s.began(o)
		return s.argv()
	})
	s.began(resume.Origin{ArgsSeen: true, Args: []string{"run", "--auto", "--worktree", "w", "--cloud-fork", "-s", "ses_9", "fix"}})
	require.Equal(t, "run --session ses_1 --format json --auto continue", strings.Join(s.argv(), " "))
	for name, want := range map[string]bool{
		"KILO_PERMISSION": true, "KILO_CONFIG_CONTENT": true, "KILO_API_KEY": true, "KILO_ORG_ID": true, "ANTHROPIC_API_KEY": true,
		"KILO_TREE_SITTER_WASM_DIR": false, "KILO_PID": false, "KILO_SERVER_PASSWORD": false,
		"OPENCODE_PERMISSION": false, // Kilo does not read it
	} {
		require.Equal(t, want, s.agent.Variables().Has(name), name)
	}
}

func TestWhoMayHoldASessionOfKilo(t *testing.T) {
	t.Parallel()
	const dir, db = "/src/app", "/home/u/.local/share/kilo/kilo.db"
	for rule, c := range map[string]struct {
		argv []string
		want bool
	}{
		"its program":              {[]string{"/n/@kilocode/cli/bin/.kilo"}, true},
		"its launcher":             {[]string{"node", "/n/.bin/kilo", "run", "hi"}, true},
		"its server":               {[]string{"kilo", "serve", "--port", "1"}, true},
		"who only manages that":    {[]string{"kilo", "daemon", "status"}, false},
		"opencode in the same dir": {[]string{"opencode"}, false},
	} {
		a := newKilo(t, agent.Options{Roots: []string{filepath.Dir(db)}})
		a.Processes = fakeProc(t, procDir{pid: 7, argv: c.argv, cwd: dir, open: []string{db}})
		owner, err := a.Owner(t.Context(), resume.Session{Key: resume.Key{Agent: KiloName, ID: "ses_1"}, Cwd: dir, Transcript: db})
		require.NoError(t, err)
		require.Equal(t, c.want, owner != nil, rule)
	}
}

// Kilo deletes the failed message when a session continues: the rows are read again.
func TestASessionOfKiloMovesThoughItsFailureIsTakenAway(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	s := newStore(t, root)
	require.NoError(t, os.Rename(s.path, filepath.Join(root, "gone.db")))
	s.path = filepath.Join(root, "kilo.db")
	s.open()
	s.exec(schema)
	now := time.Now().Add(-time.Minute)
	s.session("ses_1", "/src/app", now)
	s.user("msg_1", "ses_1", now)
	s.assistant("msg_2", "ses_1", now.Add(time.Second), refused(5))
	w := follow(t, newKilo(t, agent.Options{Roots: []string{root}}), nil)
	s.exec("DELETE FROM message WHERE id = 'msg_2'")
	s.user("msg_3", "ses_1", now.Add(10*time.Second))
	s.assistant("msg_4", "ses_1", now.Add(11*time.Second), finished)
	until[resume.Progressed](w, "ses_1")
}
