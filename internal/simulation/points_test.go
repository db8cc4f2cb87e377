package simulation

import (
	"fmt"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

// deaths are the ways to die at one point, by what is thrown for them.
var deaths = map[string]int{"killed": 9, "killed while it writes": 3, "with the machine": 0}

// Each way to send is carried out from the limit to the end, and the daemon dies
// before each of its touches of the world, one after the other.
func TestACrashAtEveryPointOfEachWay(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"command", "queue", "keys", "task"} {
		for name, kind := range deaths {
			t.Run(way+", "+name, func(t *testing.T) {
				t.Parallel()
				points := 0
				for ; dieAt(t, way, kind, points); points++ {
				}
				require.GreaterOrEqual(t, points, 8, "a resume has more points than that")
			})
		}
	}
}

// dieAt lets the daemon die before it goes through the gate of that number. It
// returns false where all was over before.
func dieAt(t *testing.T, way string, kind, point int) (died bool) {
	home, err := os.MkdirTemp(memory(), "resumed-simulation-")
	require.NoError(t, err)
	defer os.RemoveAll(home)
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, uint64(point), home)
		w.calm = true
		w.places = w.places[:1]
		w.start("")
		p := w.places[0]
		if way == "task" {
			w.enqueue(p)
		} else {
			w.mu.Lock()
			w.refuse(p)
			if way != "command" {
				w.hold(p)
				p.way = way
			}
			w.mu.Unlock()
			w.life.read()
		}
		for passed, idle := 0, 0; idle < 400; idle++ {
			synctest.Wait()
			if w.waiting() && passed == point && !died {
				w.crash(kind)
				died = true
				continue
			}
			if w.open() {
				passed, idle = passed+1, 0
				continue
			}
			w.workAll()
			time.Sleep(time.Second)
		}
		w.settle()
		require.Empty(t, w.broken, "%s, %d, dead before point %d:\n%s", way, kind, point, fmt.Sprint(w.trail))
		if way == "task" && kind != deaths["with the machine"] { // a command that was only announced then counts as begun, and is told
			require.Equal(t, 1, p.task, "dead before point %d:\n%s", point, fmt.Sprint(w.trail))
		}
		if !died {
			require.Len(t, w.counts.sends, 1)
			require.Equal(t, 1, w.counts.sends[map[string]string{"task": "command"}[way]]+w.counts.sends[way])
		}
	})
	return died
}

func (w *world) waiting() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.life.gates) > 0
}

// enqueue asks for a task, and returns when it is on disk.
func (w *world) enqueue(p *place) {
	p.task = 0
	_, err := w.life.engine.Enqueue(w.life.core.ctx, resume.Session{
		Key: p.key, Account: "bot:default", Cwd: "/made-up/" + p.key.ID, Task: &resume.Task{Prompt: "go", AddedAt: time.Now()},
	})
	require.NoError(w.t, err)
	require.NoError(w.t, w.life.store.Sync(w.life.core.ctx))
}

// The daemon dies a hundred times between the moment at which a task is due and the one
// at which its command is known to run: each task is begun once.
func TestATaskIsBegunOnceWhereverTheDaemonDies(t *testing.T) {
	t.Parallel()
	for died, point := 0, 0; died < 100; point++ {
		for _, kind := range deaths {
			if !dieAt(t, "task", kind, point) {
				point = -1 // its command is known to run: from the beginning, with other dice
				break
			}
			died++
		}
	}
}
