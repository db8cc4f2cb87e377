package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"resumed/internal/ownership"
)

const largestKey = 4 << 10

// OwnKey reads the user's own key. It is read right before a run that uses it, and never stored.
func (a Agent) OwnKey(trust ownership.Trust) (Secret, error) {
	key, err := readKey(trust, a.OwnKeyFile)
	if err != nil {
		return "", fmt.Errorf("read own_key_file of agent %s: %w", a.Name, err)
	}
	return key, nil
}

func readKey(trust ownership.Trust, path string) (Secret, error) {
	file, err := trust.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	info, err := file.Stat()
	if err == nil {
		err = secluded(path, info)
	}
	if err != nil {
		return "", err
	}
	data, err := io.ReadAll(io.LimitReader(file, largestKey+1))
	if err != nil {
		return "", err
	}
	key := strings.TrimSpace(string(data))
	odd := func(r rune) bool { return r <= ' ' || r > '~' }
	if key == "" || len(data) > largestKey || strings.ContainsFunc(key, odd) {
		return "", fmt.Errorf("%s must hold one key and nothing else", path)
	}
	return Secret(key), nil
}

// checkKeyFile returns what is wrong with a key file, without reading it.
func checkKeyFile(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	return secluded(path, info)
}

// CheckOwnKey returns what is wrong with the file of the user's own key, without reading it.
func (a Agent) CheckOwnKey() error {
	if err := checkKeyFile(a.OwnKeyFile); err != nil {
		return fmt.Errorf("own_key_file of agent %s: %w", a.Name, err)
	}
	return nil
}

// secluded returns an error if other users may read a file.
func secluded(path string, info fs.FileInfo) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.Mode().IsRegular():
		return errors.New("must be a file")
	case ok && int(stat.Uid) != os.Getuid():
		return fmt.Errorf("must be your own file, and belongs to user %d", stat.Uid)
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("others may read it (mode %04o): chmod 600 %s", info.Mode().Perm(), path)
	default:
		return nil
	}
}
