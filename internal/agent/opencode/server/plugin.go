package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"syscall"
)

// maxPluginFile bounds how much of the plugin's file is read at a time; the plugin begins a new file before that.
const maxPluginFile = 4 << 20

// latestMS is the end of the year 9999, later than any valid time.
const latestMS = 253402300799999

// PluginFile is the file that the plugin writes.
type PluginFile struct {
	Path   string
	last   os.FileInfo
	offset int64 // of the unread part
}

// parseLine parses a line of the plugin, or returns false if it has no meaning.
func parseLine(line []byte) (e Event, ok bool) {
	if json.Unmarshal(line, &e) != nil || e.Session == "" || e.PID <= 0 || e.AtMS <= 0 || e.AtMS > latestMS {
		return Event{}, false
	}
	e.Kind = kindOf(e.Type, e.Status)
	return e, e.Kind != 0
}

// Read returns the events in new complete lines. A new file is read from its start.
func (f *PluginFile) Read() ([]Event, error) {
	file, err := os.OpenFile(f.Path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
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
	if f.last == nil || !os.SameFile(f.last, info) || info.Size() < f.offset {
		f.offset = 0
	}
	f.last = info
	f.offset = max(f.offset, info.Size()-maxPluginFile) // then the first line is cut and ignored
	data, err := io.ReadAll(io.NewSectionReader(file, f.offset, maxPluginFile))
	if err != nil {
		return nil, err
	}
	data = data[:bytes.LastIndexByte(data, '\n')+1]
	f.offset += int64(len(data))
	var events []Event
	for line := range bytes.Lines(data) {
		if e, ok := parseLine(line); ok {
			events = append(events, e)
		}
	}
	return events, nil
}
