package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestInstallRunsACopyOfAProgramThatWillVanish(t *testing.T) {
	b := newBox(t)
	b.withSystemctl("257")
	out, errOut, code := b.run("install", "--dry-run")
	require.Zero(t, code, errOut)
	require.Contains(t, out, "cp "+program+" "+b.path(copyPath))
	require.NoFileExists(t, b.path(copyPath))

	_, errOut, code = b.run("install")
	require.Zero(t, code, errOut)
	require.Contains(t, errOut, "is in a temporary directory, so this copy is used: "+b.path(copyPath))
	require.Contains(t, errOut, `export PATH="`+b.path(".local/bin")+`:$PATH"`, "who has it installed can call it")
	require.Contains(t, b.read(dropInPath), "ExecStart=\""+b.path(copyPath)+"\" run\n")
	require.True(t, isResumed(b.path(copyPath)))

	b.vars = append(b.vars, "PATH="+b.path("bin")+":"+b.path(".local/bin")+":"+os.Getenv("PATH"))
	_, errOut, code = b.run("install")
	require.Zero(t, code, errOut)
	require.NotContains(t, errOut, "export PATH")

	b.binary = b.path(copyPath) // from here on the copy is used, although this home is temporary too
	_, errOut, code = b.run("install")
	require.Zero(t, code, errOut)
	out, errOut, code = b.run("uninstall")
	require.Zero(t, code, errOut)
	require.Contains(t, out, "removed "+b.path(copyPath))
	require.NoFileExists(t, b.path(copyPath))
}

func TestInstallTakesNobodysProgramAway(t *testing.T) {
	b := newBox(t)
	b.withSystemctl("257")
	b.write(copyPath, "#!/bin/sh\necho mine\n")
	before := b.tree()
	_, errOut, code := b.run("install")
	require.Equal(t, exitFailed, code)
	require.Contains(t, errOut, "another program is there")
	require.Contains(t, errOut, "Try: put it where it stays")
	require.Equal(t, before, b.tree())
	require.Contains(t, b.read(copyPath), "mine")

	older, err := os.ReadFile(program) // one from the install script stays
	require.NoError(t, err)
	b.write(copyPath, string(older))
	_, errOut, code = b.run("install")
	require.Zero(t, code, errOut)
	_, errOut, code = b.run("uninstall")
	require.Zero(t, code, errOut)
	require.FileExists(t, b.path(copyPath))
}

func TestInstallRefusesWhereNothingCanBeCopied(t *testing.T) {
	b := newBox(t)
	b.withSystemctl("257")
	b.write(".local", "a file stands in the way")
	_, errOut, code := b.run("install")
	require.Equal(t, exitFailed, code)
	require.Contains(t, errOut, "cannot be copied to "+b.path(copyPath))
	require.NoFileExists(t, b.path(dropInPath), "no service was made that could not run")
}

func TestPurgeListsAndRemovesWhatIsLeft(t *testing.T) {
	b := newBox(t)
	b.withSystemctl("257")
	before := b.tree()
	_, errOut, code := b.run("install")
	require.Zero(t, code, errOut)
	b.write(".config/resumed/resumed.toml", "")
	b.write(".config/resumed/phone.url", "secret")
	b.write(".local/state/resumed/resumed.db", "")
	b.write(".local/state/other/resumed/mine", "")
	b.write(".claude/projects/x/session.jsonl", "{}")

	out, errOut, code := b.run("uninstall", "--purge", "--dry-run")
	require.Zero(t, code, errOut)
	for _, dir := range []string{".config/resumed  (2 files", ".local/state/resumed  (1 file"} {
		require.Contains(t, out, b.path(dir))
	}
	require.NotEmpty(t, b.read(dropInPath))

	_, errOut, code = b.run("uninstall", "--purge") // nobody can be asked
	require.Equal(t, exitFailed, code)
	require.Contains(t, errOut, "Try: resumed uninstall --purge --yes")
	require.Empty(t, b.read(dropInPath))
	require.NotEmpty(t, b.read(".config/resumed/phone.url"))

	out, errOut, code = b.run("uninstall", "--purge", "--yes")
	require.Zero(t, code, errOut)
	require.Contains(t, out, "removed "+b.path(".config/resumed"))
	require.FileExists(t, b.path(".claude/projects/x/session.jsonl"))
	require.FileExists(t, b.path(".local/state/other/resumed/mine"))
	for _, dir := range []string{".claude", ".local", ".config"} { // made by the test itself
		require.NoError(t, os.RemoveAll(b.path(dir)))
	}
	require.Equal(t, before, b.tree())
	out, _, code = b.run("uninstall", "--purge")
	require.Zero(t, code)
	require.Contains(t, out, "Nothing else is left.")
}

func TestPurgeLeavesAHomeAsItWas(t *testing.T) {
	b := newBox(t)
	before := b.tree()
	b.write(".config/resumed/resumed.toml", "")
	b.write(".local/state/resumed/resumed.db", "")
	_, errOut, code := b.run("uninstall", "--purge", "--yes")
	require.Zero(t, code, errOut)
	require.Equal(t, before, b.tree(), "directories that nobody else uses are gone too")

	b.write("elsewhere/resumed/resumed.db", "")
	require.NoError(t, os.MkdirAll(b.path(".local"), 0o755))
	require.NoError(t, os.Symlink(b.path("elsewhere"), b.path(".local/state")))
	_, errOut, code = b.run("uninstall", "--purge", "--yes")
	require.Zero(t, code, errOut)
	require.NoDirExists(t, b.path("elsewhere/resumed"))
	require.Subset(t, b.tree(), []string{".local/state", "elsewhere"}, "a link that somebody made stays, and so does where it leads")
}

func TestPurgeWaitsForADaemonThatRuns(t *testing.T) {
	b := newBox(t)
	b.start()
	_, errOut, code := b.run("uninstall", "--purge", "--yes")
	require.Equal(t, exitFailed, code)
	require.Contains(t, errOut, "a daemon is running and would write it again")
	require.Contains(t, errOut, "Try: kill ")
	require.DirExists(t, b.path(".local/state/resumed"))

	b.write(".config/systemd/user/default.target.wants/resumed.service", "") // a package's unit, enabled by hand
	_, errOut, code = b.run("uninstall", "--purge", "--yes")
	require.Equal(t, exitFailed, code)
	require.Contains(t, errOut, "Try: systemctl --user disable --now resumed, then")
}
