package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

// A session that was continued in its terminal and asks for a permission there is reported at once,
// with and without hooks. No key is pressed, and the answer ends it.
func TestAPermissionThatAContinuedSessionAsksFor(t *testing.T) {
	t.Parallel()
	for name, hooks := range map[string]bool{"without hooks": false, "with hooks": true} {
		t.Run(name, func(t *testing.T) {
			b, hook := newLiveBox(t), newHook(t)
			b.configure("[notify]\ngroup_wait = \"0s\"\n[[notify.webhook]]\nname = \"ops\"\nurl = \"" + hook.URL + "\"\n")
			s := b.standIn()
			s.Asks = "rm -rf build"
			b.show(s, "exec SELF")
			b.start()
			b.overloaded()
			b.until("it asks", func() bool { return strings.Contains(b.read(b.transcript()), "toolu_1") })
			within := 30 * time.Second
			if hooks {
				b.until("it works again", func() bool { return b.session(liveID).State == resume.Watching })
				within = 5 * time.Second // the daemon looks by itself every ten
				_, errOut, code := b.runWith(fmt.Sprintf(
					`{"session_id":%q,"transcript_path":%q,"hook_event_name":"Notification","notification_type":"permission_prompt"}`,
					liveID, b.path(b.transcript())), "hook", "claude-code")
				require.Zero(t, code, errOut)
			}
			const why = "asks for permission: Bash (rm -rf build)"
			b.within(within, "it needs a person", func() bool { return b.session(liveID).State == resume.Parked })
			require.Equal(t, why, b.session(liveID).Reason)
			out, _, _ := b.run("status")
			require.Contains(t, out, "parked")
			require.Contains(t, out, why)
			b.until("the notice is sent", func() bool {
				for _, notice := range hook.got() {
					if notice.Event == "parked" && strings.Contains(strings.ToLower(notice.Text), strings.ToLower(why)) {
						return true
					}
				}
				return false
			})
			b.run("retry", liveID)
			require.Equal(t, why, b.session(liveID).Reason, "only an answer helps")
			require.Equal(t, "continue\r", b.keys())
			b.tmux("send-keys", "1")
			b.until("it is over", func() bool { return b.session(liveID).State == resume.Watching })
			require.Equal(t, "works again: you answered it", b.session(liveID).Reason)
		})
	}
}

// A session that its user left with /clear is not continued, and nobody is bothered.
func TestASessionThatWasLeftWithClear(t *testing.T) {
	t.Parallel()
	for name, quits := range map[string]bool{"and the process lives": false, "and the process ends later": true} {
		t.Run(name, func(t *testing.T) {
			b := newLiveBox(t)
			s := b.standIn()
			s.Cleared = "0b6b1a62-1f8e-4a3b-9d5b-0a6de1f3c0ff"
			s.StartedAt = time.Now().Add(-time.Hour).UnixMilli()
			b.show(s, "exec SELF")
			b.start()
			reset := time.Now().Add(15 * time.Second)
			b.outOfQuota(reset, fiveHourText)
			b.until("its process is known", func() bool { return b.session(liveID).Owner != nil })
			b.tmux("send-keys", "/clear", "Enter")
			left := func() bool { return b.session(liveID).State == resume.Watching }
			b.until("it is left", left)
			require.Equal(t, "left by you with /clear", b.session(liveID).Reason)
			if quits {
				b.tmux("kill-server")
			}
			b.until("its time has come", func() bool { return time.Now().After(reset.Add(3 * time.Second)) })
			require.True(t, left())
			require.Empty(t, b.read("runs"), "nothing was run")
			require.Equal(t, "/clear\r", b.keys())
		})
	}
}
