package childenv

import (
	"testing"

	"github.com/stretchr/testify/require"
)

var own = []string{
	"HOME=/home/dev", "PATH=/bin", "PWD=/", "NOTIFY_SOCKET=/run/n", "INVOCATION_ID=1", "STATE_DIRECTORY=/var/lib/r",
	"RESUMED_CONFIG=/etc/r.toml", "RESUMED_MARK=of-another", "NOTIFY_SOCKETS=mine",
}

func TestAnAgentFindsNothingOfTheDaemonsButItsMark(t *testing.T) {
	require.Equal(t,
		[]string{"HOME=/home/dev", "NOTIFY_SOCKETS=mine", "PATH=/opt", "PWD=/src", "RESUMED_MARK=m-1"},
		Agent(own, "/src", "m-1", "PATH=/usr/bin", "PATH=/opt", "RESUMED_MARK=forged"), "each name once, with the value that was given last")
	require.NotContains(t, Agent(own, "/src", "", "RESUMED_MARK=forged"), "RESUMED_MARK=forged")
}

// A script that handles a notice may call the daemon, so it must be able to find it.
func TestAHelperFindsTheDaemonAndIsNotTakenForIt(t *testing.T) {
	require.Equal(t,
		[]string{"HOME=/home/dev", "PATH=/bin", "PWD=/", "STATE_DIRECTORY=/var/lib/r", "RESUMED_CONFIG=/etc/r.toml", "RESUMED_MARK=of-another", "NOTIFY_SOCKETS=mine", "RESUMED_EVENT=test"},
		Helper(own, "RESUMED_EVENT=test"))
	require.Len(t, own, 9, "what is given stays as it is")
}

func TestTheLastValueCounts(t *testing.T) {
	require.Equal(t, "/opt", Value([]string{"PATH=/bin", "PATHS=x", "PATH=/opt"}, "PATH"))
	require.Empty(t, Value(nil, "PATH"))
}
