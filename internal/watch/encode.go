package watch

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// A start writes and reads a cursor of each file. So they are written, and read as they are
// written, without looking up at every one what its fields are called.

// AppendJSON appends the cursor as json.Marshal would write it.
func (c Cursor) AppendJSON(b []byte) []byte {
	b = strconv.AppendUint(append(b, `{"dev":`...), c.Dev, 10)
	b = strconv.AppendUint(append(b, `,"inode":`...), c.Inode, 10)
	b = strconv.AppendUint(append(b, `,"gen":`...), uint64(c.Gen), 10)
	b = strconv.AppendInt(append(b, `,"offset":`...), c.Offset, 10)
	b = strconv.AppendUint(append(b, `,"head":`...), c.Head, 10)
	if c.Size != 0 {
		b = strconv.AppendInt(append(b, `,"size":`...), c.Size, 10)
	}
	if c.Changed != 0 {
		b = strconv.AppendInt(append(b, `,"changed":`...), c.Changed, 10)
	}
	return append(b, '}')
}

// ParseCursor reads a cursor that was stored.
func ParseCursor(data []byte) (c Cursor, err error) {
	if c, ok := ownCursor(data); ok {
		return c, nil
	}
	err = json.Unmarshal(data, &c)
	return c, err
}

// ownCursor reads what AppendJSON writes, and nothing else.
func ownCursor(data []byte) (c Cursor, ok bool) {
	rest, gen, offset, size, changed := data, uint64(0), uint64(0), uint64(0), uint64(0)
	for _, field := range [...]struct {
		name string
		to   *uint64
	}{
		{`{"dev":`, &c.Dev},
		{`,"inode":`, &c.Inode},
		{`,"gen":`, &gen},
		{`,"offset":`, &offset},
		{`,"head":`, &c.Head},
		{`,"size":`, &size},
		{`,"changed":`, &changed},
	} {
		if after, found := bytes.CutPrefix(rest, []byte(field.name)); found {
			if *field.to, rest, found = digits(after); !found {
				return Cursor{}, false
			}
		}
	}
	c.Gen, c.Offset, c.Size, c.Changed = uint32(gen), int64(offset), int64(size), int64(changed)
	var again [192]byte
	return c, bytes.Equal(c.AppendJSON(again[:0]), data)
}

// digits reads a number and returns what follows it.
func digits(text []byte) (n uint64, rest []byte, ok bool) {
	for i, c := range text {
		if c -= '0'; c > 9 {
			return n, text[i:], i > 0
		}
		n = 10*n + uint64(c)
	}
	return 0, nil, false
}
