package watch

import (
	"hash/maphash"
	"slices"
	"strings"

	"resumed/internal/uuidtext"
)

// shelf keeps what is known of files that rest: all of them was read, or nothing of them
// is to be. There may be a hundred thousand. So each takes one record in a row of many, the
// directory that many lie in is kept once, and what finds them is numbers.
type shelf struct {
	seed    maphash.Seed
	records []*[recordsTogether]record
	free    []uint32 // numbers of records that are not in use
	size    int
	numbers map[string]uint32 // of folders
	folders []folder
	endings []string // of names that have a UUID before them
	byName  index
	byID    index
}

const recordsTogether = 256

// folder is a directory that files on the shelf lie in.
type folder struct {
	path string // with the last slash
	dev  uint64
}

// mostEndings is how many of them are known: agents have one each.
const mostEndings = 64

// record is a file on the shelf.
type record struct {
	name          string // as packName has it; empty: it is not in use
	folder, round uint32
	inode         uint64
	size, mtime   int64
	head          uint64
	behind        uint32 // how much of it is not delivered,
	grown         uint32 // and how much was since the reading on began
	gen           uint32
	ending        uint8 // of endings, and one; 0: all of the name is there
	late, rested  bool
}

// file returns what is known of a path, to be worked with; nil: nothing.
func (w *Watcher) file(path string) *file {
	if n, rests := w.shelf.find(path); rests {
		w.unshelve(n)
	}
	return w.files[path]
}

// fileOf is file by a number.
func (w *Watcher) fileOf(id fileID) *file {
	if n, rests := w.shelf.findID(id); rests {
		w.unshelve(n)
	}
	return w.byID[id]
}

func (w *Watcher) unshelve(n uint32) {
	f := w.shelf.take(n)
	w.files[f.path], w.byID[f.seen.id] = f, f
	w.touched = append(w.touched, f)
}

// knows and knowsID report whether anything is known of a path, or a number.
func (w *Watcher) knows(path string) bool {
	_, rests := w.shelf.find(path)
	return rests || w.files[path] != nil
}

func (w *Watcher) knowsID(id fileID) bool {
	_, rests := w.shelf.findID(id)
	return rests || w.byID[id] != nil
}

// keep takes note of a file of which nothing is known yet, nor of its number.
func (w *Watcher) keep(f *file) {
	if !w.shelf.put(f) {
		f := *f // so that one for the shelf need not be moved into the heap
		w.files[f.path], w.byID[f.seen.id] = &f, &f
	}
}

// tidy puts files back that rest again.
func (w *Watcher) tidy() {
	for _, f := range w.touched {
		// One that has another name is found by that.
		if w.files[f.path] == f && w.byID[f.seen.id] == f && w.shelf.put(f) {
			delete(w.files, f.path)
			delete(w.byID, f.seen.id)
		}
	}
	w.touched = nil
}

func newShelf() shelf { return shelf{seed: maphash.MakeSeed(), numbers: make(map[string]uint32)} }

func (s *shelf) at(n uint32) *record { return &s.records[n/recordsTogether][n%recordsTogether] }

// split cuts a path into that of its directory, with the slash, and its name.
func split(path string) (dir, name string) {
	i := strings.LastIndexByte(path, '/') + 1
	return path[:i], path[i:]
}

// find returns the number of a path's record.
func (s *shelf) find(path string) (n uint32, ok bool) {
	dir, name := split(path)
	at, known := s.numbers[dir]
	if !known {
		return 0, false
	}
	var room [64]byte
	packed, ending := s.packName(room[:0], name)
	return s.byName.find(s.nameHash(at, packed), func(n uint32) bool {
		r := s.at(n)
		return r.folder == at && r.ending == ending && r.name == string(packed)
	})
}

// packName appends a name as a record has it: a UUID in half its length, without what follows it, which
// many share.
func (s *shelf) packName(to []byte, name string) (packed []byte, ending uint8) {
	if end := strings.LastIndexByte(name, '.'); end >= uuidtext.Len {
		begin := end - uuidtext.Len
		known := slices.Index(s.endings, name[end:])
		if raw, ok := uuidtext.Pack(name[begin:end]); ok && known >= 0 {
			return append(append(to, name[:begin]...), raw[:]...), uint8(known + 1)
		}
	}
	return append(to, name...), 0
}

// learnEnding takes note of what follows a UUID in a name, before the first such name is packed. Where too
// many are known it never will be, and such names are kept as they are.
func (s *shelf) learnEnding(name string) {
	end := strings.LastIndexByte(name, '.')
	if end < uuidtext.Len || len(s.endings) == mostEndings || slices.Contains(s.endings, name[end:]) {
		return
	}
	if _, ok := uuidtext.Pack(name[end-uuidtext.Len : end]); ok {
		s.endings = append(s.endings, strings.Clone(name[end:]))
	}
}

// path returns that of a record's file.
func (s *shelf) path(r *record) string {
	dir := s.folders[r.folder].path
	if r.ending == 0 {
		return dir + r.name
	}
	var room [256]byte
	begin := len(r.name) - uuidtext.PackedLen
	path := uuidtext.Append(append(append(room[:0], dir...), r.name[:begin]...), r.name[begin:])
	return string(append(path, s.endings[r.ending-1]...))
}

