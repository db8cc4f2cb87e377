package state

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

func history(t testing.TB, s *Store, f Filter) []Entry {
	t.Helper()
	var lines []Entry
	for e, err := range s.History(t.Context(), f) {
		require.NoError(t, err)
		lines = append(lines, e)
	}
	return lines
}

func TestHistoryIsReadInOrderAndByFilter(t *testing.T) {
	s := open(t, t.TempDir())
	t.Cleanup(func() { s.Close() })
	start := time.UnixMilli(1_800_000_000_000)
	a, b := resume.Key{Agent: "codex", ID: "a"}, resume.Key{Agent: "codex", ID: "b"}
	for n := range 3 * historyPage {
		key := a
		if n%3 == 0 {
			key = b
		}
		s.AppendHistory(Entry{At: start.Add(time.Duration(n) * time.Second), Key: key, Kind: "limited", Data: json.RawMessage(fmt.Sprint(n))})
	}
	all := history(t, s, Filter{})
	require.Len(t, all, 3*historyPage)
	for n, e := range all {
		require.Equal(t, fmt.Sprint(n), string(e.Data))
	}
	require.Equal(t, Entry{At: start, Key: b, Kind: "limited", Data: json.RawMessage("0")}, all[0])
	require.Len(t, history(t, s, Filter{Key: a}), 2*historyPage)
	require.Len(t, history(t, s, Filter{Since: start.Add(1000 * time.Second)}), 500)
	require.Empty(t, history(t, s, Filter{Key: resume.Key{Agent: "gemini", ID: "a"}}))

	last := history(t, s, Filter{Last: 2})
	require.Equal(t, []string{"1498", "1499"}, []string{string(last[0].Data), string(last[1].Data)}, "the newest, oldest first")
	last = history(t, s, Filter{Key: b, Last: 1, Since: start})
	require.Len(t, last, 1)
	require.Equal(t, "1497", string(last[0].Data))
	require.Len(t, history(t, s, Filter{Last: 10 * historyPage}), 3*historyPage, "there are no more")

	// A reader may stop early, and others may write meanwhile.
	for _, err := range s.History(t.Context(), Filter{}) {
		require.NoError(t, err)
		s.Put(session("meanwhile", 1))
		require.NoError(t, s.Sync(t.Context()))
		break
	}
}

func TestHistoryIsPrunedByAgeAndSize(t *testing.T) {
	s := open(t, t.TempDir())
	t.Cleanup(func() { s.Close() })
	data := json.RawMessage(`"` + strings.Repeat("x", 1000) + `"`)
	fillUp := func(n int, at time.Time) {
		for range n {
			s.AppendHistory(Entry{At: at, Kind: "k", Data: data})
		}
		require.NoError(t, s.Sync(t.Context()))
	}
	fillUp(3*pruneStep-1, time.Now().Add(-100*24*time.Hour))
	fillUp(1000, time.Now())

	require.NoError(t, s.Prune(t.Context(), 0, 0))
	require.Len(t, history(t, s, Filter{}), 1000+3*pruneStep-1, "no bound")
	require.NoError(t, s.Prune(t.Context(), 90*24*time.Hour, 64<<20))
	require.Len(t, history(t, s, Filter{}), 1000, "by age")

	require.NoError(t, s.Prune(t.Context(), 90*24*time.Hour, 256<<10))
	left := len(history(t, s, Filter{}))
	require.Greater(t, left, 100, "by size")
	require.Less(t, left, 260, "by size")

	s = reopen(t, s)
	info, err := os.Stat(s.Path())
	require.NoError(t, err)
	require.Less(t, info.Size(), int64(512<<10), "the file itself must shrink")
	require.Len(t, history(t, s, Filter{}), left)
}

// A reader without a daemon must leave everything as it is, also the write-ahead log of a killed
// daemon.
func TestReaderReadsWithoutHolding(t *testing.T) {
	dir := t.TempDir()
	_, err := OpenReader(dir)
	require.ErrorIs(t, err, fs.ErrNotExist)

	s := open(t, dir)
	key := resume.Key{Agent: "codex", ID: "a"}
	s.AppendHistory(Entry{At: time.UnixMilli(1000), Key: key, Kind: "waiting", Data: json.RawMessage(`{}`)})
	s.AppendHistory(Entry{At: time.UnixMilli(2000), Kind: "paused", Data: json.RawMessage(`{}`)})
	require.NoError(t, s.Sync(t.Context()))

	read := func() (kinds []string) {
		r, err := OpenReader(dir)
		require.NoError(t, err)
		for e, err := range r.History(t.Context(), Filter{}) {
			require.NoError(t, err)
			kinds = append(kinds, e.Kind)
		}
		keys, err := r.HistoryKeys(t.Context())
		require.NoError(t, err)
		require.Equal(t, []resume.Key{key}, keys, "what concerns no session is no session")
		require.NoError(t, r.Close())
		return kinds
	}
	require.Equal(t, []string{"waiting", "paused"}, read(), "beside a daemon")
	require.NoError(t, s.Close())
	require.Equal(t, []string{"waiting", "paused"}, read(), "after one")
	s = open(t, dir)
	require.NoError(t, s.Close(), "a reader leaves nothing that keeps a daemon from starting")
}

