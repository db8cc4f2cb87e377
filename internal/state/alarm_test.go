package state

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// people records what is reported to them.
type people struct {
	errors, lost []string
	bounded      bool // the report that the state is lost is given up some time
}

func (p *people) TellStateError(text string) { p.errors = append(p.errors, text) }

func (p *people) TellStateLost(ctx context.Context, text string) {
	p.lost = append(p.lost, text)
	_, p.bounded = ctx.Deadline()
}

func running(n int) func(context.Context) (int, error) {
	return func(context.Context) (int, error) { return n, nil }
}

// A daemon that has nothing to write notices it too.
func TestAStateThatIsRemovedIsReportedAndEndsTheDaemon(t *testing.T) {
	above := t.TempDir()
	s := open(t, filepath.Join(above, "state"))
	t.Cleanup(func() { s.Close() })
	var told people
	ended := make(chan error, 1)
	go func() { ended <- Alarm{s, &told, running(0)}.Run(t.Context()) }()
	require.NoError(t, os.Remove(s.Path()))
	deadline := time.After(time.Minute)
	for {
		// If the file was removed before it was watched, an event in the directory above makes the daemon check it.
		require.NoError(t, os.WriteFile(filepath.Join(above, "event"), nil, 0o600))
		select {
		case err := <-ended:
			require.ErrorIs(t, err, errGone)
			require.Equal(t, []string{s.Gone().Error()}, told.lost)
			require.True(t, told.bounded, "a channel that does not answer does not keep the daemon")
			require.Empty(t, told.errors, "nothing was found at the start")
			return
		case <-deadline:
			require.FailNow(t, "the daemon does not end")
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func TestWhatIsWrongWithTheStoredStateIsReportedAtTheStart(t *testing.T) {
	s := open(t, t.TempDir())
	t.Cleanup(func() { s.Close() })
	_, err := s.db.Exec("INSERT INTO session VALUES ('bot', 'one', '{'), ('bot', 'two', '{')")
	require.NoError(t, err)
	require.Len(t, load(t, s).Skipped, 2)
	ctx, cancel := testContext(t)
	cancel()
	var told people
	require.NoError(t, Alarm{s, &told, running(0)}.Run(ctx))
	require.Len(t, told.errors, 1, "one notice for all of it")
	require.Regexp(t, `(?s)^a stored record was bad: .*one.*\na stored record was bad: .*two`, told.errors[0])
	require.Empty(t, told.lost)
}

// The next daemon would not know about running resumes.
func TestADaemonWithoutItsStateEndsWhenNoResumeRuns(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s := open(t, dir)
		t.Cleanup(func() { s.Close() })
		began, left := time.Now(), 3
		err := Alarm{Store: s, Running: func(context.Context) (int, error) { left--; return left, nil }}.awaitResumes(t.Context())
		require.ErrorIs(t, err, errGone)
		require.Zero(t, left)
		require.Equal(t, 2*time.Second, time.Since(began))

		unknown := func(context.Context) (int, error) { return 1, errors.New("the engine has ended") }
		require.ErrorIs(t, Alarm{Store: s, Running: unknown}.awaitResumes(t.Context()), errGone, "nobody would say when they end")

		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.NoError(t, Alarm{Store: s, Running: running(1)}.awaitResumes(ctx), "a daemon that is stopped meanwhile has not failed")
	})
}
