package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestVersionSaysWhatItWasBuiltFrom(t *testing.T) {
	stamps := func(modified string) []debug.BuildSetting {
		return []debug.BuildSetting{{Key: "vcs.revision", Value: "2e63c1d4fa90aa"}, {Key: "vcs.time", Value: "2026-11-15T19:41:42Z"}, {Key: "vcs.modified", Value: modified}}
	}
	tests := map[string]struct {
		main     string
		settings []debug.BuildSetting
		want     string
	}{
		"from the tag":                       {main: "v" + newest, settings: stamps("false"), want: newest},
		"from a commit after it":             {main: "v9.9.10-0.20261115194142-2e63c1d4fa90", settings: stamps("false"), want: newest + "+git20261115194142"},
		"from a tree that nobody committed":  {main: "v" + newest + "+dirty", settings: stamps("true"), want: newest + "+git20261115194142.changed"},
		"from a clone without any tag":       {main: "(devel)", settings: stamps("false"), want: newest + "+git20261115194142"},
		"by go install of the tag":           {main: "v" + newest, want: newest},
		"by go run":                          {main: "(devel)", want: newest + "+devel"},
		"by a tool that leaves nothing said": {want: newest + "+devel"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := builtFrom(&debug.BuildInfo{Main: debug.Module{Version: tt.main}, Settings: tt.settings})
			require.Equal(t, tt.want, got.version)
			if tt.settings != nil {
				require.Equal(t, "2e63c1d4fa90aa", got.commit)
				require.Equal(t, "2026-11-15T19:41:42Z", got.date)
			}
		})
	}
}

func TestVersionForPeopleAndForPrograms(t *testing.T) {
	b := newBox(t)
	out, errOut, code := b.run("version")
	require.Zero(t, code, errOut)
	require.Regexp(t, `^resumed `+regexp.QuoteMeta(newest)+`\S* \(.*go1\.\d+.*, \w+/\w+\)\n$`, out)
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

// The newest version in the changelog is the one that is built.
func TestTheChangelogKnowsTheVersion(t *testing.T) {
	text, err := os.ReadFile("../../CHANGELOG.md")
	require.NoError(t, err)
	listed := regexp.MustCompile(`(?m)^## (\d+\.\d+\.\d+)`).FindSubmatch(text)
	require.NotNil(t, listed, "no version stands in the changelog")
	require.Equal(t, newest, string(listed[1]))
}
