package procfs

import (
	"os"
	"strings"
)

// Boot returns an id of the time since the machine started; "": not known.
func Boot() string {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // empty if the kernel has none
	return strings.TrimSpace(string(id))
}
