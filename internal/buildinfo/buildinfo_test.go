package buildinfo

import (
	"os"
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
		"from the tag":                       {main: "v" + Newest, settings: stamps("false"), want: Newest},
		"from a commit after it":             {main: "v9.9.10-0.20261115194142-2e63c1d4fa90", settings: stamps("false"), want: Newest + "+git20261115194142"},
		"from a tree that nobody committed":  {main: "v" + Newest + "+dirty", settings: stamps("true"), want: Newest + "+git20261115194142.changed"},
		"from a clone without any tag":       {main: "(devel)", settings: stamps("false"), want: Newest + "+git20261115194142"},
		"by go install of the tag":           {main: "v" + Newest, want: Newest},
		"by go run":                          {main: "(devel)", want: Newest + "+devel"},
		"by a tool that leaves nothing said": {want: Newest + "+devel"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := builtFrom(&debug.BuildInfo{Main: debug.Module{Version: tt.main}, Settings: tt.settings})
			require.Equal(t, tt.want, got.Version)
			if tt.settings != nil {
				require.Equal(t, "2e63c1d4fa90aa", got.Commit)
				require.Equal(t, "2026-11-15T19:41:42Z", got.Date)
			}
		})
	}
}

// The newest version in the changelog is Newest.
func TestTheChangelogKnowsTheVersion(t *testing.T) {
	text, err := os.ReadFile("../../CHANGELOG.md")
	require.NoError(t, err)
	listed := regexp.MustCompile(`(?m)^## (\d+\.\d+\.\d+)`).FindSubmatch(text)
	require.NotNil(t, listed, "no version stands in the changelog")
	require.Equal(t, Newest, string(listed[1]))
}
