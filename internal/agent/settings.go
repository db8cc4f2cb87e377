package agent

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// longestSettings is more than any agent writes about itself.
const longestSettings = 32 << 20

var errNoSettings = errors.New("it is no regular file")

// ReadSettings reads a file that an agent keeps for itself or finds in a project. Whoever can
// write there can put a pipe in its place, which would be waited for without an end, or a file
// without one.
func ReadSettings(path string) ([]byte, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe opens at once
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("read %s: %w", path, errNoSettings)
	case info.Size() > longestSettings:
		return nil, fmt.Errorf("read %s: it has more than %d bytes", path, longestSettings)
	}
	return io.ReadAll(io.LimitReader(file, longestSettings))
}
