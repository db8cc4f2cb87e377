package main

import (
	"database/sql"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/notify"
	"resumed/internal/resume"
)

// With a night as digest_at, the digest is sent when the last resume is over, and not again in that
// night; also in the night of the first start.
func TestTheDigestAfterTheLastResumeOfANight(t *testing.T) {
	b, hook := newLiveBox(t), newHook(t)
	night := time.Now().Add(-time.Hour).Format("15:04") + "-" + time.Now().Add(3*time.Hour).Format("15:04")
	b.digests(night, hook)
	b.write("bot/resume.sh", "exit 7")
	b.start()
	b.overloaded()
	b.untilState(liveID, resume.Watching)
	b.write("bot/logs/s-1.log", "step 1\nrate limited, retry in 3h\n")
	b.untilState("s-1", resume.Waiting)
	stop := func() { require.Zero(t, b.kill(syscall.SIGTERM)) }
	stop()
	require.False(t, b.startAtDigest(), "one still waits")

	_, errOut, code := b.run("cancel", "s-1")
	require.Zero(t, code, errOut)
	stop()
	require.True(t, b.startAtDigest())
	b.until("the digest is told", func() bool { return len(hook.got()) == 1 })
	notice := hook.got()[0]
	require.Equal(t, "resumed: 1 session continued", notice.Title)
	require.Equal(t, "Continued:\n- bot (0b6b)\n  cd "+b.path("bot")+" && claude --resume "+liveID, notice.Text)
	stop()
	require.False(t, b.startAtDigest(), "once a night")
	require.Len(t, hook.got(), 1)
}

// digests makes the daemon send digests, and log its checks.
func (b *liveBox) digests(at string, hook *hook) {
	b.write(configFile, b.read(configFile)+bot+fmt.Sprintf("[log]\nlevel = \"debug\"\n[notify]\nevents = [\"digest\"]\ndigest_at = %q\n"+
		"[[notify.webhook]]\nname = \"ops\"\nurl = %q\n", at, hook.URL))
}

// startAtDigest starts the daemon and reports whether it found that a digest was due.
func (b *liveBox) startAtDigest() (isTime bool) {
	b.t.Helper()
	before := len(b.logged())
	b.start()
	var looked string
	b.until("it has looked", func() bool {
		_, looked, _ = strings.Cut(b.logged()[before:], "looked whether it is time for the digest")
		return strings.Contains(looked, "\n")
	})
	line, _, _ := strings.Cut(looked, "\n")
	return strings.Contains(line, "is_time=true")
}

// yesterday changes the stored state of a stopped daemon: the last digest was sent a day ago.
func (b *liveBox) yesterday() {
	b.t.Helper()
	db, err := sql.Open("sqlite", "file:"+b.path(".local/state/resumed/resumed.db"))
	require.NoError(b.t, err)
	_, err = db.Exec("UPDATE value SET data = ? WHERE key = 'digest/last'", []byte(time.Now().Add(-24*time.Hour).UTC().Format(time.RFC3339)))
	require.NoError(b.t, err)
	require.NoError(b.t, db.Close())
}

// The digest is sent once a day: what was continued, what needs a person, and how to go on.
func TestTheMorningDigest(t *testing.T) {
	b, hook := newLiveBox(t), newHook(t)
	b.digests(time.Now().Add(-time.Minute).Format("15:04"), hook)
	b.write("bot/resume.sh", "exit 7")
	b.start()
	b.overloaded()
	b.untilState(liveID, resume.Watching)
	b.write("bot/logs/s-1.log", "step 1\nrate limited\n")
	b.untilState("s-1", resume.GaveUp)
	require.Empty(t, hook.got(), "a first start has no night behind it")
	require.Zero(t, b.kill(syscall.SIGTERM))
	b.yesterday()
	b.start()
	b.until("the digest is told", func() bool { return len(hook.got()) == 1 })
	notice := hook.got()[0]
	require.Equal(t, notify.Digest, notice.Event)
	require.Equal(t, "resumed: 1 session continued, 1 needs you", notice.Title)
	require.Regexp(t, `(?s)^Needs you:\n- bot \(s-1\): .*gave up after .*\nContinued:\n- bot \(0b6b\)\n  cd \S+/bot && claude --resume `+liveID+`$`, notice.Text)
	require.Len(t, notice.Sessions, 2)

	require.Zero(t, b.kill(syscall.SIGTERM))
	require.False(t, b.startAtDigest(), "once a day")
	require.Len(t, hook.got(), 1)
}
