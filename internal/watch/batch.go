package watch

import (
	"context"
	"io/fs"
	"log/slog"
	"os"
	"time"
)

// Weight is what a line may be worth, judged by its bytes alone.
type Weight uint8

// The weights.
const (
	Nothing Weight = iota // cannot matter
	Moves                 // may be movement: of several such lines in a row only the last one that moves counts
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
	Path        string
	Info        fs.FileInfo // of the file that is read, when the reading began
	Epoch       string      // names the content that the lines belong to
	Lines       []Line      // those that were kept
	RenamedFrom string      // the path before, if it was renamed
	Late        bool        // read from a stored cursor: an earlier watcher has read the beginning

	// Block is a run of whole lines that is in memory anyway, and contains those of the batch;
	// BlockAt is its offset. Valid during Deliver only.
	Block   []byte
	BlockAt int64

	// File is the open file. Read it with ReadAt, and during Deliver only.
	File *os.File

	// Cursor is to be stored once the batch is applied. It is zero in a Back
	// batch: the batch after the last one of them has it.
	Cursor Cursor

	// Back marks a file that is read from its end back: the lines are older than
	// those of the batches before. Reading goes on towards the beginning until
	// Deliver has enough.
	Back bool

	// Sight numbers the readings from the end back. After an error such a
	// reading starts again with a new number: drop what the Back batches of the
	// old number said.
	Sight uint32
}

// Options say what is watched and what is called with it. All but Sift are required.
type Options struct {
	// Root is the directory that is watched. It may be a symbolic link, and it
	// need not exist yet. Below it links are not followed, neither to
	// directories nor to files.
	Root string

	// Depth is how many directory levels below Root are watched; 0 is Root
	// itself.
	Depth int

	// Match says whether the file of that name, relative to Root, is wanted.
	Match func(rel string) bool

	// Sift weighs a line by its bytes; lines that weigh Nothing are passed
	// over. Nil keeps all.
	Sift func(line []byte) Weight

	// Known returns the cursor stored for a path. It is called from Run's
	// goroutine for a path that is new to this watcher.
	Known func(path string) (Cursor, bool)

	// Since returns a time: a file without a stored cursor that a scan finds, and that
	// was last changed before, is not opened until it changes.
	Since func() time.Time

	// Deliver takes what was read. It is called from Run's goroutine, must not
	// call Check, and the batch's bytes are valid during the call only. After
	// an error the file's cursor stays where it was, and the same lines come
	// again with the file's next event or the next rescan.
	//
	// A batch may have no lines: store its cursor all the same.
	// enough ends the reading of older lines after a Back batch; elsewhere it
	// means nothing.
	Deliver func(context.Context, Batch) (enough bool, err error)

	// Ready is called once, when all files that existed at the start were
	// delivered, except very large ones.
	Ready func(context.Context)

	Log *slog.Logger
}
