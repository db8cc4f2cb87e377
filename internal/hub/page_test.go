package hub

import (
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/fleet"
)

// counted is a proxy between a host and its hub that counts the bytes that the hub sends.
func counted(t *testing.T, hub string) (url string, sent *atomic.Int64) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	sent = new(atomic.Int64)
	go func() {
		for {
			here, err := l.Accept()
			if err != nil {
				return
			}
			there, err := net.Dial("tcp", hub)
			if err != nil {
				_ = here.Close()
				continue
			}
			go func() { _, _ = io.Copy(there, here); _ = there.Close() }()
			go func() { _, _ = io.Copy(io.MultiWriter(here, tally{sent}), there); _ = here.Close() }()
		}
	}()
	return "tls://" + l.Addr().String(), sent
}

// tally counts the bytes that are written to it.
type tally struct{ n *atomic.Int64 }

func (t tally) Write(p []byte) (int, error) {
	t.n.Add(int64(len(p)))
	return len(p), nil
}

// A page of some sessions of a large fleet costs only those sessions, and not all there are.
func TestAPageCostsTheSameHoweverManyRowsThereAre(t *testing.T) {
	t.Parallel()
	dir, invitation := newHub(t)
	hub := serve(t, Options{Dir: dir})
	o := member(t, invitation, "box")
	var sent *atomic.Int64
	o.URL, sent = counted(t, hub.address)
	s := open(t, o)
	rows := 0
	grow := func(to int) {
		for ; rows < to; rows++ {
			_, err := s.Update(t.Context(), fleet.View, fmt.Sprintf("box.bot.%d", rows), []byte(strings.Repeat("x", 1000)), 0, 0)
			require.NoError(t, err)
		}
	}
	const most = 50
	cost := func(after uint64) (bytes int64, last uint64) {
		before := sent.Load()
		page, err := s.Page(t.Context(), fleet.View, after, most)
		require.NoError(t, err)
		require.Len(t, page.Entries, most)
		require.Equal(t, after == 0, page.Left == rows-most, "%d are left", page.Left)
		return sent.Load() - before, page.Next
	}
	grow(2 * most)
	few, _ := cost(0)
	grow(40 * most)
	first, last := cost(0)
	second, _ := cost(last)
	require.Less(t, max(first, second), 2*few, "bytes of a page")
}

// An entry that exists all the time is on some page, even if it changes meanwhile.
func TestNothingIsMissingOnAllPagesTogether(t *testing.T) {
	t.Parallel()
	dir, invitation := newHub(t)
	serve(t, Options{Dir: dir})
	s := joined(t, invitation, "box")
	revs := make(map[string]uint64)
	for i := range 30 {
		key := fmt.Sprintf("box.bot.%d", i)
		rev, err := s.Update(t.Context(), fleet.View, key, []byte("0"), 0, 0)
		require.NoError(t, err)
		revs[key] = rev
	}
	for _, key := range []string{"box.bot.3", "box.bot.17"} { // deleted: a marker stays
		require.NoError(t, s.Delete(t.Context(), fleet.View, key, revs[key]))
		delete(revs, key)
	}
	seen := make(map[string]int)
	for after, more, change := uint64(0), true, 0; more; {
		page, err := s.Page(t.Context(), fleet.View, after, 7)
		require.NoError(t, err)
		require.LessOrEqual(t, len(page.Entries), 7)
		for _, e := range page.Entries {
			seen[e.Key]++
		}
		if after, more = page.Next, page.Next != 0; change < 2 { // one that was on a page already, and one that was not
			for _, key := range []string{"box.bot.0", "box.bot.29"} {
				revs[key], err = s.Update(t.Context(), fleet.View, key, []byte("1"), revs[key], 0)
				require.NoError(t, err)
			}
			change++
		}
	}
	for key := range revs {
		require.Positive(t, seen[key], key)
		if key != "box.bot.0" && key != "box.bot.29" {
			require.Equal(t, 1, seen[key], key)
		}
	}
	require.Len(t, seen, len(revs))
}
