package state

import "strings"

// rows writes many rows of one table with one statement: with a statement for each, most of the time
// would be overhead.
type rows struct {
	columns   int
	one, many string // the statements for one row, and for rowsAtOnce
}

// rowsAtOnce is how many rows one statement writes.
const rowsAtOnce = 16

// newRows returns the rows for an INSERT into these columns of a table. conflict says what happens to
// existing rows.
func newRows(table string, columns int, conflict string) *rows {
	row := "(?" + strings.Repeat(", ?", columns-1) + ")"
	text := func(n int) string {
		return "INSERT INTO " + table + " VALUES " + row + strings.Repeat(", "+row, n-1) + conflict
	}
	return &rows{columns, text(1), text(rowsAtOnce)}
}

// put writes a row, together with the next ones of the same kind.
func (w *writer) put(r *rows, args ...any) error {
	if w.rows != r {
		if err := w.flush(); err != nil {
			return err
		}
		w.rows = r
	}
	if w.args = append(w.args, args...); len(w.args) < r.columns*rowsAtOnce {
		return nil
	}
	err := w.run(r.many, w.args...)
	w.args = w.args[:0]
	return err
}

// flush writes the buffered rows.
func (w *writer) flush() error {
	for len(w.args) > 0 {
		n := w.rows.columns
		if err := w.run(w.rows.one, w.args[:n]...); err != nil {
			return err
		}
		w.args = w.args[n:]
	}
	w.rows, w.args = nil, w.args[:0]
	return nil
}
