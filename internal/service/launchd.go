package service

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"resumed/internal/hint"
	"resumed/launchd"
)

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