// findID returns the number of the record of a file, whatever its name.
func (s *shelf) findID(id fileID) (n uint32, ok bool) {
	return s.byID.find(s.idHash(id), func(n uint32) bool { return s.id(s.at(n)) == id })
}

func (s *shelf) id(r *record) fileID { return fileID{s.folders[r.folder].dev, r.inode} }

func (s *shelf) nameHash(folder uint32, packed []byte) uint64 {
	return maphash.Bytes(s.seed, packed) + uint64(folder)*0x9e3779b97f4a7c15
}

func (s *shelf) nameHashOf(n uint32) uint64 { return s.nameHash(s.at(n).folder, []byte(s.at(n).name)) }

func (s *shelf) idHashOf(n uint32) uint64 { return s.idHash(s.id(s.at(n))) }

func (s *shelf) idHash(id fileID) uint64 { return maphash.Comparable(s.seed, id) }

// put takes a file whose path and number are not on the shelf. It returns false for one that does
// not rest, or of which more is known than a record holds.
func (s *shelf) put(f *file) bool {
	dir, name := split(f.path)
	at, known := s.numbers[dir]
	if !known {
		at = uint32(len(s.folders))
		dir = strings.Clone(dir)
		s.folders = append(s.folders, folder{dir, f.seen.id.dev})
		s.numbers[dir] = at
	}
	r := record{
		folder: at, round: f.round, inode: f.seen.id.inode, gen: f.cur.Gen, late: f.late, rested: f.rested,
		size: f.seen.size, mtime: f.seen.mtime, head: f.cur.Head,
		behind: uint32(f.seen.size - f.cur.Offset), grown: uint32(f.cur.Offset - f.since),
	}
	same := s.file(&r)
	if same.path, same.sight = f.path, f.sight; same != *f {
		return false
	}
	s.learnEnding(name)
	var room [64]byte
	packed, ending := s.packName(room[:0], name)
	n := s.number()
	r.name, r.ending = string(packed), ending
	*s.at(n) = r
	s.byName.add(s.nameHashOf(n), n, s.nameHashOf)
	s.byID.add(s.idHashOf(n), n, s.idHashOf)
	return true
}

// number returns that of a record which is not in use.
func (s *shelf) number() uint32 {
	s.size++
	if last := len(s.free) - 1; last >= 0 {
		n := s.free[last]
		s.free = s.free[:last]
		return n
	}
	if s.size > len(s.records)*recordsTogether {
		s.records = append(s.records, new([recordsTogether]record))
	}
	return uint32(s.size - 1)
}

// take takes a file off the shelf.
func (s *shelf) take(n uint32) *file {
	r := s.at(n)
	f := s.file(r)
	f.path = s.path(r)
	s.byName.remove(s.nameHashOf(n), n, s.nameHashOf)
	s.byID.remove(s.idHashOf(n), n, s.idHashOf)
	*r = record{}
	s.free = append(s.free, n)
	s.size--
	return &f
}

// file returns what a record says, but for the path.
func (s *shelf) file(r *record) file {
	st := stamp{id: s.id(r), size: r.size, mtime: r.mtime}
	f := file{seen: st, round: r.round, kept: true, late: r.late, rested: r.rested}
	if !r.rested {
		offset := st.size - int64(r.behind)
		f.cur = Cursor{Dev: st.id.dev, Inode: st.id.inode, Gen: r.gen, Offset: offset, Head: r.head}.noting(st)
		f.searched, f.since = st.size, offset-int64(r.grown)
	}
	return f
}

// index finds records by a hash of theirs. A slot holds a record's number and one, or 0.
type index struct {
	slots []uint32 // a power of two of them
	used  int
}

func (x *index) find(hash uint64, is func(n uint32) bool) (n uint32, ok bool) {
	if len(x.slots) == 0 {
		return 0, false
	}
	for i := x.home(hash); x.slots[i] != 0; i = x.after(i) {
		if n := x.slots[i] - 1; is(n) {
			return n, true
		}
	}
	return 0, false
}

func (x *index) home(hash uint64) int { return int(hash>>32) & (len(x.slots) - 1) }
func (x *index) after(i int) int      { return (i + 1) & (len(x.slots) - 1) }

func (x *index) add(hash uint64, n uint32, hashOf func(uint32) uint64) {
	if 4*(x.used+1) > 3*len(x.slots) {
		old := x.slots
		x.slots = make([]uint32, max(64, 2*len(old)))
		for _, slot := range old {
			if slot != 0 {
				x.place(hashOf(slot-1), slot)
			}
		}
	}
	x.used++
	x.place(hash, n+1)
}

func (x *index) place(hash uint64, slot uint32) {
	i := x.home(hash)
	for x.slots[i] != 0 {
		i = x.after(i)
	}
	x.slots[i] = slot
}

// remove takes a record out, and moves those up that had to make way for it.
func (x *index) remove(hash uint64, n uint32, hashOf func(uint32) uint64) {
	i := x.home(hash)
	for x.slots[i] != n+1 {
		i = x.after(i)
	}
	x.used--
	x.slots[i] = 0
	for j := x.after(i); x.slots[j] != 0; j = x.after(j) {
		slot := x.slots[j]
		x.slots[j] = 0
		x.place(hashOf(slot-1), slot)
	}
}
