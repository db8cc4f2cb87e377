package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"resumed/internal/ownership"

	"github.com/stretchr/testify/require"
)

// withSystemctl gives the box a systemctl that only records its calls.
func (b *box) withSystemctl(version string) {
	b.write("bin/systemctl", `#!/bin/sh
if [ "$1" = --version ]; then echo "systemd `+version+`"; exit 0; fi
if [ -e `+b.path("no-manager")+` ]; then echo "Failed to connect to bus" >&2; exit 1; fi
echo "$*" >> `+b.path("orders")+`
`)
	b.vars = append(b.vars, "PATH="+b.path("bin")+":"+b.path("node modules/100% $HOME/bin")+":relative:"+b.path("bin")+":"+os.Getenv("PATH"))
}

// tree returns every file and directory of the home, except those of the test itself.
func (b *box) tree() []string {
	var all []string
	require.NoError(b.t, filepath.WalkDir(b.home, func(path string, _ fs.DirEntry, err error) error {
		if rel, _ := filepath.Rel(b.home, path); rel != "orders" {
			all = append(all, rel)
		}
		return err
	}))
	return all
}

const (
	unitFilePath = ".config/systemd/user/resumed.service"
	dropInPath   = unitFilePath + ".d/install.conf"
	reloadPath   = unitFilePath + ".d/notify-reload.conf"
	copyPath     = ".local/bin/resumed" // the tests' program is in a temporary directory
)

func TestInstallAndUninstallLeaveNoTrace(t *testing.T) {
	b := newBox(t)
	b.withSystemctl("257 (257.7-1)")
	homes := []string{
		"CLAUDE_CONFIG_DIR=/srv/claude", "CODEX_HOME=/srv/codex", "OPENCODE_DB=/srv/opencode.db", "GEMINI_CLI_HOME=/srv/gemini",
		"QWEN_HOME=/srv/qwen", "QWEN_RUNTIME_DIR=/srv/run/qwen",
	}
	b.vars = append(b.vars, homes...)
	b.write("conf.toml", "")
	before := b.tree()

	out, errOut, code := b.run("install", "--dry-run")
	require.Zero(t, code, errOut)
	require.Contains(t, out, "systemctl --user enable resumed.service")
	require.Contains(t, out, b.path(unitFilePath))
	require.Equal(t, before, b.tree(), "a dry run does nothing")

	out, errOut, code = b.run("--config", "conf.toml", "install")
	require.Zero(t, code, errOut)
	require.Contains(t, out, "loginctl enable-linger")
	require.Equal(t, []string{
		"--user show-environment", "--user daemon-reload", "--user enable resumed.service", "--user restart resumed.service",
	}, strings.Split(strings.TrimSpace(b.read("orders")), "\n"))
	require.Contains(t, b.read(reloadPath), "Type=notify-reload")
	dropIn := b.read(dropInPath)
	require.Contains(t, dropIn, `Environment="PATH=`+b.path("bin")+":"+b.path("node modules/100%% $HOME/bin")+":"+os.Getenv("PATH")[:5],
		"as it is, without what is relative or twice there")
	for _, home := range homes {
		require.Contains(t, dropIn, "Environment=\""+home+"\"\n", "the service finds every agent's sessions where they are")
	}
	require.Contains(t, dropIn, "ExecStart=\nExecStart=\""+b.path(copyPath)+"\" --config \""+b.path("conf.toml")+"\" run\n")
	require.FileExists(t, b.path(copyPath+"-hub"), "the hub's program is beside this one, here and there")
	verifyUnit(t, b.path(unitFilePath))

	written := dropIn
	require.NoError(t, os.Remove(b.path("orders")))
	out, errOut, code = b.run("--config", "conf.toml", "install")
	require.Zero(t, code, errOut)
	require.NotContains(t, out, "wrote")
	require.Equal(t, written, b.read(dropInPath))
	require.Equal(t, "--user show-environment\n--user enable resumed.service\n--user start resumed.service\n", b.read("orders"),
		"a second install is harmless")

	_, errOut, code = b.run("install") // after a change, what was made before is still known
	require.Zero(t, code, errOut)
	require.Contains(t, b.read("orders"), "restart")

	out, errOut, code = b.run("uninstall", "--dry-run")
	require.Zero(t, code, errOut)
	require.Contains(t, out, b.path(dropInPath))
	require.NotEmpty(t, b.read(unitFilePath))
	_, errOut, code = b.run("uninstall")
	require.Zero(t, code, errOut)
	require.Contains(t, b.read("orders"), "--user disable --now resumed.service")
	require.Equal(t, before, b.tree())
	out, _, code = b.run("uninstall")
	require.Zero(t, code)
	require.Contains(t, out, "Nothing is installed")
}

