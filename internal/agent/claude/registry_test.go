package claude

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/resume"
)

// A Claude Code in a namespace of its own registers the number that it has there.
func TestAProcessInANamespaceOfItsOwnIsFound(t *testing.T) {
	a := newAgent(t, Options{Roots: []string{t.TempDir()}})
	a.Processes = fakeProc(t, procDir{pid: 7, argv: []string{"sh"}, start: "500"}, procDir{pid: 4711, argv: []string{"claude"}, start: "900"})
	status := filepath.Join(string(a.Processes.FS), "4711", "status")
	require.NoError(t, os.WriteFile(status, []byte("Name:\tclaude\nNSpid:\t4711\t7\n"), 0o600))
	register(t, a, "7.json", registered(7, sessionA, "900", ""))
	owner, err := a.Owner(t.Context(), resume.Session{Key: resume.Key{Agent: Name, ID: sessionA}})
	require.NoError(t, err)
	require.Equal(t, 4711, owner.PID)
	e, _ := a.entry(filepath.Join(a.Homes.Roots[0], "sessions"), 7)
	require.NotEqual(t, "gone", a.status(e), "it is asked by the number that it registered")

	register(t, a, "7.json", registered(7, sessionA, "901", ""))
	owner, err = a.Owner(t.Context(), resume.Session{Key: resume.Key{Agent: Name, ID: sessionA}})
	require.NoError(t, err)
	require.Nil(t, owner, "another process, which is gone")
}

func TestWhatAnotherMachineRegisteredIsHeld(t *testing.T) {
	now := time.Now()
	a := newAgent(t, Options{Roots: []string{t.TempDir()}})
	a.Processes = fakeProc(t, procDir{pid: os.Getpid(), argv: []string{"x"}, start: "1"})
	ns := filepath.Join(string(a.Processes.FS), fmt.Sprint(os.Getpid()), "ns")
	require.NoError(t, os.Mkdir(ns, 0o700))
	require.NoError(t, os.Symlink("pid:[1]", filepath.Join(ns, "pid")))
	machine, _ := os.ReadFile("/etc/machine-id")
	session := resume.Session{Key: resume.Key{Agent: Name, ID: sessionA}, PromptedAt: now}
	for domain, held := range map[string]bool{
		"linux:" + string(machine[:max(0, len(machine)-1)]) + ":pid:[2]": true,
		"linux:of-another-machine:pid:[1]":                               true,
		"linux:" + string(machine[:max(0, len(machine)-1)]) + ":pid:[1]": false,
		"linux:" + string(machine[:max(0, len(machine)-1)]) + ":":        false,
		"linux": false,
	} {
		register(t, a, "7.json", registered(7, sessionA, "900", fmt.Sprintf(`,"pidDomain":%q,"updatedAt":%d`, domain, now.UnixMilli())))
		_, err := a.Owner(t.Context(), session)
		require.Equal(t, held, err != nil, "%s: %v", domain, err)
		if held {
			require.ErrorIs(t, err, agent.ErrUnseen)
			require.ErrorContains(t, err, "remove "+filepath.Join(a.Homes.Roots[0], "sessions", "7.json"))
			require.Equal(t, strings.Contains(domain, "another"), strings.Contains(err.Error(), "machine-id begins with of-anoth)"), err)
		}
	}
	register(t, a, "7.json", registered(7, sessionA, "900", fmt.Sprintf(`,"pidDomain":"linux:other:pid:[2]","updatedAt":%d`, now.Add(-time.Hour).UnixMilli())))
	_, err := a.Owner(t.Context(), session)
	require.NoError(t, err, "somebody else took the last prompt")
	register(t, a, "7.json", registered(7, sessionA, "900", `,"pidDomain":"linux:other:pid:[2]","startedAt":1`))
	_, err = a.Owner(t.Context(), session)
	require.ErrorIs(t, err, agent.ErrUnseen, "it does not say when it took which prompt")
}

func TestWhoIsSignedIn(t *testing.T) {
	home := t.TempDir()
	signIn := func(id string) {
		require.NoError(t, os.WriteFile(filepath.Join(home, ".claude.json"), []byte(`{"oauthAccount":{"accountUuid":"`+id+`","organizationUuid":"o"}}`), 0o600))
	}
	a := newAgent(t, Options{Roots: []string{home}})
	environ := []string{"HOME=" + home}
	require.Empty(t, a.Login(environ, "salt"), "nobody")
	signIn("me")
	me := a.Login(environ, "salt")
	require.NotEmpty(t, me)
	require.NotContains(t, me, "me")
	require.Equal(t, me, a.Login([]string{"CLAUDE_CONFIG_DIR=" + home}, "salt"))
	require.Empty(t, a.Login(append(environ, "ANTHROPIC_API_KEY=sk-1"), "salt"), "a key decides")
	signIn("somebody-else")
	require.NotEqual(t, me, a.Login(environ, "salt"))
}

// The same account is known on every machine, by who is signed in or by a key, and an account of
// another home is another one.
func TestWhoseAllowanceASessionUses(t *testing.T) {
	usual, other := t.TempDir(), t.TempDir()
	for home, id := range map[string]string{usual: "me", other: "work"} {
		require.NoError(t, os.WriteFile(filepath.Join(home, ".claude.json"), []byte(`{"oauthAccount":{"accountUuid":"`+id+`","organizationUuid":"o"}}`), 0o600))
	}
	t.Setenv("HOME", usual)
	a := newAgent(t, Options{Roots: []string{filepath.Join(usual, ".claude"), other}})
	at := func(root string) resume.Session {
		return resume.Session{Key: resume.Key{Agent: Name, ID: sessionA}, Transcript: filepath.Join(root, "projects", "x", sessionA+".jsonl")}
	}
	environ := []string{"HOME=" + usual}
	mine, work := a.Identity(at(filepath.Join(usual, ".claude")), environ), a.Identity(at(other), environ)
	require.NotEmpty(t, mine)
	require.NotEmpty(t, work)
	require.NotEqual(t, mine, work)
	key := append(environ, "ANTHROPIC_API_KEY=sk-1")
	require.NotEqual(t, mine, a.Identity(at(filepath.Join(usual, ".claude")), key))
	require.Equal(t, a.Identity(at(other), key), a.Identity(at(filepath.Join(usual, ".claude")), key), "a key decides, whoever is signed in")
	require.Empty(t, a.Identity(at(filepath.Join(usual, ".claude")), append(environ, "CLAUDE_CODE_USE_BEDROCK=1")), "nobody knows")
	seen := at(filepath.Join(usual, ".claude"))
	seen.Origin = &resume.Origin{EnvSeen: true, Salt: "salt", Login: "of somebody else"}
	require.Empty(t, a.Identity(seen, environ), "it ran in another's name")
}
