// Package sparse skips the holes of files: parts that were never written, use no disk space and read as
// zeros. They contain no line end, and can be terabytes.
package sparse

import (
	"errors"
	"math"
	"os"
	"sort"

	"golang.org/x/sys/unix"
)

// NextData returns the first offset that is not in a hole; offset itself if holes are not supported.
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

// LastData returns the start of the hole that ends at end, or end if the byte before it is data. The
// kernel only finds the next data, so it searches for the first offset without data up to end.
func LastData(in *os.File, end int64) int64 {
	if end == 0 || NextData(in, end-1) < end {
		return end
	}
	return int64(sort.Search(int(end), func(i int) bool { return NextData(in, int64(i)) >= end }))
}
