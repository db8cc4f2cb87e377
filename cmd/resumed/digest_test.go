package main

import (
	"database/sql"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/notify"
	"resumed/internal/resume"
)

// Who wants it is told once a day what was continued, what needs them, and how to
// go on.
func TestTheMorningDigest(t *testing.T) {
	b, hook := newLiveBox(t), newHook(t)
	b.write(configFile, b.read(configFile)+bot+fmt.Sprintf("[notify]\nevents = [\"digest\"]\ndigest_at = %q\n"+
		"[[notify.webhook]]\nname = \"ops\"\nurl = %q\n", time.Now().Add(-time.Minute).Format("15:04"), hook.URL))
	b.write("bot/resume.sh", "exit 7")
	b.start()
	b.overloaded()
	b.untilState(liveID, resume.Watching)
	b.write("bot/logs/s-1.log", "step 1\nrate limited\n")
	b.untilState("s-1", resume.GaveUp)
	require.Empty(t, hook.got(), "a first start has no night behind it")
	require.Zero(t, b.kill(syscall.SIGTERM))

	db, err := sql.Open("sqlite", "file:"+b.path(".local/state/resumed/resumed.db"))
	require.NoError(t, err)
	_, err = db.Exec("UPDATE value SET data = ? WHERE key = 'digest/last'", []byte(time.Now().Add(-24*time.Hour).UTC().Format(time.RFC3339)))
	require.NoError(t, err)
	require.NoError(t, db.Close())
	b.start()
	b.until("the digest is told", func() bool { return len(hook.got()) == 1 })
	notice := hook.got()[0]
	require.Equal(t, notify.Digest, notice.Event)
	require.Equal(t, "resumed: 1 session continued, 1 needs you", notice.Title)
	require.Regexp(t, `(?s)^Needs you:\n- bot \(s-1\): .*gave up after .*\nContinued:\n- bot \(0b6b\)\n  claude --resume `+liveID+`$`, notice.Text)
	require.Len(t, notice.Sessions, 2)

	require.Zero(t, b.kill(syscall.SIGTERM))
	b.start()
	_, _, code := b.run("status")
	require.Zero(t, code)
	require.Len(t, hook.got(), 1, "once a day")
}
