package agent

import (
	"fmt"
	"io"
	"os"
)

// byteOrderMark is what some editors begin a text with.
const byteOrderMark = "\ufeff"

// OpenText opens a file at its beginning, behind a byte order mark.
func OpenText(path string) (*os.File, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	var begin [len(byteOrderMark)]byte
	if n, _ := file.ReadAt(begin[:], 0); string(begin[:n]) != byteOrderMark { // a short file has none
		return file, nil
	}
	if _, err := file.Seek(int64(len(begin)), io.SeekStart); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("pass over byte order mark: %w", err)
	}
	return file, nil
}
