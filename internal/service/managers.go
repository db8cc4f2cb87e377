package service

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"resumed/internal/hint"
	"resumed/internal/ownership"
	"resumed/internal/sanitize"
	"resumed/launchd"
	"resumed/systemd"
)

const unitName = "resumed.service"

// notifyReloadSince is the first systemd with Type=notify-reload. An older one uses Type=simple
// instead, and only warns.
const notifyReloadSince = 253

var errNoSystemd = errors.New("install needs systemd")

// systemdUser is the systemd manager of a user.
type systemdUser struct {
	dir string // of the user's units
}

func newSystemdUser() (systemdUser, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return systemdUser{}, fmt.Errorf("find the configuration directory: %w", err)
	}
	return systemdUser{filepath.Join(dir, "systemd", "user")}, nil
}

func (m systemdUser) files(ctx context.Context, s spec) ([]ownFile, error) {
	version, err := systemdVersion(ctx)
	if err != nil {
		return nil, err
	}
	return m.filesOf(s, version), nil
}

func (m systemdUser) allFiles() []ownFile { return m.filesOf(spec{}, notifyReloadSince) }

func (m systemdUser) filesOf(s spec, version int) []ownFile {
	dropIns := filepath.Join(m.dir, unitName+".d")
	files := []ownFile{
		{path: filepath.Join(m.dir, unitName), text: marker + systemd.User},
		{path: filepath.Join(dropIns, "install.conf"), text: marker + s.dropIn(), records: true},
	}
	if version >= notifyReloadSince {
		files = append(files, ownFile{path: filepath.Join(dropIns, "notify-reload.conf"), text: marker + systemd.NotifyReload})
	}
	return files
}

func (systemdUser) reach(ctx context.Context) error {
	out, err := exec.CommandContext(ctx, "systemctl", "--user", "show-environment").CombinedOutput()
	if err != nil {
		return hint.With(
			fmt.Errorf("your own service manager does not answer: %s", sanitize.Short(string(out), 200)),
			"log in as yourself rather than by su or sudo, or resumed install --system",
		)
	}
	return nil
}

func (systemdUser) start(ctx context.Context, again bool) (string, error) {
	if again {
		if err := systemctl(ctx, "daemon-reload"); err != nil {
			return "", err
		}
	}
	if err := systemctl(ctx, "enable", unitName); err != nil {
		return "", err
	}
	act := "start"
	if again {
		act = "restart"
	}
	if err := systemctl(ctx, act, unitName); err != nil {
		return "", hint.With(err, "journalctl --user -u resumed -n 20")
	}
	return "resumed runs as " + unitName + "; see: resumed status, journalctl --user -u resumed", nil
}

func (systemdUser) stop(ctx context.Context) error {
	return systemctl(ctx, "disable", "--now", unitName)
}

func (systemdUser) removed(ctx context.Context) error { return systemctl(ctx, "daemon-reload") }

func (systemdUser) startCommands() []string {
	return []string{"systemctl --user daemon-reload", "systemctl --user enable " + unitName, "systemctl --user restart " + unitName}
}

func (systemdUser) stopCommand() string { return "systemctl --user disable --now " + unitName }

func (systemdUser) note(s spec) string {
	if lingers(s.user) {
		return ""
	}
	return "It stops when you log out. To keep it running: loginctl enable-linger"
}

func (m systemdUser) examine(ctx context.Context, report Report) {
	if !systemdRuns() {
		report.Warn("systemd", "not running here: nothing starts resumed automatically", "resumed install shows what to do instead")
		return
	}
	version, err := systemdVersion(ctx)
	if err != nil {
		report.Warn("systemd", err.Error(), "")
		return
	}
	switch {
	case len(present(m.allFiles())) > 0:
		report.OK("systemd", fmt.Sprintf("version %d, %s is installed", version, unitName))
	case m.packaged():
		report.OK("systemd", fmt.Sprintf("version %d, a package's unit is enabled", version))
	default:
		report.Warn("systemd", fmt.Sprintf("version %d, and no service is installed", version), "resumed install")
	}
	if lingers(ownership.CurrentUser()) {
		report.OK("linger", "your services keep running when you log out")
	} else {
		report.Warn("linger", "your services stop when you log out", "loginctl enable-linger")
	}
}

// packaged reports whether a package's unit is enabled, for the user or as a system service: then no
// install is needed.
func (m systemdUser) packaged() bool {
	return exists(filepath.Join(m.dir, "default.target.wants", unitName)) ||
		exists(filepath.Join("/etc/systemd/system/multi-user.target.wants", "resumed@"+ownership.CurrentUser()+".service"))
}

