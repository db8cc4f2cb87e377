package simulation

import (
	"flag"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
	"resumed/internal/resume/sentence"
)

// How much is tried: go test ./internal/simulation -steps 10000000 -first 42.
// One step is one of the engine's, or one touch of the world.
var (
	steps = flag.Int("steps", everyday, "play histories until they have that many `steps`")
	first = flag.Uint64("first", 0, "the `seed` of the first one")
)

const turns = 800

// One thing at a time: who runs first of two that may run is chance otherwise, and a
// seed would be another history each time.
func TestMain(m *testing.M) {
	flag.Parse()
	if !raceDetector {
		runtime.GOMAXPROCS(1)
	}
	os.Exit(m.Run())
}

// play plays the history of a seed.
func play(t *testing.T, seed uint64, broken bug) *world {
	home, err := os.MkdirTemp(memory(), "resumed-simulation-")
	require.NoError(t, err)
	defer os.RemoveAll(home)
	var w *world
	synctest.Test(t, func(t *testing.T) {
		w = newWorld(t, seed, home)
		w.bug = broken
		w.start("")
		for range turns {
			if w.turn(); w.isBroken() {
				break
			}
		}
		w.settle()
	})
	return w
}

// memory is a file system without a disk, where there is one: the daemon waits for
// every write.
func memory() string {
	const shared = "/dev/shm"
	if info, err := os.Stat(shared); err == nil && info.IsDir() {
		return shared
	}
	return ""
}

// settle lets people leave, and all that can fail work: then every interruption
// must end, and everybody must have been told.
func (w *world) settle() {
	w.stop()
	w.mu.Lock()
	w.calm, w.blind, w.paused = true, false, false
	for _, p := range w.phones {
		p.down = false
	}
	for _, p := range w.places {
		if p.owner != 0 {
			w.hold(p)
		}
	}
	w.mu.Unlock()
	w.start(w.life.dir)
	l := w.life
	require.NoError(w.t, l.engine.SetPaused(l.core.ctx, false))
	for _, p := range w.places {
		_, _ = l.engine.Apply(l.core.ctx, p.key, resume.Unpause{})
	}
	for range 60 {
		w.openAll()
		w.workAll()
		if time.Sleep(time.Minute); w.atRest() {
			break
		}
	}
	w.openAll()
	sessions, err := l.engine.Sessions(l.core.ctx)
	require.NoError(w.t, err)
	pending := l.store.Pending()
	w.stop()
	w.mu.Lock()
	for _, s := range sessions {
		w.stands(*s)
		if s.State != resume.Watching && s.State != resume.GaveUp && s.State != resume.Parked {
			w.never("%s was forgotten in state %s: %s", s.Key.ID, s.State, sentence.Of(*s))
		}
	}
	if len(pending) > 0 {
		w.never("%d notices were never delivered", len(pending))
	}
	w.mu.Unlock()
	w.heardAll()
}

// atRest reports whether there is nothing left to do.
func (w *world) atRest() bool {
	sessions, err := w.life.engine.Sessions(w.life.core.ctx)
	require.NoError(w.t, err)
	waits := func(s *resume.Session) bool {
		return s.Interrupted() && s.State != resume.GaveUp && s.State != resume.Parked
	}
	return !slices.ContainsFunc(sessions, waits) && len(w.life.store.Pending()) == 0
}

func (w *world) openAll() {
	for synctest.Wait(); w.open(); synctest.Wait() {
	}
}

func (w *world) workAll() {
	w.mu.Lock()
	for _, p := range w.places {
		w.work(p)
	}
	w.mu.Unlock()
	w.life.read()
	synctest.Wait()
}

func (c *counts) add(other counts) {
	c.steps += other.steps
	c.lives += other.lives
	c.told += other.told
	c.parked += other.parked
	for way, n := range other.sends {
		c.sends[way] += n
	}
}

// Whenever the daemon dies: nothing is sent twice for one claim, nothing before a stated reset,
// nothing more often than max_retries, nothing before it is on disk; a prompt of
// which nobody knows what became is not sent again; no session is forgotten, and
// people are told of each call, once.
func TestRandomHistoriesOfAWholeDaemon(t *testing.T) {
	t.Parallel()
	all := counts{sends: make(map[string]int)}
	seed := *first
	for ; all.steps < *steps; seed++ {
		w := play(t, seed, "")
		w.report(t, seed)
		all.add(w.counts)
	}
	t.Logf("%d histories, %d steps, %d daemons, sent %v, %d notices, %d parked as unknown",
		seed-*first, all.steps, all.lives, all.sends, all.told, all.parked)
}

// report shows the history where a promise was broken, or where one wants to see it.
func (w *world) report(t *testing.T, seed uint64) {
	t.Helper()
	if w.broken != "" || *steps == 1 {
		t.Log("\n" + strings.Join(w.trail, "\n"))
	}
	if w.broken != "" {
		t.Fatalf("seed %d: %s\nplay it again: go test ./internal/simulation -v -run Histories -steps 1 -first %d", seed, w.broken, seed)
	}
}

// A simulation that finds nothing may be blind: each promise is broken once, on
// purpose, and must be found out.
func TestABrokenPromiseIsFound(t *testing.T) {
	if raceDetector {
		t.Skip("the same without the race detector, in a tenth of the time")
	}
	t.Parallel()
	for _, broken := range bugs {
		t.Run(string(broken), func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(200) {
				if w := play(t, seed, broken); w.broken != "" {
					t.Logf("seed %d: %s", seed, w.broken)
					return
				}
			}
			t.Fatal("nobody noticed")
		})
	}
}

// A seed that found something is worth nothing where it does not find it again. On a busy machine the scheduler may step
// in, so one history in fifty must be one that was played before. Beside other tests it steps in all the time.
func TestASeedIsAHistory(t *testing.T) {
	if raceDetector {
		t.Skip("SKIPPED: the race detector has the scheduler step in all the time")
	}
	for seed := range uint64(3) {
		played := make(map[string]bool)
		for repeats := false; !repeats; {
			require.Less(t, len(played), 50, "seed %d", seed)
			trail := strings.Join(sorted(play(t, seed, "").trail), "\n")
			repeats = played[trail]
			played[trail] = true
		}
		t.Logf("seed %d: %d histories until one came again", seed, len(played)+1)
	}
}

// sorted puts what happens at one time into one order: the engine takes its
// sessions in any.
func sorted(trail []string) []string { return slices.Sorted(slices.Values(trail)) }
