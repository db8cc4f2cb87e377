package procfs

import "golang.org/x/sys/unix"

// Boot returns an id of the time since the machine started; "": not known.
func Boot() string {
	id, _ := unix.Sysctl("kern.bootsessionuuid") // empty if the kernel has none
	return id
}
