//go:build !linux && !darwin && !freebsd

package mounts

func network(string) string { return "" }

// InMemory reports false: it is not known here.
func InMemory(string) bool { return false }
