package edit

import (
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/config"
)

// Joining a fleet keeps the rest of the configuration, with its comments.
func TestJoiningChangesTheTableOfTheFleetAlone(t *testing.T) {
	t.Parallel()
	wanted := config.Fleet{URL: "tls://hub:1", CredentialsFile: "/c", CAFile: "/a", Name: "box"}
	const said = "url = \"tls://hub:1\"\ncredentials_file = \"/c\"\nca_file = \"/a\"\nname = \"box\"\n"
	for before, after := range map[string]string{
		"":                                "\n[fleet]\n" + said,
		"[log]\nlevel = \"warn\"  # mine": "[log]\nlevel = \"warn\"  # mine\n\n[fleet]\n" + said,
		"[fleet]  # ours\nurl = \"tls://old:1\"\nshare = \"texts\"\nname=\"old\"\n# a word\n[log]\n": "[fleet]  # ours\n" + said + "share = \"texts\"\n# a word\n[log]\n",
		"#[fleet]\n": "#[fleet]\n\n[fleet]\n" + said,
	} {
		require.Equal(t, after, withFleet(before, wanted))
		require.Equal(t, after, withFleet(after, wanted), "once is enough")
	}
}

// Leaving a fleet keeps the rest, too.
func TestLeavingTakesTheTableOfTheFleetAlone(t *testing.T) {
	t.Parallel()
	for before, after := range map[string]string{
		"[log]\nlevel = \"warn\"\n\n[fleet]  # ours\nurl = \"tls://old:1\"\nshare = \"texts\"\n# of the log\n\n[http]\nlisten = \"x\"\n": "[log]\nlevel = \"warn\"\n\n# of the log\n\n[http]\nlisten = \"x\"\n",
		"#[fleet]\n[log]\nurl = 1\n":                                "#[fleet]\n[log]\nurl = 1\n",
		"[log]\n\n[fleet]\nurl = \"x\"\n\nname = \"y\"\n\n[http]\n": "[log]\n\n[http]\n",
		"[log]\n\n\n[fleet]\nurl = \"x\"\n\n\n[http]\n":             "[log]\n\n\n[http]\n",
	} {
		require.Equal(t, after, withoutFleet(before))
	}
	for _, before := range []string{"", "# mine\n", "[log]\nlevel = \"warn\"\n"} {
		require.Equal(t, before, withoutFleet(withFleet(before, config.Fleet{Name: "box"})), "as before it joined")
	}
}
