package watch

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// resting is a file that was read to its end.
func resting(path string, inode uint64) *file {
	st := stamp{id: fileID{7, inode}, size: int64(inode) + 100, mtime: int64(inode) * 3}
	cur := Cursor{Dev: 7, Inode: inode, Gen: uint32(inode % 3), Offset: st.size, Head: inode * 5}
	return &file{path: path, cur: cur.noting(st), since: st.size - 10, searched: st.size, seen: st, round: 4, kept: true, late: inode%2 == 0}
}

// shelved is the path of a file: some are named by a UUID, as most agents do, with endings that are
// more than are known by heart, and some after nothing else.
func shelved(inode uint64) string {
	id := fmt.Sprintf("01a1dc7f-97bf-7b93-a2a9-%012x", inode/2)
	name := [...]string{
		fmt.Sprintf("%d.jsonl", inode), "rollout-2026-11-15T00-00-00-" + id + ".jsonl", id + ".jsonl", id + ".json", id, "." + id, id + ".",
		strings.ToUpper(id) + ".jsonl", fmt.Sprintf("%s.%d", id, inode%100),
	}[inode%9]
	return fmt.Sprintf("/home/of/%d/%s", inode%7, name)
}

// Whatever is put on the shelf and taken off it, what is left is found by its path and by its
// number, as it was.
func TestTheShelfGivesBackWhatItWasGiven(t *testing.T) {
	s, model := newShelf(), make(map[string]*file)
	dice := rand.New(rand.NewPCG(5, 6))
	for range 20_000 {
		inode := uint64(dice.IntN(800))
		path := shelved(inode)
		f, known := model[path]
		n, ok := s.find(path)
		require.Equal(t, known, ok)
		other, ok := s.findID(fileID{7, inode})
		require.Equal(t, known, ok)
		require.Equal(t, n, other)
		switch {
		case known && dice.IntN(5) < 3:
			require.Equal(t, f, s.take(n))
			delete(model, path)
		case !known:
			f := resting(path, inode)
			require.True(t, s.put(f))
			model[path] = f
		}
		require.Equal(t, len(model), s.size)
	}
	for path, f := range model {
		n, ok := s.find(path)
		require.True(t, ok)
		require.Equal(t, f, s.take(n))
	}
	require.Zero(t, s.size)
	require.LessOrEqual(t, len(s.records)*recordsTogether, 1024, "room is used again")
}

func TestOnlyFilesThatRestGoOnTheShelf(t *testing.T) {
	for name, change := range map[string]func(*file){
		"is being read":            func(f *file) { f.reading = new(reading) },
		"was renamed":              func(f *file) { f.was = "/other" },
		"was deleted":              func(f *file) { f.dead = true },
		"is to be read":            func(f *file) { f.first = true },
		"could not be read":        func(f *file) { f.failed = true },
		"is not stored":            func(f *file) { f.kept = false },
		"is searched for a line":   func(f *file) { f.searched-- },
		"lies on another disk":     func(f *file) { f.seen.id.dev, f.cur.Dev = 8, 8 },
		"is another one by now":    func(f *file) { f.seen.id.inode++ },
		"was read when it changed": func(f *file) { f.cur.Changed-- },
	} {
		s := newShelf()
		require.True(t, s.put(resting("/dir/first", 1)))
		f := resting("/dir/file", 2)
		change(f)
		require.False(t, s.put(f), name)
	}
	s := newShelf()
	for _, f := range []*file{
		{path: "/dir/old", seen: stamp{fileID{7, 3}, 9, 9}, late: true, rested: true, kept: true},
		{path: "/dir/half", seen: stamp{fileID{7, 4}, 9, 9}, cur: Cursor{Dev: 7, Inode: 4, Offset: 5}, since: 5, searched: 9, kept: true},
		{path: "rootless", seen: stamp{fileID{7, 5}, 9, 9}, late: true, rested: true, kept: true},
	} {
		require.True(t, s.put(f), f.path)
		require.Equal(t, f, s.take(0), f.path)
	}
}

// A transcript that rests must cost little: there may be a hundred thousand.
func TestAFileThatRestsCostsLittleMemory(t *testing.T) {
	const files, budget = 20_000, 118 // bytes, a name of 42 of them among them
	measure := func() int64 {
		runtime.GC()
		runtime.GC() // what other tests left in a pool is gone by now
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := measure()
	s := newShelf()
	for n := range files {
		path := fmt.Sprintf("/home/dev/.claude/projects/-home-dev-src-project-%d/01a1dc7f-97bf-7b93-a2a9-%012x.jsonl", n%500, n)
		require.True(t, s.put(resting(path, uint64(n+1))))
	}
	each := float64(measure()-before) / files
	t.Logf("%.0f bytes each", each)
	require.Less(t, each, float64(budget))
	runtime.KeepAlive(s)
}
