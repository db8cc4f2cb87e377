package main

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestHoursAreThoseOfTheUsersClock(t *testing.T) {
	tokyo, err := time.LoadLocation("Asia/Tokyo")
	require.NoError(t, err)
	b := newBox(t)
	b.vars = []string{"TZ=Asia/Tokyo"}
	now := time.Now().In(tokyo)
	b.write(configFile, fmt.Sprintf("[resume]\nhours = \"%s-%s\"\n[backoff]\nbase_delay = \"200ms\"\njitter = false\n",
		now.Add(-time.Hour).Format("15:04"), now.Add(time.Hour).Format("15:04")))
	b.write("bin/claude", callsOnly)
	b.start()
	b.write(claudeTranscript, promptLine(claudeSession, b.path("bot"), "go")+refusalLine(claudeSession, b.path("bot")))
	b.until("it is resumed within its hours", func() bool { return b.read("calls") != "" })
}
