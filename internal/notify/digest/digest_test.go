package digest

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
	"resumed/internal/state"
)

// A digest that was sent while the clock was ahead does not stop the digests of the days after.
func TestADigestOfTheFutureStopsNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, err := state.Open(t.TempDir(), slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		defer store.Close()
		const day = 24 * time.Hour
		told := 0
		d := Digester{
			Store: store, Log: slog.New(slog.DiscardHandler),
			Night:    func(now time.Time) (begins, ends time.Time) { return now.Truncate(day), now.Truncate(day) },
			Sessions: func(context.Context) ([]*resume.Session, error) { told++; return nil, nil },
		}
		d.store(time.Now().Add(30 * day))
		ctx, stop := context.WithTimeout(t.Context(), 3*day+time.Hour)
		defer stop()
		require.NoError(t, d.Run(ctx))
		require.Equal(t, 3, told, "one a day")
	})
}
