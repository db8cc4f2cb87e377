package fleettest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

// Addresses returns n addresses for servers that begin later, and may begin again. They stay free until then:
// the system gives away no port of that range by itself, and no other test gets one before this one has ended.
func Addresses(t testing.TB, n int) (all []string) {
	for tries := 0; len(all) < n; tries++ {
		require.Less(t, tries, 1000, "there is no free port")
		address := fmt.Sprintf("127.0.0.1:%d", 20000+rand.IntN(10000))
		claim, err := net.ListenPacket("udp", address) // other tests see it, and it leaves the port of TCP free
		if err != nil {
			continue
		}
		t.Cleanup(func() { _ = claim.Close() })
		if server, err := net.Listen("tcp", address); err == nil {
			_ = server.Close()
			all = append(all, address)
		}
	}
	return all
}
