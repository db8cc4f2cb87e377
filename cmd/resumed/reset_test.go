package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

// codexBank answers as Codex's app-server does when its account has as many resets as a file says.
const codexBank = `#!/bin/sh
[ "$1" != --version ] || exit
if [ "$1" = app-server ]; then
	while read -r line; do
		case "$line" in
		*'"initialize"'*) echo '{"id":1,"result":{"userAgent":"x"}}' ;;
		*rateLimits/read*) echo '{"method":"remoteControl/status/changed","params":{}}'
			echo '{"id":2,"result":{"rateLimits":{},"rateLimitResetCredits":{"availableCount":'$(cat "$HOME/bank")',"credits":null}}}' ;;
		*consume*) echo "$line" >> "$HOME/consumed"; echo 0 > "$HOME/bank"; echo '{"id":2,"result":{"outcome":"'$(cat "$HOME/outcome")'"}}' ;;
		esac
	done
	exit
fi
`

// A banked reset is shown when a person asks for it, and used when a person says so, and never otherwise.
func TestABankedResetIsUsedAtItsUsersWord(t *testing.T) {
	b := newBox(t)
	b.write(configFile, "[resume]\nmargin = \"0s\"\nunseen = \"same_mode\"\n")
	b.write("bin/codex", codexBank+strings.TrimPrefix(codexStandIn, "#!/bin/sh\n"))
	b.write("bank", "1")
	b.write("outcome", "reset")
	rollout := strings.Replace(shiftRollout(t, time.Now().Add(time.Hour), b.path("bot")), `"model_provider":"fake"`, `"model_provider":"openai"`, 1)
	b.write(codexRollout, rollout)
	b.start()
	b.untilState(codexSession, resume.Waiting)
	out, _, _ := b.run("status")
	require.NotContains(t, out, "in the bank", "nobody asked for it")

	out, errOut, code := b.run("usage", "--resets")
	require.Zero(t, code, errOut)
	require.Contains(t, out, "codex:default: 1 reset in the bank; resumed retry SESSION --use-reset uses one\n")
	out, _, _ = b.run("status")
	require.Contains(t, out, "1 reset in the bank")
	out, _, _ = b.run("usage", "--json")
	var said struct {
		Accounts []struct {
			Banked int `json:"resets_banked"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(out), &said))
	require.Equal(t, 1, said.Accounts[0].Banked)

	_, errOut, code = b.run("retry", codexSession, "--use-reset")
	require.NotZero(t, code)
	require.Contains(t, errOut, "nothing was done: 1 reset in the bank, and nobody agreed to use one")
	require.Contains(t, errOut, "--use-reset --yes")
	require.NoFileExists(t, b.path("consumed"))

	term := newTerminal(b, 80, 24, nil, "retry", codexSession, "--use-reset")
	term.shows("1 reset in the bank. Use one now? [y/N]")
	term.keys("n", "Enter")
	term.shows("nothing was done")
	require.NoFileExists(t, b.path("consumed"))
	require.Equal(t, resume.Waiting, b.session(codexSession).State)

	_, errOut, code = b.run("retry", codexSession, "--use-reset", "--yes")
	require.Zero(t, code, errOut)
	b.untilState(codexSession, resume.Watching)
	require.Contains(t, b.read("calls"), "\nresume\n"+codexSession+"\n")
	require.Equal(t, 1, strings.Count(b.read("consumed"), "\n"))
	require.Regexp(t, `"idempotencyKey":"[0-9a-f-]{36}"`, b.read("consumed"))
	require.Contains(t, b.logged(), "a reset of the usage limit was used")
	out, _, _ = b.run("status")
	require.NotContains(t, out, "in the bank")

	_, errOut, code = b.run("retry", codexSession, "--use-reset", "--yes")
	require.NotZero(t, code)
	require.Contains(t, errOut, "no reset is in the bank")
}

// A reset that the provider did not give is no reason to go before the time that it named.
func TestAResetThatWasNotGivenChangesNothing(t *testing.T) {
	b := newBox(t)
	b.write(configFile, bot+"[resume]\nmargin = \"0s\"\nunseen = \"same_mode\"\n")
	b.write("bin/codex", codexBank+strings.TrimPrefix(codexStandIn, "#!/bin/sh\n"))
	b.write("bank", "1")
	b.write("outcome", "nothingToReset")
	text := shiftRollout(t, time.Now().Add(time.Hour), b.path("bot"))
	b.write(codexRollout, strings.Replace(text, `"model_provider":"fake"`, `"model_provider":"openai"`, 1))
	const other = "01a1dc7f-d50d-70c2-94be-ec6581ff1f01"
	b.write(strings.ReplaceAll(codexRollout, codexSession, other), strings.ReplaceAll(text, codexSession, other))
	b.write("bot/logs/s-1.log", "step 1\nrate limited, retry in 1h\n")
	b.start()
	b.untilState(codexSession, resume.Waiting)
	b.untilState(other, resume.Waiting)
	b.untilState("s-1", resume.Waiting)
	for session, why := range map[string]string{
		codexSession: "no allowance of the account is used up",
		other:        "only accounts of ChatGPT have resets",
		"s-1":        "mybot has no resets in a bank",
	} {
		_, errOut, code := b.run("retry", session, "--use-reset", "--yes")
		require.NotZero(t, code)
		require.Contains(t, errOut, why)
		require.Equal(t, resume.Waiting, b.session(session).State)
	}
	require.NoFileExists(t, b.path("calls"))
	_, errOut, code := b.run("retry", "--use-reset", codexSession, other)
	require.Equal(t, exitUsage, code)
	require.Contains(t, errOut, "need one session")
}
