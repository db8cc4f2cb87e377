package agent

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHomes(t *testing.T) {
	h, err := NewHomes("bot", "/home/u/.bot/", nil)
	require.NoError(t, err)
	require.Equal(t, []Source{{Account: "bot:default", Root: "/home/u/.bot/logs", Depth: 2}}, h.Sources("logs", Source{Depth: 2}))

	h, err = NewHomes("bot", "/home/u/.bot", []string{"/srv/bot/", "/home/u/.bot", "/srv/bot"})
	require.NoError(t, err)
	require.Equal(t, []string{"/srv/bot", "/home/u/.bot"}, h.Roots)
	require.Equal(t, "bot:/srv/bot", h.Account("/srv/bot"))
	require.Equal(t, "bot:default", h.Account("/home/u/.bot"))
	require.Equal(t, "/home/u/.bot", h.Of("/home/u/.bot/logs/a"))
	require.Equal(t, "/srv/bot", h.Of("/home/u/.botany/logs/a"), "a file from elsewhere")

	_, err = NewHomes("bot", "/home/u/.bot", []string{"a", "b"})
	require.ErrorContains(t, err, `root "a" of bot is not an absolute path`)
	require.ErrorContains(t, err, `root "b" of bot is not an absolute path`)
	_, err = NewHomes("bot", "", nil)
	require.EqualError(t, err, "find the home of bot: $HOME is not set")
	h, err = NewHomes("bot", "", []string{"/srv/bot"})
	require.NoError(t, err)
	require.Equal(t, "bot:/srv/bot", h.Account("/srv/bot"))
}
