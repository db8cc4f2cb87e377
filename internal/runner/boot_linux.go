package runner

import (
	"crypto/rand"
	"os"
	"strings"
)

// thisBoot returns an id of the time since the machine started. Where the kernel has none,
// each call returns a new one, because it cannot be known whether the boot is the same.
func thisBoot() string {
	name, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return rand.Text()
	}
	return strings.TrimSpace(string(name))
}
