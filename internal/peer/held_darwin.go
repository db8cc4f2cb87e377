package peer

import (
	"net"
	"os"
)

func open(*net.UnixConn, int) (*os.File, error) { return nil, nil }

func alive(int) bool { return false }
