package app

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What of the program's own pages is in memory is given back, and comes back where it
// is needed.
func TestPagesThatOnlyTheStartNeededAreGivenBack(t *testing.T) {
	program, err := os.ReadFile("/proc/self/exe") // all of its pages are at hand
	require.NoError(t, err)
	require.NotEmpty(t, program)
	before := resident(t)
	leavePages()
	require.Less(t, resident(t), before)
}

// resident returns how many kilobytes of files are in this process's memory.
func resident(t *testing.T) int {
	status, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	_, after, found := strings.Cut(string(status), "RssFile:")
	require.True(t, found)
	size, err := strconv.Atoi(strings.Fields(after)[0])
	require.NoError(t, err)
	return size
}

// Memory that anything was written to has nowhere to come back from.
func TestOnlyWhatIsAsInTheFileIsGivenBack(t *testing.T) {
	const head = "00400000-015e4000 r-xp 00000000 fe:00 16252970                           /usr/bin/re sumed\n"
	for rule, c := range map[string]struct {
		smaps string
		given int
	}{
		"the program":               {head + "Rss:                   4 kB\nAnonymous:             0 kB\n", 1},
		"what was changed":          {head + "Anonymous:             4 kB\n", 0},
		"what may be changed":       {strings.Replace(head, "r-xp", "rw-p", 1) + "Anonymous:             0 kB\n", 0},
		"another file":              {strings.Replace(head, "/usr/bin/re sumed", "/usr/lib/libc.so", 1) + "Anonymous:             0 kB\n", 0},
		"no file":                   {"7ffd0000-7ffe0000 r-xp 00000000 00:00 0                          [vdso]\nAnonymous:             0 kB\n", 0},
		"a kernel that says less":   {head + "Rss:                   4 kB\n", 0},
		"something else altogether": {"who-knows what\nAnonymous:             0 kB\n", 0},
	} {
		given := asInFile(c.smaps, "/usr/bin/re sumed")
		require.Len(t, given, c.given, rule)
		if c.given > 0 {
			require.Equal(t, mapping{start: 0x400000, end: 0x15e4000, path: "/usr/bin/re sumed"}, given[0])
		}
	}
}