// isResumed reports whether a file is this program.
func isResumed(path string) bool {
	out, err := exec.Command(path, "version").Output()
	return err == nil && strings.HasPrefix(string(out), "resumed ")
}

// verifyUnit lets systemd check a unit with its drop-ins.
func verifyUnit(t *testing.T, path string) {
	t.Helper()
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("systemd-analyze is missing")
		}
		t.Log("UNIT NOT VERIFIED: systemd-analyze is missing")
		return
	}
	out, err := exec.Command(analyze, "verify", "--man=no", path).CombinedOutput()
	require.NoError(t, err, string(out))
	// The systemd that verifies may be older than the one that was installed for.
	require.NotContains(t, strings.ReplaceAll(string(out), "Failed to parse service type, ignoring: notify-reload", ""), "ignoring", string(out))
}

// On the first evening the limit comes first, and resumed afterwards.
func TestSessionsThatWereStoppedBeforeAreListed(t *testing.T) {
	b := newBox(t)
	b.vars = []string{"RESUMED_RESUME_UNSEEN=park"}
	b.withSystemctl("257")
	b.write("bin/systemctl", b.read("bin/systemctl")+`[ "$2" != restart ] || {
	resumed=$HOME/.local/bin/resumed
	$resumed run > daemon.log 2>&1 &
	until $resumed status > /dev/null 2>&1; do sleep 0.05; done # as systemd waits until a service is ready
}
`)
	b.write(configFile, "[backoff]\nbase_delay = \"100ms\"\njitter = false\n[resume]\nsettle = \"200ms\"\nstagger = \"0s\"\n")
	b.write("bin/claude", "#!/bin/sh\necho \"$*\" >> \"$HOME/calls\"\n")
	const other = "9c1e77d0-0000-4000-8000-000000000001"
	b.write("shop/main.go", "package main\n")
	for id, dir := range map[string]string{claudeSession: "bot", other: "shop"} {
		b.write(".claude/projects/-"+dir+"/"+id+".jsonl", promptLine(id, b.path(dir), "work")+refusalLine(id, b.path(dir)))
	}
	out, errOut, code := b.run("install")
	require.Zero(t, code, errOut)
	_, list, found := strings.Cut(out, "These sessions stopped earlier, and nobody saw with which flags they started:\n")
	require.True(t, found, out)
	require.Contains(t, list, " in "+b.path("bot")+"\n")
	require.Contains(t, list, " in "+b.path("shop")+"\n")
	require.Contains(t, list, "To continue them with your settings as they are now:\n  resumed retry --unseen\n")
	require.Contains(t, b.read("daemon.log"), `claude-code: 2 sessions (2 stopped)`)
	require.Contains(t, b.read("daemon.log"), `resumed retry --unseen continues sessions whose start was not seen`)
	require.NoFileExists(t, b.path("calls"))

	out, errOut, code = b.run("retry", "--unseen")
	require.Zero(t, code, errOut)
	require.Equal(t, 2, strings.Count(out, "): "))
	b.until("both are continued", func() bool {
		return strings.Contains(b.read("calls"), claudeSession) && strings.Contains(b.read("calls"), other)
	})
	status, err := b.daemon.Status(t.Context(), false)
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(status.Daemon.PID, syscall.SIGTERM))
	b.until("the daemon is gone", func() bool { _, err := b.daemon.Status(t.Context(), false); return err != nil })
}

func TestInstallLeavesOthersFilesAlone(t *testing.T) {
	b := newBox(t)
	b.withSystemctl("252 (252.36)")
	b.write(".config/systemd/user/other.service", "[Unit]\n")
	_, errOut, code := b.run("install")
	require.Zero(t, code, errOut)
	require.Empty(t, b.read(reloadPath), "systemd 252 does not know notify-reload")
	b.write(unitFilePath+".d/mine.conf", "[Service]\n")
	_, errOut, code = b.run("uninstall")
	require.Zero(t, code, errOut)
	require.NotEmpty(t, b.read(".config/systemd/user/other.service"))
	require.NotEmpty(t, b.read(unitFilePath+".d/mine.conf"))
	require.Empty(t, b.read(dropInPath))

	b.write(unitFilePath, "[Service]\nExecStart=/opt/mine\n")
	_, errOut, code = b.run("install")
	require.Equal(t, exitFailed, code)
	require.Contains(t, errOut, "was not made by resumed")
	require.Equal(t, "[Service]\nExecStart=/opt/mine\n", b.read(unitFilePath))
	require.Empty(t, b.read(dropInPath))
}

