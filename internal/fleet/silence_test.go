package fleet

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

// faulty is a store that counts what it is asked for, and fails where a test wants it.
type faulty struct {
	*Memory
	err      error         // of every question, if set
	takes    time.Duration // until the answer to a write is read
	listless bool          // only List fails
	deaf     atomic.Bool   // Watch fails

	mu     sync.Mutex     // guards what follows
	counts map[string]int // by question and key
}

func newFaulty() *faulty {
	return &faulty{Memory: NewMemory(time.Now), counts: make(map[string]int)}
}

func (s *faulty) count(question string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts[question]++
}

// asked returns how often a question was asked.
func (s *faulty) asked(question string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts[question]
}

func (s *faulty) Get(ctx context.Context, b Bucket, key string) (Entry, error) {
	if s.count("get " + key); s.err != nil {
		return Entry{}, s.err
	}
	return s.Memory.Get(ctx, b, key)
}

func (s *faulty) List(ctx context.Context, b Bucket, prefix string) ([]Entry, error) {
	if s.count("list " + prefix); s.err != nil || s.listless {
		return nil, errSilence
	}
	return s.Memory.List(ctx, b, prefix)
}

func (s *faulty) Update(ctx context.Context, b Bucket, key string, value []byte, rev uint64, lasts time.Duration) (uint64, error) {
	if s.count("write " + key); s.err != nil {
		return 0, s.err
	}
	next, err := s.Memory.Update(ctx, b, key, value, rev, lasts)
	time.Sleep(s.takes)
	return next, err
}

func (s *faulty) Watch(ctx context.Context) (<-chan Entry, error) {
	if s.count("watch"); s.deaf.Load() {
		return nil, errSilence
	}
	return s.Memory.Watch(ctx)
}

// put writes what another host has written.
func (s *faulty) put(t *testing.T, b Bucket, key, value string) {
	t.Helper()
	e, err := s.Memory.Get(t.Context(), b, key)
	if err != nil {
		require.ErrorIs(t, err, ErrMissing)
	}
	_, err = s.Memory.Update(t.Context(), b, key, []byte(value), e.Rev, 0)
	require.NoError(t, err)
}

// In a large fleet a host may not have written for an hour. If the store then does not answer, it has
// been silent for a heartbeat and one answer: not for the whole hour.
func TestAHostThatSeldomWritesIsNotAloneAtTheFirstSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := aheadBy(newFaulty(), 0)
		time.Sleep(time.Hour)
		f.noteAnswer(false, errSilence)
		left := f.pace.silence() - f.pace.heartbeat - AnswerWithin
		time.Sleep(left - 1)
		f.noteAnswer(false, errSilence)
		require.False(t, f.Standing().Alone)
		time.Sleep(time.Nanosecond)
		require.True(t, f.Standing().Alone)
		f.noteAnswer(false, nil)
		require.True(t, f.Standing().Alone, "a read that is answered does not end it")
		f.noteAnswer(true, ErrConflict)
		require.False(t, f.Standing().Alone)
	})
}

type writes struct {
	noMetrics
	results []string
}

func (w *writes) Wrote(result string) { w.results = append(w.results, result) }

func TestEveryWriteIsCountedByItsEnd(t *testing.T) {
	f, counter := aheadBy(newFaulty(), 0), new(writes)
	f.opts.Metrics = counter
	for _, err := range []error{nil, ErrConflict, errSilence, errors.Join(ErrConflict)} {
		f.wrote(err)
	}
	require.Equal(t, []string{"won", "lost", "silent", "lost"}, counter.results)
}

func TestAHostRenewsItsLeaseOncePerHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, back := newFaulty(), time.Duration(0)
		f := aheadBy(store, 0)
		f.opts.Now = func() time.Time { return time.Now().Add(-back) }
		beats := func() int { return store.asked("write " + HostKey("a")) }
		f.tick(t.Context())
		f.tick(t.Context()) // it was woken
		require.Equal(t, 1, beats())
		time.Sleep(Heartbeat - time.Second)
		f.tick(t.Context())
		require.Equal(t, 1, beats())
		time.Sleep(time.Second)
		f.tick(t.Context())
		require.Equal(t, 2, beats())
		back = time.Minute // a person sets the clock back
		f.tick(t.Context())
		require.Equal(t, 3, beats(), "its lease would end before the next heartbeat")
	})
}

func TestAHostThatCannotWatchTriesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer synctest.Wait()
		defer stop()
		store := newFaulty()
		store.deaf.Store(true)
		f := aheadBy(store, 0)
		f.account("x")
		go func() { _ = f.Run(ctx) }()
		time.Sleep(10 * Heartbeat)
		synctest.Wait()
		require.LessOrEqual(t, store.asked("watch"), 12, "at each heartbeat")
		store.deaf.Store(false)
		time.Sleep(2 * Heartbeat)
		synctest.Wait()
		watches := store.asked("watch")
		store.put(t, Accounts, "x", `{"state":"open"}`)
		synctest.Wait()
		require.EqualValues(t, "open", f.Known()["x"].State, "it learns of a change at once")
		time.Sleep(10 * Heartbeat)
		synctest.Wait()
		require.Equal(t, watches, store.asked("watch"), "once is enough")
	})
}

// What a host has written is removed with it. The others do not wait for a revision that is gone.
func TestARevisionThatIsGoneIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFaulty()
		f := aheadBy(store, 0)
		store.put(t, Accounts, "x", `{"state":"closed"}`)
		left, err := store.Memory.Get(t.Context(), Accounts, "x")
		require.NoError(t, err)
		store.put(t, Accounts, "x", `{"state":"open","by":"mallory"}`)
		_, err = f.read(t.Context(), "x")
		require.NoError(t, err)
		require.EqualValues(t, "open", f.Known()["x"].State)

		store.buckets[Accounts]["x"] = kept{left, TTL[Accounts]}
		_, err = f.read(t.Context(), "x")
		require.ErrorIs(t, err, ErrConflict, "the server may be behind")
		time.Sleep(f.pace.lease() - 1)
		_, err = f.read(t.Context(), "x")
		require.ErrorIs(t, err, ErrConflict)
		time.Sleep(time.Nanosecond)
		was, err := f.read(t.Context(), "x")
		require.NoError(t, err)
		require.EqualValues(t, "closed", f.Known()["x"].State)
		require.NoError(t, f.write(t.Context(), "x", was, Account{State: resume.Open}), "and it can be written")
	})
}