func TestAReaderSaysHowMuchIsStored(t *testing.T) {
	s := open(t, t.TempDir())
	one, two := session("one", 1), session("two", 2)
	s.Put(one)
	s.Put(two)
	s.PutCursor("/t/one", json.RawMessage(`{"offset":1}`))
	s.AppendHistory(Entry{At: time.UnixMilli(1000), Kind: "paused", Data: json.RawMessage(`{"a":1}`)})
	require.NoError(t, add(t, s, "n1", []string{"desktop", "ops"}, []byte("hello"), time.UnixMilli(1000)))
	require.NoError(t, s.Done(t.Context(), "n1", "ops", "delivered"))
	r, err := OpenReader(filepath.Dir(s.Path()))
	require.NoError(t, err)
	sessions, err := r.Sessions()
	require.NoError(t, err)
	require.Equal(t, []resume.Session{one, two}, sessions)
	holdings, err := r.Holdings(t.Context())
	require.NoError(t, err)
	bytes := 0
	for _, session := range sessions {
		data, err := json.Marshal(session)
		require.NoError(t, err)
		bytes += len(data)
	}
	require.Equal(t, []Holding{
		{"sessions", 2, int64(bytes)}, {"cursors", 1, 18}, {"history", 1, 7}, {"notices", 2, 5},
	}, holdings, "a finished notice has no text any more")

	require.NoError(t, r.Close())
	require.NoError(t, s.Close())
	_, err = r.Sessions()
	require.ErrorContains(t, err, "load sessions")
	_, err = r.Holdings(t.Context())
	require.ErrorContains(t, err, "measure sessions")
}

// A write may be in the log only, or in the database and no longer in the log.
func TestTheLastWriteIsThatOfTheNewerFile(t *testing.T) {
	dir := t.TempDir()
	require.True(t, LastWritten(dir).IsZero(), "no daemon has run there")
	older, newer := time.UnixMilli(1_800_000_000_000), time.UnixMilli(1_800_000_060_000)
	write := func(name string, at time.Time) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
		require.NoError(t, os.Chtimes(filepath.Join(dir, name), at, at))
	}
	write("resumed.db", older)
	require.True(t, LastWritten(dir).Equal(older))
	write("resumed.db-wal", newer)
	require.True(t, LastWritten(dir).Equal(newer))
	write("resumed.db", newer.Add(time.Minute))
	require.True(t, LastWritten(dir).Equal(newer.Add(time.Minute)))
}

// To check the bound once an hour is not enough: many steps are reported while they come.
func TestAHistoryThatGrowsIsPrunedBeforeItPassesItsBound(t *testing.T) {
	const bound = 4 << 20
	s := open(t, t.TempDir())
	ctx := t.Context()
	require.NoError(t, s.Prune(ctx, 0, bound))
	data := json.RawMessage(`{"reason":"` + strings.Repeat("x", 800) + `"}`)
	told := 0
	for range 40 {
		for range 500 {
			s.AppendHistory(Entry{At: time.Now(), Kind: "waiting", Data: data})
		}
		require.NoError(t, s.Sync(ctx))
		select {
		case <-s.Grown():
			told++
			require.NoError(t, s.Prune(ctx, 0, bound))
		default:
		}
		info, err := os.Stat(s.Path())
		require.NoError(t, err)
		require.Less(t, info.Size(), int64(2*bound))
	}
	require.Greater(t, told, 3)
	require.NoError(t, s.Prune(ctx, 0, 0))
	s.AppendHistory(Entry{At: time.Now(), Kind: "waiting", Data: json.RawMessage(`"` + strings.Repeat("x", 2*bound) + `"`)})
	require.Empty(t, s.Grown(), "where there is no bound nobody is told")
}

// Small lines fill a database too: each counts with what it takes besides its data.
func TestAHistoryIsPrunedWhenMoreThanAnEighthOfItsBoundIsNew(t *testing.T) {
	s := open(t, t.TempDir())
	t.Cleanup(func() { s.Close() })
	require.NoError(t, s.Prune(t.Context(), 0, 8*4*leastBudget))
	line := func(size int) {
		s.AppendHistory(Entry{Kind: "k", Data: json.RawMessage(strings.Repeat("x", size-lineCost))})
	}
	for range 4 {
		line(leastBudget)
		require.Empty(t, s.Grown())
	}
	line(lineCost)
	require.Len(t, s.Grown(), 1)
}

func TestAHistoryThatFitsIsKeptWhole(t *testing.T) {
	s := open(t, t.TempDir())
	t.Cleanup(func() { s.Close() })
	const all = 1000
	for range all {
		s.AppendHistory(Entry{At: time.Now(), Kind: "k"})
	}
	require.NoError(t, s.Sync(t.Context()))
	var pages int64
	require.NoError(t, s.db.QueryRow("PRAGMA page_count").Scan(&pages))
	const page = 4096
	require.NoError(t, s.Prune(t.Context(), 0, pages*page))
	require.Len(t, history(t, s, Filter{}), all)
	require.NoError(t, s.Prune(t.Context(), 0, pages*page-1))
	require.Less(t, len(history(t, s, Filter{})), all)
}