func TestWhoRemovesTheServiceHearsWhatStays(t *testing.T) {
	b := newBox(t)
	b.withSystemctl("257")
	b.write(configFile, bot)
	_, errOut, code := b.run("install")
	require.Zero(t, code, errOut)
	_, errOut, code = b.run("status")
	require.Equal(t, exitNoDaemon, code)
	require.Contains(t, errOut, "Try: systemctl --user start resumed", "the service is there, and need not be installed again")
	out, errOut, code := b.run("uninstall")
	require.Zero(t, code, errOut)
	require.Contains(t, out, "To remove them too: rm -r "+b.path(".config/resumed"), "the program itself is gone")
	require.FileExists(t, b.path(configFile))
	_, errOut, _ = b.run("status")
	require.Contains(t, errOut, "Try: resumed install")
}

func TestInstallWithoutAManagerSaysWhatToDo(t *testing.T) {
	b := newBox(t)
	b.withSystemctl("257")
	b.write("no-manager", "")
	before := b.tree()
	_, errOut, code := b.run("install")
	require.Equal(t, exitFailed, code)
	require.Contains(t, errOut, "Failed to connect to bus")
	require.Contains(t, errOut, "Try:")
	require.NoDirExists(t, b.path(".config/systemd"))
	require.Equal(t, before, b.tree(), "an install that fails leaves nothing behind")

	b.vars = append(b.vars, "PATH=/nowhere")
	_, errOut, code = b.run("install", "--dry-run")
	require.Equal(t, exitFailed, code)
	require.Contains(t, errOut, "install needs systemd")
	require.Equal(t, before, b.tree(), "a dry run does nothing")

	_, errOut, code = b.run("install")
	require.Equal(t, exitFailed, code)
	require.Contains(t, errOut, "install needs systemd")
	for _, instead := range []string{"tmux new-session -d -s resumed '%s run'", "@reboot %s run", "exec %s run", "runsvdir"} {
		require.Contains(t, errOut, strings.ReplaceAll(instead, "%s", b.path(copyPath)))
	}
	require.Regexp(t, "^resumed: .*\nTry: .*\n  # first, .*:\n  install -D -m 755 "+program+" "+b.path(copyPath)+"\n  export PATH=", errOut, "the first command makes what the others name")
	require.Equal(t, before, b.tree())
}

// If the manager does not start the service, nothing of a first install stays, and what an earlier one
// made does.
func TestAnInstallThatFailsLeavesNothingBehind(t *testing.T) {
	b := newBox(t)
	b.withSystemctl("257")
	working := b.read("bin/systemctl")
	b.write("bin/systemctl", working+`if [ "$2" = enable ]; then echo "Failed to enable unit" >&2; exit 1; fi`+"\n")
	before := b.tree()
	_, errOut, code := b.run("install")
	require.Equal(t, exitFailed, code)
	require.Contains(t, errOut, "Failed to enable unit")
	require.Equal(t, before, b.tree())

	b.write("bin/systemctl", working)
	_, errOut, code = b.run("install")
	require.Zero(t, code, errOut)
	after := b.tree()
	b.write("bin/systemctl", working+`if [ "$2" = enable ]; then echo "Failed to enable unit" >&2; exit 1; fi`+"\n")
	_, _, code = b.run("install")
	require.Equal(t, exitFailed, code)
	require.Equal(t, after, b.tree())
}

// A purge that leaves a program behind says so.
func TestAPurgeNamesTheProgramThatIsLeft(t *testing.T) {
	b := newBox(t)
	b.withSystemctl("257")
	out, _, code := b.run("uninstall", "--purge", "--yes")
	require.Zero(t, code)
	require.Contains(t, out, "Nothing else is left.")
	text, err := os.ReadFile(program)
	require.NoError(t, err)
	b.write(copyPath, string(text)) // somebody copied it there
	out, _, code = b.run("uninstall", "--purge", "--yes")
	require.Zero(t, code)
	require.NotContains(t, out, "Nothing else is left.")
	require.Contains(t, out, "The program itself is still there. To remove it: rm "+b.path(copyPath))
}

func TestInstallSystemPrintsAScriptThatIsReadByAShell(t *testing.T) {
	b := newBox(t)
	out, errOut, code := b.run("install", "--system")
	require.Zero(t, code, errOut)
	require.Contains(t, out, "systemctl enable --now resumed@"+ownership.CurrentUser()+".service")
	require.Contains(t, out, "User=%i")
	require.NotContains(t, b.tree(), ".config")
	sh := exec.Command("sh", "-n")
	sh.Stdin = strings.NewReader(out)
	said, err := sh.CombinedOutput()
	require.NoError(t, err, string(said))
}
