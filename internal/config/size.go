package config

import (
	"errors"
	"math"
	"regexp"
	"strconv"
)

// Size is a number of bytes, written with a unit: "64MiB", "500kB".
type Size int64

const wantSize = `must be a size with a unit, in quotes, such as "64MiB" or "1GB"`

var sizePattern = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?) ?([A-Za-z]+)$`)

// The units, largest first among those that are written out again.
var sizeUnits = []struct {
	name  string
	bytes int64
}{
	{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
	{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"KB", 1e3}, {"B", 1},
}

// ParseSize reads a size.
func ParseSize(s string) (Size, error) {
	m := sizePattern.FindStringSubmatch(s)
	if m == nil {
		return 0, errors.New(wantSize)
	}
	n, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return 0, errors.New(wantSize)
	}
	for _, u := range sizeUnits {
		if u.name != m[2] {
			continue
		}
		if n*float64(u.bytes) >= math.MaxInt64 {
			return 0, errors.New("must be less than 8388608TiB")
		}
		return Size(n * float64(u.bytes)), nil
	}
	return 0, errors.New(wantSize)
}

func (s Size) String() string {
	for _, u := range sizeUnits {
		if s != 0 && int64(s)%u.bytes == 0 {
			return strconv.FormatInt(int64(s)/u.bytes, 10) + u.name
		}
	}
	return "0B"
}

// UnmarshalText reads a size.
func (s *Size) UnmarshalText(text []byte) error {
	parsed, err := ParseSize(string(text))
	if err != nil {
		return err
	}
	*s = parsed
	return nil
}
