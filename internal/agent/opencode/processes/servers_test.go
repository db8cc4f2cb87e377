package processes

import (
	"net"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/process"
)

// The kernel's table, with the fields that describe a socket.
const sockets = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1000 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4711 1 0000000000000000 100 0 0 10 0
   1: 0100007F:1000 0100007F:C350 01 00000000:00000000 00:00000000 00000000  1000        0 4712 1 0000000000000000 20 4 30 10 -1
   2: 0100007F:1001 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4713 1 0000000000000000 100 0 0 10 0
half a line
`

func TestTheServerIsTheProcessThatListensThere(t *testing.T) {
	require.Equal(t, map[string]string{"4711": "4096", "4713": "4097"}, listening([]byte(sockets)), "a connection is none that listens")

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	f, address := Finder{Table: process.Here}, "http://"+listener.Addr().String()
	require.True(t, f.ListensAt(os.Getpid(), address))
	require.False(t, f.ListensAt(os.Getppid(), address))
	require.NoError(t, listener.Close())
	require.False(t, f.ListensAt(os.Getpid(), address))
}