func systemdVersion(ctx context.Context) (int, error) {
	const try = "resumed run, under the supervisor that you have"
	out, err := exec.CommandContext(ctx, "systemctl", "--version").Output()
	if err != nil {
		return 0, hint.With(fmt.Errorf("%w: %w", errNoSystemd, err), try)
	}
	var version int
	if _, err := fmt.Sscanf(string(out), "systemd %d", &version); err != nil {
		return 0, hint.With(fmt.Errorf("systemctl does not say which systemd it is of: %q", sanitize.Short(string(out), 80)), try)
	}
	return version, nil
}

// systemdRuns reports whether systemd started this machine.
func systemdRuns() bool { return exists("/run/systemd/system") }

func systemctl(ctx context.Context, args ...string) error {
	return runCommand(ctx, "systemctl", append([]string{"--user"}, args...)...)
}

// runCommand runs a program of the service manager. Its output is part of the error.
func runCommand(ctx context.Context, name string, args ...string) error {
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, sanitize.Short(string(out), 400))
	}
	return nil
}

// lingers reports whether the user's services run without a login.
func lingers(name string) bool {
	_, err := os.Stat(filepath.Join("/var/lib/systemd/linger", name))
	return err == nil
}

// launchdAgent is the daemon as a launchd agent of a user who is logged in.
type launchdAgent struct {
	plist  string // path of its property list
	log    string
	domain string // of the user's login
}

// agentLabel is the name of the daemon in launchd.
const agentLabel = "resumed"

func newLaunchdAgent() (launchdAgent, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return launchdAgent{}, fmt.Errorf("find your home directory: %w", err)
	}
	library := filepath.Join(home, "Library")
	return launchdAgent{
		plist:  filepath.Join(library, "LaunchAgents", agentLabel+".plist"),
		log:    filepath.Join(library, "Logs", agentLabel+".log"),
		domain: fmt.Sprintf("gui/%d", os.Getuid()),
	}, nil
}

func (m launchdAgent) target() string { return m.domain + "/" + agentLabel }

func (m launchdAgent) files(_ context.Context, s spec) ([]ownFile, error) {
	text, err := launchd.Agent{Label: agentLabel, Argv: s.argv(), Variables: s.variables, Log: m.log}.Plist()
	if err != nil {
		return nil, fmt.Errorf("write the property list: %w", err)
	}
	return []ownFile{{path: m.plist, text: text}}, nil
}

func (m launchdAgent) allFiles() []ownFile { return []ownFile{{path: m.plist}} }

func (launchdAgent) reach(context.Context) error { return nil }

func (m launchdAgent) loaded(ctx context.Context) bool {
	return runCommand(ctx, "launchctl", "print", m.target()) == nil
}

func (m launchdAgent) start(ctx context.Context, again bool) (string, error) {
	see := "; see: resumed status, " + m.log
	if m.loaded(ctx) {
		if !again {
			return "resumed runs already" + see, nil
		}
		if err := m.stop(ctx); err != nil {
			return "", err
		}
	}
	if err := os.MkdirAll(filepath.Dir(m.log), 0o700); err != nil {
		return "", fmt.Errorf("make a directory: %w", err)
	}
	if err := runCommand(ctx, "launchctl", "bootstrap", m.domain, m.plist); err != nil {
		return "", hint.With(err, "log in at the machine itself: launchd runs such services where you are logged in, and not for ssh alone")
	}
	return "resumed runs as " + m.target() + see, nil
}

func (m launchdAgent) stop(ctx context.Context) error {
	if !m.loaded(ctx) {
		return nil
	}
	return runCommand(ctx, "launchctl", "bootout", m.target())
}

func (launchdAgent) removed(context.Context) error { return nil }

func (m launchdAgent) startCommands() []string {
	return []string{m.stopCommand(), "launchctl bootstrap " + m.domain + " " + m.plist}
}

func (m launchdAgent) stopCommand() string { return "launchctl bootout " + m.target() }

func (launchdAgent) note(spec) string { return "" }

func (m launchdAgent) examine(ctx context.Context, report Report) {
	if !m.loaded(ctx) {
		report.Warn("launchd", "no service is installed, or it is not loaded", "resumed install")
		return
	}
	report.OK("launchd", agentLabel+" is installed; its log is "+m.log)
}
