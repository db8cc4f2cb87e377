package notify

import "time"

// clock is what two clocks said at one moment: the one on the wall, which people
// set, and the one that counts what this process has lived through.
type clock struct{ wall, lived time.Time }

// jump is how much more or less than was lived through the wall clock must have
// moved for it to be noticed.
const jump = time.Minute

// watchClock notices that the clock was set, or that the machine slept. How old a
// notice is counts by what was lived through. What is scheduled moves back with the
// clock, for it would lie in a future that may be years away; it does not move
// forward: what became due meanwhile is due.
func (s *sender) watchClock() {
	is := clock{wall: s.n.now(), lived: time.Now()}
	moved := is.wall.Sub(s.clock.wall) - is.lived.Sub(s.clock.lived)
	s.clock = is
	if moved.Abs() < jump {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	back := min(moved, 0)
	s.hold = s.hold.Add(back)
	for _, it := range s.queue {
		it.At, it.taken = it.At.Add(moved), it.taken.Add(moved)
		it.NextAt = it.NextAt.Add(back)
	}
}

// settleClock mends what was noted by a clock that has been set back since: no
// notice is from the future, and none is scheduled later than the longest wait.
func (it *item) settleClock() {
	if ahead := it.At.Sub(it.taken); ahead > 0 {
		it.At, it.NextAt = it.taken, it.NextAt.Add(-ahead)
	}
	if it.NextAt.After(it.taken.Add(longestSilence + jump)) {
		it.NextAt = it.taken
	}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
