package mounts

import "syscall"

func network(path string) string {
	var fs syscall.Statfs_t
	if syscall.Statfs(path, &fs) != nil {
		return ""
	}
	var name []byte
	for _, c := range fs.Fstypename {
		if c == 0 {
			break
		}
		name = append(name, byte(c))
	}
	if shared[string(name)] {
		return string(name)
	}
	return ""
}

// InMemory reports false: it is not known here.
func InMemory(string) bool { return false }
