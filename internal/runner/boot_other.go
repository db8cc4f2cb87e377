//go:build !linux

package runner

import (
	"crypto/rand"

	"golang.org/x/sys/unix"
)

// thisBoot returns an id of the time since the machine started. Where the kernel has none,
// each call returns a new one, because it cannot be known whether the boot is the same.
func thisBoot() string {
	name, err := unix.Sysctl("kern.bootsessionuuid")
	if err != nil || name == "" {
		return rand.Text()
	}
	return name
}
