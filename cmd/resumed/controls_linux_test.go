package main

import (
	"encoding/json"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
	"resumed/internal/sanitize"
)

// tint turns these four characters into an escape after it has quoted them: the error text of a
// provider could set the title of the terminal.
func TestNoTextOfALogLineCommandsATerminal(t *testing.T) {
	b := newBox(t)
	b.write(configFile, strings.Replace(bot, `retry in (?P<after>\S+)'`, `retry in (?P<after>\S+).*'`, 1))
	s := b.onScreen(program, "run")
	s.untilShown("watching")
	b.write("bot/logs/s-1.log", `rate limited, retry in 1h \x1b]0;owned\x07 \x1b[2J`+"\n")
	s.untilShown("owned")
	require.NotContains(t, s.text(), "\x1b]")
	require.NotContains(t, s.text(), "\x1b[2J")
	require.Contains(t, s.text(), "\x1b[", "it is coloured all the same")
}

// hostileName is a file name: JSON does not escape two of these characters.
const hostileName = "s-\u009b2J\x7f\u202e"

func TestNoLogCarriesControlCharacters(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"json", "text"} {
		t.Run(format, func(t *testing.T) {
			b := newBox(t)
			b.write(configFile, bot)
			b.write("bot/logs/"+hostileName+".log", "rate limited, retry in 1h\n")
			b.start("--log-format", format)
			b.untilState(hostileName, resume.Waiting)
			require.Zero(t, b.kill(syscall.SIGTERM))
			require.Regexp(t, `2J\\(u00|x)7f`, b.logged())
			for line := range strings.Lines(b.logged()) {
				line = strings.TrimSuffix(line, "\n")
				require.Equal(t, line, sanitize.Text(line))
				require.True(t, format == "text" || json.Valid([]byte(line)), line)
			}
		})
	}
}

func TestJSONCarriesControlCharactersSpelledOut(t *testing.T) {
	b := newBox(t)
	b.write(configFile, bot)
	name := "bot/logs/" + hostileName + ".log"
	b.write(name, "rate limited, retry in 1h\n")
	b.start()
	b.untilState(hostileName, resume.Waiting)
	for _, args := range [][]string{{"status"}, {"history"}, {"explain", "--agent", "mybot", b.path(name)}} {
		out, _, code := b.run(append(args, "--json")...)
		require.Zero(t, code, out)
		require.Equal(t, out, sanitize.Text(out), "there is nothing to take out")
		require.Contains(t, out, `\u009b2J\u007f\u202e`, args)
	}
	var status struct{ Sessions []struct{ ID string } }
	out, _, _ := b.run("status", "--json")
	require.NoError(t, json.Unmarshal([]byte(out), &status))
	require.Equal(t, hostileName, status.Sessions[0].ID, "programs read what it is")
}

func TestAReloadWarnsAsAStartDoes(t *testing.T) {
	b := newBox(t)
	b.write(configFile, bot)
	b.start()
	require.NotContains(t, b.logged(), "others can read it")
	b.reconfigure(bot + "[[notify.webhook]]\nname = \"ops\"\nurl = \"http://127.0.0.1:9/secret\"\n")
	b.until("it is warned about", func() bool {
		return strings.Contains(b.logged(), "holds a secret and others can read it: chmod 600 "+b.path(configFile))
	})
}
