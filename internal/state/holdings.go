package state

import (
	"context"
	"fmt"
)

// Holding is how much of one kind the database stores.
type Holding struct {
	What  string // sessions | cursors | history | notices
	Count int
	Bytes int64 // of the data only, without the overhead of the database
}

// Holdings returns how much the database stores of each kind.
func (r *Reader) Holdings(ctx context.Context) ([]Holding, error) {
	var all []Holding
	for _, kind := range []struct{ what, size, table string }{
		{"sessions", "octet_length(data)", "session"},
		{"cursors", "octet_length(path) + octet_length(data)", "cursor"},
		{"history", "octet_length(data)", "history"},
		{"notices", "octet_length(coalesce(payload, ''))", "delivery"},
	} {
		h := Holding{What: kind.what}
		query := "SELECT count(*), coalesce(sum(" + kind.size + "), 0) FROM " + kind.table
		if err := r.db.QueryRowContext(ctx, query).Scan(&h.Count, &h.Bytes); err != nil {
			return nil, fmt.Errorf("measure %s: %w", kind.what, judge(r.path, err))
		}
		all = append(all, h)
	}
	return all, nil
}
