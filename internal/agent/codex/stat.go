package codex

import (
	"fmt"
	"io/fs"
	"strconv"
	"syscall"
)

// inodeOf returns a file's inode as the list of locks prints it.
func inodeOf(info fs.FileInfo) string {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return strconv.FormatUint(uint64(st.Ino), 10)
	}
	return ""
}

// deviceOf returns a file's device as the list of locks prints it.
func deviceOf(info fs.FileInfo) string {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	dev := uint64(st.Dev)
	major := dev>>8&0xfff | dev>>32&^0xfff
	minor := dev&0xff | dev>>12&^0xff
	return fmt.Sprintf("%02x:%02x", major, minor)
}
