package opencode

import (
	"context"
	"errors"
	"fmt"
	"time"

	"resumed/internal/resume"
)

// Weigh returns the size of the context as the last answer of the session tells it.
// How long it is kept is known of one provider only.
func (a *Agent) Weigh(ctx context.Context, s resume.Session) (found resume.Context, known bool, err error) {
	db, err := openDatabase(ctx, s.Transcript)
	if err != nil {
		return found, false, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	rows, err := db.QueryContext(ctx, `SELECT
		coalesce(json_extract(data, '$.tokens.input'), 0) + coalesce(json_extract(data, '$.tokens.output'), 0)
			+ coalesce(json_extract(data, '$.tokens.cache.read'), 0) + coalesce(json_extract(data, '$.tokens.cache.write'), 0),
		coalesce(json_extract(data, '$.time.completed'), json_extract(data, '$.time.created'), 0),
		coalesce(json_extract(data, '$.providerID'), '')
		FROM message WHERE session_id = ? AND octet_length(data) <= ? AND json_valid(data) ORDER BY rowid DESC LIMIT 20`, s.Key.ID, longest)
	if err != nil {
		return found, false, fmt.Errorf("read the size of the context: %w", err)
	}
	defer rows.Close()
	for rows.Next() && !known {
		var tokens, at any
		var provider string
		if err := rows.Scan(&tokens, &at, &provider); err != nil {
			return found, false, fmt.Errorf("read the size of the context: %w", err)
		}
		when := time.UnixMilli(number(at)).UTC()
		if known = number(tokens) > 0 && resume.Possible(when); !known {
			continue
		}
		found = resume.Context{Tokens: number(tokens), At: when}
		if provider == "anthropic" {
			found.Warm = 5 * time.Minute
		}
	}
	return found, known, rows.Err()
}
