package gemini

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/process"
	"resumed/internal/procfs"
	"resumed/internal/resume"
)

const stubName = "session-2026-11-15T00-42-1f5b6930.jsonl"

// fakeProc is a /proc with one process of gemini.
func fakeProc(t *testing.T, cwd string, env string, argv ...string) process.Table {
	root := t.TempDir()
	dir := filepath.Join(root, "42")
	require.NoError(t, os.Mkdir(dir, 0o700))
	var cmdline []byte
	for _, arg := range argv {
		cmdline = append(append(cmdline, arg...), 0)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "cmdline"), cmdline, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "environ"), []byte(env+"\x00"), 0o600))
	require.NoError(t, os.Symlink(cwd, filepath.Join(dir, "cwd")))
	return process.At(procfs.FS(root))
}

func TestTheStubOfAResumeGoesAndNothingElse(t *testing.T) {
	const other = "1f5b6930-0000-4000-8000-000000000000" // the same 8 digits
	for rule, c := range map[string]struct {
		name  string
		lines []any
		goes  bool
	}{
		"a stub":                        {stubName, []any{header(sessionA), set(preamble())}, true},
		"a stub of two resumes":         {stubName, []any{header(sessionA), set(preamble()), header(sessionA), set(preamble()), object{"$set": object{"sessionId": sessionA}}}, true},
		"a prompt in it":                {stubName, []any{header(sessionA), set(preamble()), asked("u", "go", 0)}, false},
		"a prompt in its list":          {stubName, []any{header(sessionA), set(preamble(), asked("u", "go", 0))}, false},
		"a prompt after the preamble":   {stubName, []any{header(sessionA), set(asked("u", "<session_context>\n</session_context>\ngo", 0))}, false},
		"a prompt beside the preamble":  {stubName, []any{header(sessionA), set(said("u", "user", []object{{"text": "<session_context></session_context>"}, {"text": "go"}}, 0))}, false},
		"an answer in it":               {stubName, []any{header(sessionA), answered("g", 0)}, false},
		"a summary in it":               {stubName, []any{header(sessionA), set(preamble()), object{"$set": object{"summary": "x"}}}, false},
		"a record nobody knows":         {stubName, []any{header(sessionA), object{"$new": 1}}, false},
		"no header":                     {stubName, []any{set(preamble())}, false},
		"nothing":                       {stubName, nil, false},
		"another session":               {stubName, []any{header(other), set(preamble())}, false},
		"another name":                  {"session-2026-11-15T00-42-c23690e7.jsonl", []any{header(sessionA), set(preamble())}, false},
		"a name that is none of a chat": {"notes-1f5b6930.jsonl", []any{header(sessionA), set(preamble())}, false},
	} {
		t.Run(rule, func(t *testing.T) {
			sc := newScene(t, stopped()...)
			path := filepath.Join(filepath.Dir(sc.session.Transcript), c.name)
			write(t, path, c.lines...)
			require.NoError(t, sc.agent.Tidy(t.Context(), sc.session))
			require.FileExists(t, sc.session.Transcript)
			if c.goes {
				require.NoFileExists(t, path)
			} else {
				require.FileExists(t, path)
			}
		})
	}
}

func TestAStubStaysWhereItIsAllThereIsOrSomebodyLives(t *testing.T) {
	stub := []any{header(sessionA), set(preamble())}
	t.Run("the chat is gone", func(t *testing.T) {
		sc := newScene(t, stopped()...)
		path := filepath.Join(filepath.Dir(sc.session.Transcript), stubName)
		write(t, path, stub...)
		require.NoError(t, os.Remove(sc.session.Transcript))
		require.NoError(t, sc.agent.Tidy(t.Context(), sc.session))
		require.FileExists(t, path)
	})
	t.Run("the chat itself holds nothing", func(t *testing.T) {
		sc := newScene(t)
		path := filepath.Join(filepath.Dir(sc.session.Transcript), stubName)
		write(t, path, stub...)
		require.NoError(t, sc.agent.Tidy(t.Context(), sc.session))
		require.FileExists(t, path)
		require.FileExists(t, sc.session.Transcript)
	})
	t.Run("a torn line", func(t *testing.T) {
		sc := newScene(t, stopped()...)
		path := filepath.Join(filepath.Dir(sc.session.Transcript), stubName)
		write(t, path, stub...)
		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		require.NoError(t, err)
		_, err = f.WriteString(`{"id":"u","type":"us`)
		require.NoError(t, err)
		require.NoError(t, f.Close())
		require.NoError(t, sc.agent.Tidy(t.Context(), sc.session))
		require.FileExists(t, path)
	})
	t.Run("a person's gemini lives there", func(t *testing.T) {
		sc := newScene(t, stopped()...)
		path := filepath.Join(filepath.Dir(sc.session.Transcript), stubName)
		write(t, path, stub...)
		sc.agent.Processes = fakeProc(t, sc.cwd, "A=1", "node", "/usr/bin/gemini")
		require.NoError(t, sc.agent.Tidy(t.Context(), sc.session))
		require.FileExists(t, path)
		sc.agent.Processes = fakeProc(t, sc.cwd, agent.MarkVariable+"=m1", "node", "/usr/bin/gemini", "-p", "continue")
		require.NoError(t, sc.agent.Tidy(t.Context(), sc.session))
		require.NoFileExists(t, path, "it is ours")
	})
}

