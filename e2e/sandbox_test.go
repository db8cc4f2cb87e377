package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/control"
)

// sandboxes are those of the agents, with each setting of theirs that concerns sockets.
var sandboxes = []struct {
	name      string
	kit       kit
	argv      []string
	reaches   bool // the daemon's socket
	unlimited bool // it is none
}{
	{"codex read-only", codex("0.169.0"), []string{"codex", "sandbox", "-c", `sandbox_mode="read-only"`}, false, false},
	{"codex workspace-write", codex("0.169.0"), []string{"codex", "sandbox", "-c", `sandbox_mode="workspace-write"`}, false, false},
	{"codex workspace-write with the network", codex("0.169.0"), []string{"codex", "sandbox", "-c", `sandbox_mode="workspace-write"`, "-c", "sandbox_workspace_write.network_access=true"}, true, false},
	{"codex danger-full-access", codex("0.169.0"), []string{"codex", "sandbox", "-c", `sandbox_mode="danger-full-access"`}, true, true},
	{"sandbox-runtime", sandboxRuntime, []string{"srt", "--settings", "default.json"}, false, false},
	{"sandbox-runtime with allowAllUnixSockets", sandboxRuntime, []string{"srt", "--settings", "sockets.json"}, true, false},
}

// sandboxRuntime is the sandbox of Claude Code as a program of its own.
var sandboxRuntime = kit{agent: "claude-code", version: "0.0.83", npm: "@anthropic-ai/sandbox-runtime", program: "srt"}

const runtimeSettings = `{"network":{"allowedDomains":[],"deniedDomains":[],"allowAllUnixSockets":SOCKETS},"filesystem":{"denyRead":[],"allowWrite":["."],"denyWrite":[]}}`

// In the real sandboxes of agents, whatever their settings, no order gets a command out.
func TestNoSandboxOfAnAgentOrders(t *testing.T) {
	for _, name := range []string{"bwrap", "socat", "rg"} { // what sandbox-runtime needs
		if _, err := exec.LookPath(name); err != nil {
			t.Fatalf("%s is not installed", name)
		}
	}
	home, err := os.MkdirTemp(cache(t), "home-") //nolint:usetesting // sandboxes may write below the directory for temporary files
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	work := filepath.Join(home, "src")
	for name, text := range map[string]string{
		"bin/claude":                   "#!/bin/sh\n",
		"src/default.json":             strings.ReplaceAll(runtimeSettings, "SOCKETS", "false"),
		"src/sockets.json":             strings.ReplaceAll(runtimeSettings, "SOCKETS", "true"),
		".config/resumed/resumed.toml": "[http]\nlisten = \"127.0.0.1:0\"\n",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(home, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(home, name), []byte(text), 0o700))
	}
	env := []string{
		"HOME=" + home, "CODEX_HOME=" + filepath.Join(home, ".codex"), "XDG_RUNTIME_DIR=" + filepath.Join(home, "run"),
		"PATH=" + filepath.Join(home, "bin") + ":" + filepath.Dir(daemon) + ":" + os.Getenv("PATH"),
	}
	require.NoError(t, os.Mkdir(filepath.Join(home, ".codex"), 0o700))
	d := exec.Command(daemon, "run")
	var log lockedBuffer
	d.Env, d.Dir, d.Stderr = env, home, &log
	require.NoError(t, d.Start())
	t.Cleanup(func() {
		_ = d.Process.Signal(syscall.SIGTERM)
		_ = d.Wait()
		if t.Failed() {
			t.Log(log.String())
		}
	})
	client := control.NewClient(filepath.Join(home, "run/resumed"))
	for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		if _, err = client.Status(t.Context(), false); err == nil {
			break
		}
		require.Less(t, time.Since(began), patience, "the daemon answers")
	}

	for _, s := range sandboxes {
		if !wanted(s.kit.agent) {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			bin, _ := install(t, s.kit)
			inside := func(args ...string) (string, int) {
				cmd := exec.CommandContext(t.Context(), filepath.Join(bin, s.argv[0]), append(s.argv[1:len(s.argv):len(s.argv)], args...)...)
				cmd.Env, cmd.Dir = env, work
				out, _ := cmd.CombinedOutput() // its exit code tells
				return string(out), cmd.ProcessState.ExitCode()
			}
			out, code := inside("touch", filepath.Join(home, "outside"))
			require.Equal(t, s.unlimited, code == 0, "it is the sandbox that it is taken for: %s", out)
			out, code = inside("resumed", "status")
			require.Equal(t, s.reaches, code == 0, "what SECURITY.md says of its socket: %s", out)
			for _, order := range []string{
				"queue add --agent claude-code --mode bypassPermissions -- work", "queue add --agent claude-code -- work", "pause", "open --print", "open --new-key",
			} {
				out, code := inside(append([]string{"resumed"}, strings.Fields(order)...)...)
				require.NotZero(t, code, "%s: %s", order, out)
				require.Contains(t, out, "in a terminal of your own", order)
			}
		})
	}
	status, err := client.Status(t.Context(), false)
	require.NoError(t, err)
	require.False(t, status.Daemon.Paused)
	tasks, err := client.Tasks(t.Context())
	require.NoError(t, err)
	require.Empty(t, tasks)
}
