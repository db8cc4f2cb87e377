package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"resumed/internal/doctor"

	"github.com/stretchr/testify/require"
)

// examined returns the doctor's JSON output: the worst check of each name.
func (b *box) examined() (map[string]doctor.Check, int) {
	b.t.Helper()
	out, errOut, code := b.run("doctor", "--json")
	require.Empty(b.t, errOut)
	var said struct {
		Version int
		OK      bool
		Checks  []doctor.Check
	}
	require.NoError(b.t, json.Unmarshal([]byte(out), &said), out)
	require.Equal(b.t, 1, said.Version)
	require.Equal(b.t, code == exitDone, said.OK)
	rank := map[doctor.Verdict]int{doctor.OK: 1, doctor.Warn: 2, doctor.Fail: 3}
	worst := make(map[string]doctor.Check)
	for _, c := range said.Checks {
		require.Contains(b.t, rank, c.Status)
		require.NotEmpty(b.t, c.Text)
		if rank[c.Status] > rank[worst[c.Name].Status] {
			worst[c.Name] = c
		}
	}
	return worst, code
}

func TestDoctorOnAFreshMachineWarnsAndDoesNotFail(t *testing.T) {
	b := newBox(t)
	said, code := b.examined()
	require.Zero(t, code, said)
	require.Equal(t, doctor.OK, said["config"].Status)
	require.Equal(t, doctor.OK, said["state"].Status)
	require.Equal(t, doctor.Warn, said["daemon"].Status)
	require.Contains(t, said["daemon"].Fix, "resumed install")
	require.Equal(t, doctor.Warn, said["desktop"].Status)
	require.Contains(t, said["desktop"].Fix, "[[notify.service]] in the file that resumed config init writes")
	for _, name := range []string{"inotify", "tmux", "clock", "systemd", "agent claude-code"} {
		require.NotEmpty(t, said[name].Status, name)
		require.NotEqual(t, doctor.Fail, said[name].Status, said[name])
	}
	b.vars = append(b.vars, "PATH=/usr/bin:/bin") // no agent
	out, _, _ := b.run("doctor")
	require.True(t, strings.HasPrefix(out, "It does not run yet: install an agent, or describe your own: resumed config init; then resumed install, or resumed run.\n"), out)
	require.NoDirExists(t, b.path(".local"), "it only looks")
	b.write(configFile, "")
	said, _ = b.examined()
	require.Contains(t, said["desktop"].Fix, "[[notify.service]] in "+b.path(configFile))
}

func TestDoctorFindsWhatStandsInTheWay(t *testing.T) {
	b := newBox(t)
	b.write("bin/claude", "#!/bin/sh\necho '2.1.325 (Claude Code)'\n")
	b.write(".claude/projects/-src-shop/a.jsonl", "{}\n")
	b.vars = append(b.vars, "PATH="+b.path("bin")+":"+os.Getenv("PATH"))
	b.write(configFile, bot)
	b.write("bot/logs/s-1.log", "step 1\n")
	b.start()
	said, code := b.examined()
	require.Zero(t, code, said)
	require.Equal(t, doctor.OK, said["daemon"].Status)
	require.Equal(t, doctor.OK, said["agent claude-code"].Status)
	require.Contains(t, said["agent claude-code"].Text, "2.1.325 (Claude Code)), found in PATH; ")
	require.Contains(t, said["agent claude-code"].Text, "1 transcript in "+b.path(".claude"))
	require.Contains(t, said["inotify"].Text, "directories to watch")
	require.Equal(t, doctor.OK, said["agent mybot"].Status)
	require.Contains(t, said["agent mybot"].Text, "/sh, as configured; 1 transcript in "+b.path("bot"), "it is found, and not run")

	require.NoError(t, os.Remove(b.path("bin/claude")))
	require.NoError(t, os.Chmod(b.path(".local/state/resumed"), 0o755))
	b.vars = append(b.vars, "PATH="+b.path("bin")+":/usr/bin:/bin", "TZ=Mars/Olympus")
	said, code = b.examined()
	require.Equal(t, exitFailed, code)
	require.Equal(t, doctor.Fail, said["agent claude-code"].Status)
	require.Contains(t, said["agent claude-code"].Fix, "command =")
	require.Equal(t, doctor.Warn, said["state"].Status)
	require.Equal(t, "chmod 700 "+b.path(".local/state/resumed"), said["state"].Fix)
	require.Equal(t, doctor.Fail, said["zone"].Status)

	b.write(configFile, "[log]\nlevel = \"loud\"\n")
	b.until("the daemon has refused it", func() bool { return !b.status().Daemon.Config.OK })
	said, code = b.examined()
	require.Equal(t, exitFailed, code)
	require.Contains(t, said["config"].Text, "log.level")
	require.Equal(t, "resumed config check", said["config"].Fix)
	require.Contains(t, said["daemon"].Text, "is not used")

	out, _, code := b.run("doctor")
	require.Equal(t, exitFailed, code)
	require.Contains(t, out, "→ resumed config check")
	require.Contains(t, out, "failed")
}
