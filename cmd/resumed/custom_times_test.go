package main

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A line of a custom agent may contain its time and zone.
func TestALineOfOnesOwnAgentSaysWhenItWasWritten(t *testing.T) {
	b := newBox(t)
	b.write(configFile, `
[[agent]]
name = "mybot"
kind = "custom"
files = ["~/bot/logs/*.log"]
session = '([^/]+)\.log$'
cwd = "~/bot"
limit = ['^(?P<time>\S+ \S+) (?P<zone>\S+) rate limited, retry in (?P<after>\S+)']
progress = ['^(?P<time>\S+ \S+) step']
resume = ["true"]
`)
	_, errOut, code := b.run("config", "check")
	require.Zero(t, code, errOut)
	b.write("bot/logs/s-1.log", "2026-11-15 03:00 Asia/Tokyo rate limited, retry in 2h\n")
	out, errOut, code := b.run("explain", "--agent", "mybot", "--json", b.path("bot/logs/s-1.log"))
	require.Zero(t, code, errOut)
	var said struct {
		Reset time.Time `json:"reset_at"`
	}
	require.NoError(t, json.Unmarshal([]byte(out), &said), out)
	require.WithinDuration(t, time.Date(2026, 11, 14, 20, 0, 0, 0, time.UTC), said.Reset, time.Second)
}
