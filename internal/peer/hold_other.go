//go:build !linux

package peer

import "net"

// hold returns nil: only Linux has handles of processes.
func hold(*net.UnixConn, int) *handle { return nil }

func (h *handle) alive() bool { return h.fd > 0 }

func (h *handle) release() {}
