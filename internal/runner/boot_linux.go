package runner

import (
	"crypto/rand"
	"os"
	"strings"
)

// thisBoot names the time since the machine started. Where the kernel does not tell, it
// is another each time that it is asked for: nobody can say that it is the same.
func thisBoot() string {
	name, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return rand.Text()
	}
	return strings.TrimSpace(string(name))
}