func TestWhoHoldsASession(t *testing.T) {
	for rule, c := range map[string]struct {
		argv []string
		cwd  string // "": the project's root
		env  string
		kind string // "": none
	}{
		"whoever lives in the project":           {[]string{"node", "/usr/local/bin/gemini"}, "", "", "interactive"},
		"the child that gemini starts of itself": {[]string{"/usr/bin/node", "--max-old-space-size=12052", "/n/bin/gemini", "-m", "x"}, "", "", "interactive"},
		"the bundle":                             {[]string{"node", "/n/lib/node_modules/@google/gemini-cli/bundle/gemini.js", "-p", "hi"}, "", "", "headless"},
		"an older build":                         {[]string{"node", "/n/lib/node_modules/@google/gemini-cli/dist/index.js"}, "", "", "interactive"},
		"a prompt that starts a dialogue":        {[]string{"node", "/n/bin/gemini", "-i", "hi"}, "", "", "interactive"},
		"one that names the session":             {[]string{"node", "/n/bin/gemini", "--resume", sessionA, "--prompt=x"}, "/elsewhere", "", "headless"},
		"one that names it otherwise":            {[]string{"node", "/n/bin/gemini", "--session-id=" + sessionA}, "/elsewhere", "", "interactive"},
		"one elsewhere":                          {[]string{"node", "/n/bin/gemini"}, "/elsewhere", "", ""},
		"our own run":                            {[]string{"node", "/n/bin/gemini", "--resume", sessionA, "-p", "x"}, "", agent.MarkVariable + "=m1", ""},
		"our run of another session":             {[]string{"node", "/n/bin/gemini", "--resume", "another", "-p", "x"}, "", agent.MarkVariable + "=m2", ""},
		"a run that another daemon left behind":  {[]string{"node", "/n/bin/gemini", "--resume", sessionA, "-p", "x"}, "", agent.MarkVariable + "=m2", "headless"},
		"a terminal that a resumed run opened":   {[]string{"node", "/n/bin/gemini"}, "", agent.MarkVariable + "=m2", "interactive"},
		"another program":                        {[]string{"node", "/src/server.js", "gemini"}, "", "", ""},
		"an editor":                              {[]string{"vim", "gemini.js"}, "", "", ""},
	} {
		t.Run(rule, func(t *testing.T) {
			sc := newScene(t, stopped()...)
			if c.cwd == "" {
				c.cwd = sc.cwd
			}
			sc.agent.Processes = fakeProc(t, c.cwd, c.env, c.argv...)
			sc.session.Run = &resume.Run{Mark: "m1"}
			owner, err := sc.agent.Owner(t.Context(), sc.session)
			require.NoError(t, err)
			if c.kind == "" {
				require.Nil(t, owner)
				return
			}
			require.NotNil(t, owner)
			require.Equal(t, 42, owner.PID)
			require.Equal(t, c.kind, owner.Kind)
		})
	}
}

// The start of a second run could delete the chat of the first.
func TestOneResumedRunAProject(t *testing.T) {
	sc := newScene(t, stopped()...)
	sc.agent.Processes = fakeProc(t, sc.cwd, agent.MarkVariable+"=m1", "node", "/usr/bin/gemini", "--resume", "another")
	leave := sc.plan(t, "continue").Skip
	require.NotNil(t, leave)
	require.Contains(t, leave.Why, "another resumed session works in "+sc.cwd)
	require.False(t, leave.Park)
}
