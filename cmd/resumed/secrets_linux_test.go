package main

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/control"
	"resumed/internal/resume"
)

// Secrets in a person's command line and environment.
const (
	secretInFlag = "tok-in-settings-0001"
	secretInJSON = "tok-in-a-header-0002"
	secretKey    = "sk-ant-REDACTED"
	secretPass   = "password-of-a-proxy-04"
	plansInFlag  = "plans-in-a-system-prompt-05"
)

func secretFlags() []string {
	return []string{
		"--settings", `{"env":{"ANTHROPIC_AUTH_TOKEN":"` + secretInFlag + `"}}`,
		"--mcp-config", `{"mcpServers":{"x":{"type":"http","url":"http://x","headers":{"Authorization":"Bearer ` + secretInJSON + `"}}}}`,
		"--max-turns", "3", "--append-system-prompt", plansInFlag, "--ide",
	}
}

func secretVariables() []string {
	return []string{"ANTHROPIC_API_KEY=" + secretKey, "HTTPS_PROXY=http://me:" + secretPass + "@proxy:1"}
}

// leaks collects all output of the daemon.
type leaks struct {
	mu   sync.Mutex
	text strings.Builder // guarded by mu
}

func (t *leaks) add(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text.WriteString(text)
}

func (t *leaks) all() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.String()
}

func TestSecretsOfASessionReachNobody(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config string // of [resume]
		flags  bool   // there are secrets among them
		state  resume.State
		keeps  bool // in its database
	}{
		"of its environment":       {"", false, resume.GaveUp, false},
		"of its command line":      {"", true, resume.Parked, false},
		"also where they are kept": {"keep_env = \"secrets\"\n", true, resume.GaveUp, true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newLeashBox(t)
			b.write(configFile, strings.ReplaceAll(leashConfig, "[resume]\n", "max_retries = 1\n[resume]\nsettle = \"100ms\"\n"+c.config)+
				"[log]\nlevel = \"debug\"\n[notify]\ngroup_wait = \"0s\"\nevents = [\"limited\", \"retrying\", \"gave_up\", \"parked\", \"recovered\"]\n"+
				"[[notify.command]]\nname = \"script\"\nrun = [\"sh\", \"-c\", \"cat >> \\\"$HOME/notices\\\"\"]\n")
			b.write("fails", "")
			if !c.keeps {
				b.vars = secretVariables() // the daemon has the same ones
			}
			b.start()
			seen := &leaks{}
			go func() {
				_ = b.daemon.Watch(t.Context(), true, func(u control.Update) error {
					line, err := json.Marshal(u)
					seen.add(string(line))
					return err
				})
			}()
			argv := []string{"claude", "--max-turns", "3", "--append-system-prompt", plansInFlag, "--ide"}
			if c.flags {
				argv = append([]string{"claude"}, secretFlags()...)
			}
			b.register(b.hold(secretVariables(), append(argv, "--", "and my plans")...))
			b.prompted()
			b.untilSeen("--max-turns")
			b.release()
			b.stopped()
			b.untilState(claudeSession, c.state)
			b.until("people are told", func() bool {
				return strings.Contains(b.read("notices"), `"event":"`+c.state.String()+`"`)
			})
			for _, args := range [][]string{
				{"status"},
				{"status", "--json"},
				{"status", claudeSession},
				{"status", "--json", claudeSession},
				{"history"},
				{"history", "--json"},
				{"logs", claudeSession},
				{"explain", b.path(claudeTranscript)},
				{"explain", "--json", b.path(claudeTranscript)},
				{"doctor"},
			} {
				out, errOut, _ := b.run(args...)
				seen.add(out + errOut)
			}
			require.Contains(t, seen.all(), "--max-turns")
			everything := seen.all() + b.logged() + b.read("notices")
			for _, secret := range []string{secretInFlag, secretInJSON, secretKey, secretPass, "and my plans"} {
				require.NotContains(t, everything, secret)
			}
			require.NotContains(t, b.read("notices")+b.logged(), plansInFlag, "a system prompt is nobody's business either")
			b.checkFiles(c.keeps)
		})
	}
}

// checkFiles checks all files that the daemon stores.
func (b *leashBox) checkFiles(kept bool) {
	b.t.Helper()
	found := false
	state := b.path(".local/state/resumed")
	require.NoError(b.t, filepath.WalkDir(state, func(path string, entry fs.DirEntry, err error) error {
		require.NoError(b.t, err)
		info, err := entry.Info()
		require.NoError(b.t, err)
		if filepath.Ext(path) != ".exit" { // how a command ended is not secret, and its directory is private
			require.Zero(b.t, info.Mode().Perm()&0o077, "%s is its owner's alone", path)
		}
		if !info.Mode().IsRegular() {
			return nil
		}
		data, err := os.ReadFile(path)
		require.NoError(b.t, err)
		for _, secret := range []string{secretInFlag, secretInJSON, secretKey, secretPass} {
			has := strings.Contains(string(data), secret)
			found = found || has
			require.False(b.t, has && !(kept && strings.HasPrefix(entry.Name(), "resumed.db")), "%s has %s", path, secret)
		}
		require.NotContains(b.t, string(data), "and my plans", path)
		return nil
	}))
	require.Equal(b.t, kept, found, "they are kept where that is wanted")
}
