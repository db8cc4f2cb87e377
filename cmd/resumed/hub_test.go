package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheHubIsAnotherProgram(t *testing.T) {
	b := newBox(t)
	out, errOut, code := b.run("help", "hub", "init")
	require.Zero(t, code, errOut)
	require.Contains(t, out, "Usage:\n  resumed hub init [flags]\n")
	same, _, code := b.run("hub", "init", "--help")
	require.Zero(t, code)
	require.Equal(t, out, same)
	out, _, code = b.run("__complete", "hub", "in")
	require.Zero(t, code)
	require.Regexp(t, `^init\t.*\ninvite\t.*\n:4\n$`, out)
	out, _, code = b.run("__complete", "hub", "init", "--l")
	require.Zero(t, code)
	require.Regexp(t, `^--log-format\t.*\n--log-level\t.*\n--listen\t.*\n:4\n$`, out, "each flag is offered once")

	_, errOut, code = b.run("--config", "some.toml", "--log-level", "debug", "hub", "list")
	require.Equal(t, exitFailed, code, "the flags of every command are passed on")
	require.Contains(t, errOut, "resumed: there is no hub in "+b.path(".local/state/resumed/hub"))
	_, errOut, code = b.run("hub", "nonsense")
	require.Equal(t, exitUsage, code)
	require.Contains(t, errOut, "resumed: unknown command \"hub nonsense\"; there is init, invite, list, remove, streams, completion\nTry: resumed hub --help\n")
	_, errOut, code = b.run("--log-level", "loud", "hub")
	require.Equal(t, exitUsage, code)
	require.Contains(t, errOut, "--log-level \"loud\": must be debug")
}

func TestWithoutTheHubsProgramItIsSaidWhatToInstall(t *testing.T) {
	b := newBox(t)
	require.NoError(t, os.Mkdir(b.path("alone"), 0o755))
	require.NoError(t, os.Link(program, b.path("alone", "resumed")))
	b.binary = b.path("alone", "resumed")
	_, errOut, code := b.run("hub", "init")
	require.Equal(t, exitFailed, code)
	require.Contains(t, errOut, "resumed-hub, which is neither in "+b.path("alone")+" nor in PATH")
	require.Contains(t, errOut, "Try: install it")
	out, _, code := b.run("__complete", "hub", "in")
	require.Zero(t, code)
	require.Equal(t, ":4\n", out)

	b.write("bin/resumed-hub", "#!/bin/sh\necho \"$0 was given $*\"\nexit 7\n")
	out, _, code = b.run("hub", "list", "--json")
	require.Equal(t, 7, code)
	require.Equal(t, b.path("bin/resumed-hub")+" was given list --json\n", out)
}
