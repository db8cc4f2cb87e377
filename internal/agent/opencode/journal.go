package opencode

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"

	"resumed/internal/sqliteread"
)

// maxJournal bounds how much of the plugin's file is read at a time; the plugin
// begins a new one before that.
const maxJournal = 4 << 20

// journal is the file that the plugin writes.
type journal struct {
	path   string
	inode  uint64
	offset int64 // of what was not read yet
	told   string
}

// entry is one line of the plugin's.
type entry struct {
	AtMS      int64  `json:"at"`
	PID       int    `json:"pid"`
	Directory string `json:"directory"`
	Type      string `json:"type"`
	Session   string `json:"session"`
	Status    Status `json:"status"`
}

// parseEntry reads a line of the plugin's, or says that it means nothing.
func parseEntry(line []byte) (note, bool) {
	var e entry
	if json.Unmarshal(line, &e) != nil || e.Session == "" || e.PID <= 0 || e.AtMS <= 0 || e.AtMS > latestMS {
		return note{}, false
	}
	n := note{session: e.Session, directory: e.Directory, atMS: e.AtMS, pid: e.PID, status: e.Status}
	n.kind = kindOfEvent(e.Type, e.Status)
	return n, n.kind != 0
}

// readJournal takes in what the plugin wrote since the last time.
func (f *follower) readJournal(ctx context.Context) {
	notes, err := f.journal.read()
	if err != nil && !errors.Is(err, fs.ErrNotExist) && f.journal.told != err.Error() {
		f.journal.told = err.Error()
		f.log.Warn("cannot read what the plugin wrote", "path", f.journal.path, "err", err)
	}
	if len(notes) > 0 {
		f.hear(ctx, notes...)
	}
}

// read returns what is new in complete lines. A file that was begun anew is
// read from its start.
func (j *journal) read() ([]note, error) {
	file, err := os.OpenFile(j.path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	if now := sqliteread.StampOfFile(info); now.Inode != j.inode || now.Size < j.offset {
		j.inode, j.offset = now.Inode, 0
	}
	if info.Size()-j.offset > maxJournal {
		j.offset = info.Size() - maxJournal // the first line read is cut and means nothing
	}
	data, err := io.ReadAll(io.NewSectionReader(file, j.offset, maxJournal))
	if err != nil {
		return nil, err
	}
	data = data[:bytes.LastIndexByte(data, '\n')+1]
	j.offset += int64(len(data))
	var notes []note
	for line := range bytes.Lines(data) {
		if n, ok := parseEntry(line); ok {
			notes = append(notes, n)
		}
	}
	return notes, nil
}
