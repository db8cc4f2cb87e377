package usage

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

// room is what a collector works with: a store in memory, and readings by the id of a session.
type room struct {
	stored  map[string][]byte
	told    map[string][]Reading
	read    []string // the sessions whose files were read
	reports []string // the accounts of which something was reported
}

func (r *room) Value(key string) ([]byte, bool)   { data, ok := r.stored[key]; return data, ok }
func (r *room) PutValue(key string, value []byte) { r.stored[key] = value }

func (r *room) collector() *Collector {
	return NewCollector(CollectorOptions{
		Store: r,
		Read: func(_ context.Context, s resume.Session) ([]Reading, error) {
			r.read = append(r.read, s.Key.ID)
			if r.told[s.Key.ID] == nil {
				return nil, errors.New("its file cannot be read")
			}
			return r.told[s.Key.ID], nil
		},
		Report:  func(account resume.AccountKey, _ Window) { r.reports = append(r.reports, account.String()) },
		Changed: func() {},
	})
}

func moved(id, account string, event resume.Event) resume.Change {
	return resume.Change{Event: event, After: resume.Session{Key: resume.Key{Agent: "bot", ID: id}, Account: account}}
}

func used(percent float64) []Reading {
	return []Reading{{Kind: FiveHours, Length: 5 * time.Hour, Used: percent, ResetsAt: time.Now().Add(4 * time.Hour), At: time.Now()}}
}

func TestWhatASessionUsedIsReadWhenItMovesAndIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &room{stored: map[string][]byte{}, told: map[string][]Reading{"one": used(85), "two": used(10)}}
		c := r.collector()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- c.Run(ctx) }()

		c.Observe(moved("one", "a", resume.Limited{}))
		synctest.Wait()
		require.Equal(t, []string{"one"}, r.read, "also a session that a limit has just stopped")
		account := resume.AccountKey{Name: "a"}
		require.Equal(t, []string{account.String()}, r.reports)
		require.Equal(t, 85.0, c.Windows(account)[0].Used)

		c.Observe(moved("two", "b", resume.Progressed{}))
		c.Observe(moved("three", "c", resume.Prompted{}))
		time.Sleep(collectEvery)
		synctest.Wait()
		require.Equal(t, []string{"one", "two"}, r.read, "a session that has not moved since is not read again")

		require.True(t, c.IsFresh(account))
		r.told["one"] = used(100)
		c.Observe(moved("one", "a", resume.Progressed{}))
		require.False(t, c.IsFresh(account))
		synctest.Wait()
		require.True(t, c.IsFresh(account), "what is asked for is read before its time")
		require.Equal(t, 100.0, c.Windows(account)[0].Used)
		fresh := 0
		for n := range 10 { // it moves all the time
			s := moved("one", "a", resume.Progressed{})
			s.After.Seen.Offset = int64(n + 1)
			c.Observe(s)
			time.Sleep(time.Second)
			if c.IsFresh(account) {
				fresh++
			}
		}
		require.Positive(t, fresh, "nobody waits for ever")
		cancel()
		require.NoError(t, <-ended)

		next := r.collector()
		require.Len(t, next.Windows(account), 1, "the next daemon knows it")
		next.Add(account, used(86))
		require.Len(t, r.reports, 2, "and does not report it again")
	})
}
