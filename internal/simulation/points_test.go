package simulation

import (
	"fmt"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// deaths are the ways to die at one point, by what is thrown for them.
var deaths = map[string]int{"killed": 9, "killed while it writes": 3, "with the machine": 0}

// Each way to send is carried out from the limit to the end, and the daemon dies
// before each of its touches of the world, one after the other.
func TestACrashAtEveryPointOfEachWay(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"command", "message", "queue", "keys"} {
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
		w.mu.Lock()
		w.refuse(p)
		if way != "command" {
			w.hold(p)
			p.way = way
		}
		w.mu.Unlock()
		w.life.read()
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
		if !died {
			require.Equal(t, map[string]int{way: 1}, w.counts.sends)
		}
	})
	return died
}

func (w *world) waiting() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.life.gates) > 0
}
