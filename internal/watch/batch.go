package watch

import (
	"io/fs"
	"os"
	"time"
)

// Weight is what a line may be worth, judged by its bytes alone.
type Weight uint8

// The weights.
const (
	Nothing Weight = iota // cannot matter
	Moves                 // may be movement: of a run of such lines the last real one tells all
	Matters               // may be anything: it must be read
)

// Line is one complete line of a file.
type Line struct {
	Offset int64  // of its first byte
	End    int64  // of the byte after its newline
	Data   []byte // without newline and carriage return; valid during Deliver only
	Weight Weight

	// Cut says that the line is longer than 8 MiB and Data is its first
	// 64 KiB. Such a line cannot be judged: it is neither searched nor sifted
	// and weighs Matters.
	Cut bool
}

// Batch is a run of lines of one file, in the file's order.
type Batch struct {
	Path    string
	Info    fs.FileInfo // of the file that is read, when the reading began
	ModTime time.Time   // the same as Info tells
	Epoch   string      // the incarnation of the file that the lines stand in
	Lines   []Line      // those that were kept
	Was     string      // the file's name until now, where it was renamed
	Late    bool        // the file is read on from a stored cursor: another watcher has read its beginning

	// Held is what of the file is in memory anyway, whole lines, those of the batch
	// among them, and HeldAt where it stands. Valid during Deliver only.
	Held   []byte
	HeldAt int64

	// File is the file, open. To be read at offsets, and during Deliver only.
	File *os.File

	// More says that another file is about to be read. A call of Settle comes in
	// any case.
	More bool

	// Since is where this run of batches began: each line from there on was
	// delivered, in order, or passed over. It says nothing in a Back batch.
	Since int64

	// Cursor is what to store once the batch is dealt with. It is zero in a
	// Back batch: the batch that ends the first sight has it.
	Cursor Cursor

	// Back marks the first sight of a file: the lines are older than those of
	// all batches before. The reading goes on towards the file's beginning
	// until Deliver has enough.
	Back bool

	// Sight numbers the first sights of all files. One that could not be
	// finished is begun anew, under another number: what its Back batches told
	// may not be true any more.
	Sight uint32
}
