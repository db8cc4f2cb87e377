package main

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

// modeLine is a record of Claude Code that states the permission mode. Every program that can write to
// the transcript can add one.
func (b *leashBox) modeLine(mode string) string {
	return transcriptLine(claudeSession, b.path("bot"), time.Now(), map[string]any{"type": "permission-mode", "permissionMode": mode})
}

const bypassByDefault = `{"permissions":{"defaultMode":"bypassPermissions"}}`

// modeOfRun returns the permission mode of the resume.
func (b *leashBox) modeOfRun() string {
	b.t.Helper()
	args := b.ran()
	return append(args, "", "")[slices.Index(args, "--permission-mode")+1]
}

func TestASettingsFileThatCameLaterDoesNotWiden(t *testing.T) {
	const settings = "bot/.claude/settings.local.json"
	for name, c := range map[string]struct {
		before, during string // the settings at the start, and later
		want           string
	}{
		"it came during the session":           {"", bypassByDefault, "default"},
		"it was there, and changed since":      {`{"permissions":{"allow":["Read"]}}`, bypassByDefault, "default"},
		"it was there at the start":            {bypassByDefault, "", "bypassPermissions"},
		"it was there, and has a new rule":     {bypassByDefault, `{"permissions":{"defaultMode":"bypassPermissions","allow":["Read"]}}`, "bypassPermissions"},
		"it was there, and allows less by now": {bypassByDefault, `{"permissions":{"defaultMode":"plan"}}`, "plan"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newLeashBox(t)
			if c.before != "" {
				b.write(settings, c.before)
			}
			b.start()
			b.steer("pause")
			b.register(b.hold([]string{"IS_SANDBOX=1"}, "claude", "--max-turns", "3"))
			b.prompted()
			b.untilSeen("--max-turns")
			if c.during != "" {
				b.write(settings, c.during)
			}
			b.release()
			b.appendTo(claudeTranscript, b.modeLine("bypassPermissions"))
			b.stopped()
			b.untilState(claudeSession, resume.Waiting)
			b.restart() // what was noted of the start outlives the daemon
			b.steer("unpause")
			require.Equal(t, c.want, b.modeOfRun())
		})
	}
}

func TestAWordIsForTheModeThatWasShown(t *testing.T) {
	b := newLeashBox(t)
	b.write(configFile, leashConfig+"unseen = \"park\"\n")
	b.vars = []string{"RESUMED_RESUME_UNSEEN=park", "IS_SANDBOX=1", "PATH=" + b.path("node20/bin") + ":" + os.Getenv("PATH")}
	b.start()
	b.prompted()
	b.appendTo(claudeTranscript, b.modeLine("default"))
	b.stopped()
	asked := b.untilState(claudeSession, resume.Parked)
	require.Equal(t, "start_unseen", *asked.Needs)
	require.Contains(t, asked.Reason, "continues it in default, with your settings as they are now")

	b.steer("pause")
	order := func() {
		t.Helper()
		_, errOut, code := b.run("retry", claudeSession)
		require.Zero(t, code, errOut)
	}
	order()
	b.untilState(claudeSession, resume.Waiting)
	b.appendTo(claudeTranscript, b.modeLine("bypassPermissions"))
	b.steer("unpause")
	asked = b.untilState(claudeSession, resume.Parked)
	require.Empty(t, b.read("ran"))
	require.Equal(t, "start_unseen", *asked.Needs)
	require.Contains(t, asked.Reason, "your word was for default, and it would continue in bypassPermissions now")

	order()
	require.Equal(t, "bypassPermissions", b.modeOfRun())
}
