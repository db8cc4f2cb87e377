// Package sparse passes over the holes of files: parts that nobody wrote, that take
// no room and read as zeros. There is no line's end in them, and they may be
// terabytes.
package sparse

import (
	"errors"
	"math"
	"os"
	"sort"

	"golang.org/x/sys/unix"
)

// NextData returns the first place at or after offset that is not in a hole.
// Where the file system knows of no holes that is offset itself.
func NextData(in *os.File, offset int64) int64 {
	at, err := in.Seek(offset, unix.SEEK_DATA)
	switch {
	case errors.Is(err, unix.ENXIO):
		return math.MaxInt64 // a hole to the end
	case err != nil:
		return offset
	default:
		return at
	}
}

// LastData returns where the hole begins that ends at end, or end where the byte
// before it is in none. It can be asked only what comes next, so it searches for
// the first place from which nothing does.
func LastData(in *os.File, end int64) int64 {
	if end == 0 || NextData(in, end-1) < end {
		return end
	}
	return int64(sort.Search(int(end), func(i int) bool { return NextData(in, int64(i)) >= end }))
}
