package watch

import (
	"context"
	"log/slog"
	"time"
)

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
	Ready func()

	Log *slog.Logger
}
