package processes

import (
	"net"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/process"
)

func TestTheServerIsTheProcessThatListensThere(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	f, address := Finder{Table: process.Here}, "http://"+listener.Addr().String()
	require.True(t, f.listensAt(os.Getpid(), address))
	require.False(t, f.listensAt(os.Getppid(), address))
	require.NoError(t, listener.Close())
	require.False(t, f.listensAt(os.Getpid(), address))
}
