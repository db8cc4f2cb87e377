package childenv

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAnotherProgramThanTheSessionsFindsWhatItNeeds(t *testing.T) {
	own := []string{"PATH=/usr/bin:/bin"}
	session := []string{"A=1", "PATH=/home/u/bin:/usr/bin"}
	for name, c := range map[string]struct{ plan, want string }{
		"it needs nothing":                 {"", "/home/u/bin:/usr/bin"},
		"what it needs comes first":        {"PATH=/nvm/v22:/usr/bin:/bin", "/nvm/v22:/home/u/bin:/usr/bin"},
		"or last":                          {"PATH=/usr/bin:/bin:/project/bin", "/home/u/bin:/usr/bin:/project/bin"},
		"the daemon's own are none of its": {"PATH=/usr/bin:/bin", "/home/u/bin:/usr/bin"},
		"it is there already":              {"PATH=/home/u/bin:/usr/bin:/bin", "/home/u/bin:/usr/bin"},
	} {
		t.Run(name, func(t *testing.T) {
			var plan []string
			if c.plan != "" {
				plan = []string{c.plan}
			}
			require.ElementsMatch(t, []string{"A=1", "PATH=" + c.want}, WithPath(own, session, plan))
		})
	}
	require.Equal(t, []string{"A=1"}, WithPath(own, []string{"A=1"}, []string{"PATH=/x"}), "nobody saw the session's")
}
