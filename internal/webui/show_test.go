package webui

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/control"
	"resumed/internal/usage"
)

func TestDaemonInWords(t *testing.T) {
	d := showDaemon(control.Daemon{
		Version: "1.0", PID: 7, Problems: []string{"http.listen: taken"},
		Config:  control.Config{Error: new("line 1: bad\nline 2: worse")},
		Agents:  []control.Watched{{Name: "codex\x1b[2J", Sessions: 3}},
		Notices: control.Notices{Channels: []control.Channel{{Name: "ops", Pending: 1, Failed: 2, LastError: "refused"}, {Name: "desktop"}}},
	})
	require.Equal(t, "resumed 1.0, pid 7", d.Line)
	require.Equal(t, "line 1: bad\nline 2: worse", d.ConfigError)
	require.Equal(t, []note{{"wait", "notices by ops: 1 to be delivered, 2 failed: refused"}, {"bad", "http.listen: taken"}}, d.Notes, "as status says it")
	require.Equal(t, []control.Watched{{Name: "codex", Sessions: 3}}, d.Agents)
	for state, want := range map[string]string{"closed": "free", "open": "limited", "half_open": "one session tries"} {
		require.Equal(t, want, showAccount(control.Account{State: state}).State)
	}
	require.Equal(t, "1 session", showAccount(control.Account{Sessions: 1}).Sessions)
}

func TestGauges(t *testing.T) {
	for want, w := range map[gauge]usage.Window{
		{Name: "5 hours", Percent: 71.5, Words: "72 %", Tone: "good"}: {Kind: usage.FiveHours, Used: 71.5},
		{Name: "7 days", Percent: 80, Words: "80 %", Tone: "wait"}:    {Kind: usage.SevenDays, Used: 80},
		{Name: "3 hour", Percent: 100, Words: "108 %", Tone: "bad"}:   {Kind: "3_hour", Used: 108},
	} {
		want.Window = w
		require.Equal(t, []gauge{want}, showAccount(control.Account{Windows: []usage.Window{w}}).Gauges)
	}
}

func TestAnAccountThatIsUsedUpIsNotFree(t *testing.T) {
	full := usage.Window{Kind: usage.FiveHours, Used: 100, ResetsAt: time.Now().Add(time.Hour)}
	shown := showAccount(control.Account{State: "closed", Windows: []usage.Window{full}})
	require.Equal(t, []string{"5 hours used up", "wait"}, []string{shown.State, shown.Tone})
	full.ResetsAt = time.Now().Add(-time.Hour)
	shown = showAccount(control.Account{State: "closed", Windows: []usage.Window{full}})
	require.Equal(t, []string{"free", "good"}, []string{shown.State, shown.Tone}, "it has reset")
}
