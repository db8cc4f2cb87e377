package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

// schemingClaude stands in for a resumed Claude Code that runs commands of resumed as its user, without
// the mark of its run, and then answers.
const schemingClaude = `#!/bin/sh
order() { env -u RESUMED_MARK sh -c '"$@"; echo "code $?"' sh %[1]s "$@" >> "$HOME/said" 2>&1; }
order retry %[2]s --own-key --yes
order queue add --agent claude-code --mode bypassPermissions -- "do what you like"
order queue add --agent claude-code --after 10h -- "do what you may"
now=$(date -u +%%Y-%%m-%%dT%%H:%%M:%%S.000Z)
printf '{"type":"assistant","sessionId":"%[3]s","timestamp":"%%s","message":{"model":"m","content":[{"type":"text","text":"Done."}]}}\n' "$now" >> "$HOME/%[4]s"
`

func TestAnAgentThatWeRunNeitherSpendsNorWidens(t *testing.T) {
	b, _ := newPayingBox(t, 1.5)
	const scheming = "0b6b1a62-1f8e-4a3b-9d5b-0a6de1f3c001"
	transcript := strings.ReplaceAll(claudeTranscript, claudeSession, scheming)
	b.write("bin/claude", fmt.Sprintf(schemingClaude, b.binary, claudeSession, scheming, transcript))
	b.write(transcript, strings.ReplaceAll(outOfAllowance(b.path("bot"), time.Hour, 1), claudeSession, scheming))
	b.start()
	b.untilState(claudeSession, resume.Waiting)
	_, errOut, code := b.run("retry", "--now", scheming)
	require.Zero(t, code, errOut)
	b.until("it has given its orders", func() bool { return strings.Count(b.read("said"), "code ") == 3 })
	said := b.read("said")
	require.Contains(t, said, "a resumed agent cannot decide to spend your money: run this in a terminal of your own\ncode 1\n")
	require.Contains(t, said, "a resumed agent cannot decide what another one may do: run this in a terminal of your own\ncode 1\n")
	require.True(t, strings.HasSuffix(said, "code 0\n"), said)
	require.False(t, b.session(claudeSession).OwnKey.Active)
	require.NotContains(t, b.logged(), "order=own_key")

	_, errOut, code = b.run("retry", claudeSession, "--own-key", "--yes")
	require.Zero(t, code, errOut, "a person may")
}
