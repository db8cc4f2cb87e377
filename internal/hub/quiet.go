//go:build linux && !race

package hub

import _ "unsafe" // for what is linked here by its name

// statFile is what the library of the server reads every second from the start of any
// program that holds it, to know what it uses of the processor, whether or not a server
// runs. Nobody asks for that, and a daemon that rests should not be woken up: without a
// file it gives up.
//
//go:linkname statFile github.com/nats-io/nats-server/v2/server/pse.procStatFile
var statFile string

func init() { statFile = statFile[:0] }
