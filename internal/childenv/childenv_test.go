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
	require.NotContains(t, Names(Agent(own, "/src", "", "RESUMED_MARK=forged")), "RESUMED_MARK", "without a mark there is none")
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

// An agent that had them would be taken for the daemon, could speak in its name, or read what was given to it.
func TestWhatAServiceManagerGaveToTheDaemonIsForTheDaemonAlone(t *testing.T) {
	var given []string
	for _, name := range []string{
		"NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES", "JOURNAL_STREAM", "INVOCATION_ID",
		"SYSTEMD_EXEC_PID", "MANAGERPID", "MAINPID", "FDSTORE", "MEMORY_PRESSURE_WATCH", "MEMORY_PRESSURE_WRITE", "CREDENTIALS_DIRECTORY",
	} {
		given = append(given, name+"=x")
	}
	require.Equal(t, []string{"HOME=/h"}, Helper(append(given, "HOME=/h")))
	places := []string{"STATE_DIRECTORY=x", "RUNTIME_DIRECTORY=x", "CACHE_DIRECTORY=x", "LOGS_DIRECTORY=x", "CONFIGURATION_DIRECTORY=x", "OLDPWD=x", "PWD=x"}
	require.Equal(t, []string{"HOME=/h", "PWD=/src"}, Agent(append(append(given, places...), "HOME=/h"), "/src", ""))
}
