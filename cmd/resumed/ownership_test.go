package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/doctor"
	"resumed/internal/resume"
)

// stranger is another user: nobody.
const stranger = 65534

// asRoot skips the test if files cannot be given to another user.
func asRoot(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED: only root can give files to another user; run the tests as root too")
	}
}

// bypassing is a prompt of a session that never asks for permission.
func bypassing(id, cwd string) string {
	return strings.Replace(promptLine(id, cwd, "work"), "{", `{"permissionMode":"bypassPermissions",`, 1)
}

// A user who can write a file into a root must not make an agent run as the owner, least of all with
// the permissions in that file.
func TestATranscriptOfAnotherUserIsNotRead(t *testing.T) {
	asRoot(t)
	b := newBox(t)
	const theirs = "11111111-7b1d-4c58-9a60-2f7be3d10c11"
	const planted = ".claude/projects/-src/" + theirs + ".jsonl"
	b.write(configFile, "[backoff]\nbase_delay = \"100ms\"\njitter = false\n[resume]\nstagger = \"0s\"\n")
	b.write("bin/claude", "#!/bin/sh\necho \"$*\" >> \"$HOME/calls\"\n")
	b.write(planted, bypassing(theirs, b.path("tmp"))+refusalLine(theirs, b.path("tmp")))
	require.NoError(t, os.Chmod(b.path(".claude/projects/-src"), 0o777))
	require.NoError(t, os.Chown(b.path(planted), stranger, stranger))
	b.write(".claude/projects/-mine/"+claudeSession+".jsonl", promptLine(claudeSession, b.path("bot"), "work")+refusalLine(claudeSession, b.path("bot")))
	b.start()
	b.until("the user's own is continued", func() bool { return strings.Contains(b.read("calls"), claudeSession) })
	require.NotContains(t, b.read("calls"), theirs)
	all, err := b.daemon.Status(t.Context(), true)
	require.NoError(t, err)
	for _, s := range all.Sessions {
		require.NotEqual(t, theirs, s.ID, "it is not even observed")
	}
	require.Equal(t, 1, strings.Count(b.logged(), "a transcript of another user is not read"))
	require.Contains(t, b.logged(), b.path(planted)+" belongs to nobody")
	said, code := b.examined()
	require.Equal(t, exitFailed, code)
	require.Equal(t, doctor.Fail, said["agent claude-code"].Status)
	require.Equal(t, "chmod go-w "+b.path(".claude/projects/-src"), said["agent claude-code"].Fix)
}

// A session with files that others can write is parked with the path and the fix, and continues when
// that is fixed.
func TestWhatOthersCanWriteIsNotObeyed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		path string // that others can write
		mode os.FileMode
	}{
		"the transcript":                {"bot/logs/s-1.log", 0o666},
		"the directory of transcripts":  {"bot/logs", 0o777},
		"the session's directory":       {"bot", 0o777},
		"one as /tmp is":                {"bot", 0o777 | os.ModeSticky},
		"the script that continues it":  {"bot/resume.sh", 0o777},
		"the program that continues it": {"bin/botsh", 0o777},
		"the file of its environment":   {"bot.env", 0o666},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBox(t)
			settings := strings.Replace(bot, `"sh", "./resume.sh"`, `"botsh", "./resume.sh"`, 1)
			b.write(configFile, settings+"env_file = \"~/bot.env\"\n[backoff]\nbase_delay = \"100ms\"\n")
			shell, err := os.ReadFile("/bin/sh")
			require.NoError(t, err)
			b.write("bin/botsh", string(shell))
			b.write("bot.env", "A=b\n")
			b.write("bot/resume.sh", recordCall+`echo "step 2" >> logs/$1.log`)
			b.start()
			b.steer("pause")
			b.write("bot/logs/s-1.log", "step 1\nrate limited, retry in 10ms\n")
			require.NoError(t, os.Chmod(b.path(c.path), c.mode))
			b.steer("unpause")
			parked := b.untilState("s-1", resume.Parked)
			require.Contains(t, parked.Reason, b.path(c.path)+" ")
			require.Contains(t, parked.Reason, "chmod go-w "+b.path(c.path))
			require.Empty(t, b.calls())
			require.NoError(t, os.Chmod(b.path(c.path), 0o755))
			_, errOut, code := b.run("retry", "s-1")
			require.Zero(t, code, errOut)
			b.until("it is continued", func() bool { return len(b.calls()) == 1 })
		})
	}
}

// A configuration decides which programs run; so do the files that it names.
func TestAConfigurationThatOthersCanWriteIsRefused(t *testing.T) {
	t.Parallel()
	const settings = bot + `
env_file = "~/bot.env"
[[notify.webhook]]
name = "ops"
url_file = "~/url"
secret_file = "~/secret"
[[notify.command]]
name = "script"
run = ["~/tell"]
`
	for name, c := range map[string]struct{ path, key string }{
		"the file":           {configFile, ""},
		"its directory":      {".config/resumed", ""},
		"env_file":           {"bot.env", "agent[0].env_file"},
		"url_file":           {"url", "notify.webhook[0].url_file"},
		"secret_file":        {"secret", "notify.webhook[0].secret_file"},
		"a notifier program": {"tell", "notify.command[0].run"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBox(t)
			b.write(configFile, settings)
			b.write("bot.env", "A=b\n")
			b.write("url", "http://127.0.0.1:9/x\n")
			b.write("secret", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n")
			b.write("tell", "#!/bin/sh\n")
			require.NoError(t, os.Chmod(b.path(configFile), 0o664), "as where everybody has a group of his own")
			_, errOut, code := b.run("config", "check")
			require.Zero(t, code, errOut)

			require.NoError(t, os.Chmod(b.path(c.path), 0o777))
			for _, command := range [][]string{{"config", "check"}, {"run"}} {
				_, errOut, code := b.run(command...)
				require.Equal(t, exitUsage, code, errOut)
				require.Contains(t, errOut, c.key)
				require.Contains(t, errOut, "chmod go-w "+b.path(c.path))
			}
			said, _ := b.examined()
			require.Equal(t, doctor.Fail, said["config"].Status)
			require.Contains(t, said["config"].Text, b.path(c.path))
			require.NoError(t, os.Chmod(b.path(c.path), 0o700))
			_, errOut, code = b.run("config", "check")
			require.Zero(t, code, errOut)
		})
	}
}

func TestAConfigurationThatIsOpenedToOthersStaysOutOfForce(t *testing.T) {
	b := newBox(t)
	b.write(configFile, bot)
	b.start()
	require.NoError(t, os.Chmod(b.path(configFile), 0o666))
	b.until("it is refused", func() bool {
		config := b.status().Daemon.Config
		return !config.OK && strings.Contains(*config.Error, "chmod go-w "+b.path(configFile))
	})
	require.NoError(t, os.Chmod(b.path(configFile), 0o644))
	b.until("it is in force again", func() bool { return b.status().Daemon.Config.OK })
}

func TestAUserWhoIsTrustedIsObeyed(t *testing.T) {
	asRoot(t)
	b := newBox(t)
	b.write(configFile, bot+"[resume]\ntrusted_users = [\"65534\"]\n[backoff]\nbase_delay = \"100ms\"\n")
	b.write("bot/resume.sh", recordCall)
	b.write("bot/logs/s-1.log", "rate limited, retry in 10ms\n")
	for _, path := range []string{"bot", "bot/resume.sh", "bot/logs", "bot/logs/s-1.log"} {
		require.NoError(t, os.Chown(b.path(path), stranger, 0))
	}
	b.start()
	b.until("it is continued", func() bool { return len(b.calls()) > 0 })
}
