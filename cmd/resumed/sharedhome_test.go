package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

// A home may be on a file system that other machines share. A session that another machine has
// registered is never continued here, and a person is told what to do.
func TestASessionThatAnotherMachineHasRegisteredIsHeld(t *testing.T) {
	b := newLiveBox(t)
	const entry = ".claude/sessions/7.json"
	b.write(entry, fmt.Sprintf(`{"pid":7,"sessionId":%q,"procStart":"900","status":"idle","pidDomain":"linux:0123456789abcdef0123456789abcdef:pid:[4026531836]","updatedAt":%d}`,
		liveID, time.Now().Add(time.Minute).UnixMilli()))
	b.start()
	b.overloaded()
	b.until("it is held", func() bool { return strings.Contains(b.session(liveID).Reason, "on another machine") })
	held := b.session(liveID)
	require.Equal(t, resume.Waiting, held.State)
	require.Contains(t, held.Reason, "begins with 01234567")
	require.Contains(t, held.Reason, "remove "+b.path(entry))
	out, _, code := b.run("status", liveID)
	require.Zero(t, code)
	require.Contains(t, out, "on another machine")

	_, errOut, code := b.run("retry", liveID)
	require.Zero(t, code, errOut)
	b.until("an order does not go over it either", func() bool { return b.session(liveID).State == resume.Waiting })
	require.Empty(t, b.read("runs"))

	require.NoError(t, os.Remove(b.path(entry))) // a person knows that it is gone for good
	_, errOut, code = b.run("retry", liveID)
	require.Zero(t, code, errOut)
	b.untilState(liveID, resume.Watching)
	require.Equal(t, 1, strings.Count(b.read("runs"), "\n"))
}
