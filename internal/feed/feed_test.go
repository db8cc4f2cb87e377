package feed

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

// quiet returns an agent that reports nothing, and counts how often it is
// followed.
func quiet(name string) (t *teller, followed *int) {
	followed = new(int)
	t = &teller{diary: diary{name: name}, look: func(context.Context, resume.Session) error { return nil }}
	t.follow = func(ctx context.Context, feed agent.Feed) error {
		*followed++
		feed.Ready()
		<-ctx.Done()
		return ctx.Err() // it was told to end
	}
	return t, followed
}

func TestAnAgentThatReportsByItselfGoesTheSameWay(t *testing.T) {
	s := newSink()
	opts := s.options()
	opts.Elsewhere = func(resume.Key) bool { return true }
	var (
		looked  []resume.Session
		kept    json.RawMessage
		others  bool
		refused error
	)
	a, _ := quiet("teller")
	a.look = func(_ context.Context, session resume.Session) error {
		looked = append(looked, session)
		return nil
	}
	a.follow = func(ctx context.Context, feed agent.Feed) error {
		kept, _ = feed.LoadCursor("book")
		_, others = feed.LoadCursor("diary:book")
		key := resume.Key{ID: "a"}
		refused = feed.Observe(ctx, []resume.Observation{
			{Key: key, Provider: "p\n1", Event: resume.Limited{Text: "slow\n down", Verdict: limit.Verdict{Class: limit.RateLimit}}},
			{Key: key, Event: resume.Prompted{}},
		})
		feed.StoreCursor("book", json.RawMessage(`2`))
		feed.Ready()
		<-ctx.Done()
		return nil
	}
	cursors := Cursors{"teller:book": json.RawMessage(`1`), "diary:book": json.RawMessage(`7`), "book": json.RawMessage(`8`)}
	opts.Kept = func(place string) (json.RawMessage, bool) {
		cursor, ok := cursors[place]
		return cursor, ok
	}
	f, _ := ready(t, opts, nil, a)

	require.NoError(t, refused)
	require.Equal(t, json.RawMessage(`1`), kept)
	require.False(t, others)
	seen := s.told()
	require.Equal(t, []string{"limit slow down", "prompt another resumed"}, texts(seen))
	require.Equal(t, resume.Key{Agent: "teller", ID: "a"}, seen[0].Key)
	require.Equal(t, "p 1", seen[0].Provider)
	require.Equal(t, Cursors{"teller:book": json.RawMessage(`2`)}, s.kept())
	session := resume.Session{Key: seen[0].Key}
	require.NoError(t, f.ReadNew(within(t), session))
	require.Equal(t, []resume.Session{session}, looked)
}

// Whoever can put a database into a home must not have it obeyed either. It is said once, and what was passed over is not
// taken for read.
func TestADatabaseOfAnotherUserIsPassedOver(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED: only root can give files to another user; run the tests as root too")
	}
	dir, s := t.TempDir(), newSink()
	theirs, mine := filepath.Join(dir, "theirs.db"), filepath.Join(dir, "mine.db")
	write(t, theirs, "rows")
	require.NoError(t, os.Chown(theirs, 65534, 65534))
	write(t, mine, "rows")
	var log bytes.Buffer
	opts := s.options()
	opts.Log = slog.New(slog.NewTextHandler(&log, nil))
	a, _ := quiet("teller")
	a.follow = func(ctx context.Context, feed agent.Feed) error {
		for _, path := range []string{theirs, mine, theirs} {
			seen := resume.Observation{Key: resume.Key{ID: "a"}, Transcript: path, Event: resume.Limited{Text: filepath.Base(path)}}
			require.NoError(t, feed.Observe(ctx, []resume.Observation{seen}))
			feed.StoreCursor(path, json.RawMessage(`1`))
		}
		feed.Ready()
		<-ctx.Done()
		return nil
	}
	_, stop := ready(t, opts, nil, a)
	stop()
	require.Equal(t, []string{"limit mine.db"}, texts(s.told()))
	require.Equal(t, Cursors{"teller:" + mine: json.RawMessage(`1`)}, s.kept())
	require.Equal(t, 1, strings.Count(log.String(), theirs+" belongs to nobody"), log.String())
}

func TestAFeedThatFailsEndsAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken, fine := errors.New("the disk is gone"), false
		bad, _ := quiet("bad")
		bad.follow = func(context.Context, agent.Feed) error { return broken }
		good, _ := quiet("good")
		good.follow = func(ctx context.Context, _ agent.Feed) error {
			<-ctx.Done()
			fine = true
			return errors.New("cut off") // by our own end
		}
		err := New(newSink().options(), named(bad, good), nil).Run(t.Context())
		require.ErrorIs(t, err, broken)
		require.EqualError(t, err, "watcher of bad: the disk is gone")
		require.True(t, fine, "nothing is left running")
	})
}

