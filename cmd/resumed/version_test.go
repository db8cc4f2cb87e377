package main

import (
	"encoding/json"
	"os/exec"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/buildinfo"
)

func TestVersionForPeopleAndForPrograms(t *testing.T) {
	b := newBox(t)
	out, errOut, code := b.run("version")
	require.Zero(t, code, errOut)
	require.Regexp(t, `^resumed `+regexp.QuoteMeta(buildinfo.Newest)+`\S* \(.*go1\.\d+.*, \w+/\w+\)\n$`, out)
	flag, _, code := b.run("--version")
	require.Zero(t, code)
	require.Equal(t, out, flag)

	out, errOut, code = b.run("version", "--json")
	require.Zero(t, code, errOut)
	var told map[string]any
	require.NoError(t, json.Unmarshal([]byte(out), &told))
	for _, key := range []string{"version", "resumed", "commit", "date", "go", "platform"} {
		require.Contains(t, told, key)
	}
	if revision, err := exec.Command("git", "rev-parse", "HEAD").Output(); err == nil && told["commit"] != nil {
		require.Contains(t, string(revision), told["commit"])
	}
}
