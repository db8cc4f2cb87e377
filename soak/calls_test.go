package soak

import (
	"bytes"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const maxRetries = 3

// command is what continues a session. What it does is decided by its mark, so
// that one who is sent twice does the same twice. It writes down for which
// interruption it runs, by the number of limits in the transcript.
const command = `#!/bin/sh
k=$(grep -c 'rate limited' "logs/$1.log")
echo "start $RESUMED_MARK $1 $k" >> calls
case $RESUMED_MARK in
[0-2]*) sleep 0.05; echo "step $RESUMED_MARK" >> "logs/$1.log" ;;
[3-6]*) ;; # it ends well and leaves no trace
[7-9]*) sleep 0.1; code=3 ;;
a*) code=killed ;;
[bc]*) sleep 0.8 ;; # it likely outlives a daemon, and leaves no trace
*) sleep 0.8; echo "step $RESUMED_MARK" >> "logs/$1.log" ;;
esac
echo "end $RESUMED_MARK $1 $k" >> calls
[ "$code" = killed ] && kill -9 $$
exit ${code:-0}
`

// calls are what the commands wrote down, held against what was promised.
type calls struct {
	t *testing.T
	records

	begun   map[string]int    // commands, by mark
	running map[string]string // marks, by session
	tries   map[string]int    // commands, by interruption
	limits  map[string]int    // by session
	moved   map[string]bool   // sessions whose last command left a trace
	amid    map[string]bool   // interruptions that came in the midst of the one before
}

func newCalls(t *testing.T, path string) *calls {
	return &calls{
		t: t, records: records{path: path}, begun: make(map[string]int), running: make(map[string]string), tries: make(map[string]int),
		limits: make(map[string]int), moved: make(map[string]bool), amid: make(map[string]bool),
	}
}

// records are lines that others append to a file.
type records struct {
	path string
	seen int64 // bytes that were read
}

// fresh returns the whole lines that were written since.
func (r *records) fresh(t *testing.T) iter.Seq[string] {
	file, err := os.Open(r.path)
	require.NoError(t, err)
	defer file.Close()
	data, err := io.ReadAll(io.NewSectionReader(file, r.seen, math.MaxInt32))
	require.NoError(t, err)
	whole := string(data[:bytes.LastIndexByte(data, '\n')+1])
	r.seen += int64(len(whole))
	return strings.Lines(whole)
}

// read takes in what was written down since, and returns how many commands began.
func (c *calls) read() int {
	for line := range c.fresh(c.t) {
		fields := strings.Fields(line)
		require.Len(c.t, fields, 4, line)
		what, mark, session, interruption := fields[0], fields[1], fields[2], fields[2]+" "+fields[3]
		switch what {
		case "start":
			c.begun[mark]++
			require.Equal(c.t, 1, c.begun[mark], "a resume was sent twice: %s", line)
			require.Empty(c.t, c.running[session], "a second command while the first one runs: %s", line)
			c.running[session], c.moved[session] = mark, false
			c.tries[interruption]++
			require.LessOrEqual(c.t, c.tries[interruption], c.allowed(interruption), "more tries than max_retries: %s", line)
		case "end":
			require.Equal(c.t, mark, c.running[session], line)
			c.moved[session] = strings.ContainsAny(mark[:1], "012def")
			delete(c.running, session)
		}
	}
	return len(c.begun)
}

// allowed is how often an interruption may be tried. A command that was about to begin
// for the one before finds the next one in the transcript, and takes itself for its.
func (c *calls) allowed(interruption string) int {
	if c.amid[interruption] {
		return maxRetries + 1
	}
	return maxRetries
}

// limited notes that a session meets the next limit.
func (c *calls) limited(session string, rested bool) {
	c.limits[session]++
	c.moved[session] = false
	c.amid[c.interruption(session)] = !rested
}

func (c *calls) interruption(session string) string {
	return fmt.Sprint(session, " ", c.limits[session])
}

// rests reports whether no command may begin in a session: it works, or was given up.
func (c *calls) rests(session string) bool {
	c.read()
	tried := c.tries[c.interruption(session)]
	return c.running[session] == "" && (c.limits[session] == 0 || c.moved[session] || tried == c.allowed(c.interruption(session)))
}