// A reload changes what it names, and nothing else.
func TestASwapLeavesAgentsThatDidNotChangeAlone(t *testing.T) {
	homes, s := t.TempDir(), newSink()
	paths := make(map[string]string)
	place := func(name string) string {
		dir := filepath.Join(homes, name)
		require.NoError(t, os.Mkdir(dir, 0o700))
		paths[name] = filepath.Join(dir, "a.txt")
		write(t, paths[name], "limit "+name+"\n")
		return dir
	}
	same, old, gone := newDiary("same", place("same")), newDiary("other", place("other")), newDiary("gone", place("gone"))
	f, _ := ready(t, s.options(), nil, same, old, gone)
	require.ElementsMatch(t, []string{"limit same", "limit other", "limit gone"}, texts(s.told()))
	before := f.ofAgent("same")[0]
	stopped := append(f.ofAgent("other"), f.ofAgent("gone")...)

	var late sync.WaitGroup
	looked := make(chan error, 1)
	fresh, added := newDiary("other", filepath.Dir(paths["other"])), newDiary("added", place("added"))
	f.Swap(within(t), named(same, fresh, added), func() Cursors {
		for _, one := range stopped {
			require.True(t, closed(one.done), "nobody reads on from where the cursors stand")
		}
		late.Go(func() { looked <- f.ReadNew(within(t), of("other", paths["other"])) })
		for _, path := range paths {
			write(t, path, "move\n")
		}
		return s.kept()
	})
	late.Wait()
	require.NoError(t, <-looked, "who looked meanwhile is told by those that took their place")
	for name, path := range paths {
		require.NoError(t, f.ReadNew(within(t), of(name, path)))
	}
	told := make(map[string][]string)
	for _, seen := range s.told() {
		told[seen.Key.Agent] = append(told[seen.Key.Agent], texts([]resume.Observation{seen})...)
	}
	require.Equal(t, map[string][]string{
		"same": {"limit same", "move"}, "other": {"limit other", "move"}, "added": {"limit added", "move"}, "gone": {"limit gone"},
	}, told)
	require.Same(t, before, f.ofAgent("same")[0])
	require.False(t, closed(before.done))
	require.Same(t, fresh, f.ofAgent("other")[0].agent)
	require.Empty(t, f.ofAgent("gone"))
}

func closed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

// A reload may come as early as it likes: each feed is begun once.
func TestASwapAheadOfTheRunBeginsEachFeedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		same, followedSame := quiet("same")
		old, followedOld := quiet("other")
		fresh, followedFresh := quiet("other")
		added, followedAdded := quiet("added")
		f := New(newSink().options(), named(same, old), nil)
		go f.Swap(t.Context(), named(same, old, added), func() Cursors { return nil })
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- f.Run(ctx) }()
		synctest.Wait()
		f.Swap(t.Context(), named(same, fresh, added), func() Cursors { return nil })
		synctest.Wait()
		require.Equal(t, []int{1, 1, 1, 1}, []int{*followedSame, *followedOld, *followedFresh, *followedAdded})
		cancel()
		require.NoError(t, <-ended)
	})
}

// Whoever waits when all ends need not wait for an agent that is slow to end, nor
// for a clock. In a bubble one that hangs is a failure.
func TestNobodyHangsWhenTheRunStops(t *testing.T) {
	other, _ := quiet("other")
	session := resume.Session{Key: resume.Key{Agent: "slow"}}
	for name, ask := range map[string]func(context.Context, *Feeds){
		"a swap that waits for an agent to stop": func(ctx context.Context, f *Feeds) {
			f.Swap(ctx, named(other), func() Cursors { return nil })
		},
		"a swap that reads the cursors": func(ctx context.Context, f *Feeds) {
			f.Swap(ctx, named(current(f)[0].agent, other), func() Cursors { <-ctx.Done(); return nil })
		},
		"a look that waits for all that lies there": func(ctx context.Context, f *Feeds) {
			_ = f.ReadNew(ctx, session)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ended, asked, cancel, release := slowly(t, ask)
				cancel()
				<-asked
				release()
				require.NoError(t, <-ended)
			})
		})
	}
	t.Run("a look that outlives the feeds", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			ended, asked, cancel, release := slowly(t, func(_ context.Context, f *Feeds) {
				_ = f.ReadNew(context.Background(), session)
			})
			cancel()
			release()
			<-asked
			require.NoError(t, <-ended)
			require.Zero(t, time.Since(began))
		})
	})
}

// slowly runs the feeds of an agent that is never ready and ends when it is
// released, and asks something of them meanwhile.
func slowly(t *testing.T, ask func(context.Context, *Feeds)) (ended chan error, asked chan struct{}, cancel, release func()) {
	slow, _ := quiet("slow")
	end := make(chan struct{})
	slow.follow = func(context.Context, agent.Feed) error { <-end; return nil }
	f := New(newSink().options(), named(slow), nil)
	ctx, cancel := context.WithCancel(t.Context())
	ended, asked = make(chan error, 1), make(chan struct{})
	go func() { ended <- f.Run(ctx) }()
	go func() { ask(ctx, f); close(asked) }()
	synctest.Wait()
	require.False(t, closed(asked), "it waits")
	return ended, asked, cancel, func() { close(end) }
}

func TestASwapWithoutARunEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		same, _ := quiet("same")
		added, _ := quiet("added")
		ctx, cancel := context.WithCancel(t.Context())
		f := New(newSink().options(), named(same), nil)
		time.AfterFunc(time.Second, cancel)
		f.Swap(ctx, named(same, added), func() Cursors { return nil })
		require.Error(t, ctx.Err())
	})
}
