//go:build !linux

package runner

import (
	"crypto/rand"

	"golang.org/x/sys/unix"
)

// thisBoot names the time since the machine started. Where the kernel does not tell, it
// is another each time that it is asked for: nobody can say that it is the same.
func thisBoot() string {
	name, err := unix.Sysctl("kern.bootsessionuuid")
	if err != nil || name == "" {
		return rand.Text()
	}
	return name
}
