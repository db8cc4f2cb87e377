package engine

import (
	"iter"
	"slices"
)

// sorted keeps values in order. They lie in short runs, so that one more or one
// less moves a few hundred of them at most, however many there are; and a value is
// found by halving. No two of them compare equal.
type sorted[T any] struct {
	compare func(a, b T) int
	runs    [][]T // none of them empty
	size    int
	visited int // values that were looked at one by one: tests count them
}

// longestRun is how many values lie together.
const longestRun = 256

// find returns where a value is, or would be.
func (s *sorted[T]) find(v T) (run, i int, found bool) {
	run, _ = slices.BinarySearchFunc(s.runs, v, func(r []T, v T) int { return s.compare(r[len(r)-1], v) })
	if run == len(s.runs) {
		return run, 0, false
	}
	i, found = slices.BinarySearchFunc(s.runs[run], v, s.compare)
	return run, i, found
}

// get returns the value that compares equal.
func (s *sorted[T]) get(v T) (found T, ok bool) {
	run, i, ok := s.find(v)
	if ok {
		found = s.runs[run][i]
	}
	return found, ok
}

// add puts a value in its place, unless it is there.
func (s *sorted[T]) add(v T) {
	run, i, found := s.find(v)
	switch {
	case found:
		return
	case len(s.runs) == 0:
		s.runs = append(s.runs, nil)
	case run == len(s.runs): // behind all others
		run--
		i = len(s.runs[run])
	}
	s.size++
	if full := s.runs[run]; len(full) == longestRun {
		half := longestRun / 2
		if run == len(s.runs)-1 && i == longestRun {
			half = longestRun // they come in order: the runs may stay full
		}
		rest := append(make([]T, 0, longestRun), full[half:]...)
		clear(full[half:])
		s.runs = slices.Insert(s.runs, run+1, rest)
		if s.runs[run] = full[:half]; i >= half {
			run, i = run+1, i-half
		}
	}
	s.runs[run] = slices.Insert(s.runs[run], i, v)
}

// remove takes out the value that compares equal.
func (s *sorted[T]) remove(v T) {
	run, i, found := s.find(v)
	if !found {
		return
	}
	s.size--
	if s.runs[run] = slices.Delete(s.runs[run], i, i+1); len(s.runs[run]) == 0 {
		s.runs = slices.Delete(s.runs, run, run+1)
	}
}

// from returns the values that are not less than v, in order. They must not change
// meanwhile.
func (s *sorted[T]) from(v T) iter.Seq[T] {
	return func(yield func(T) bool) {
		run, i, _ := s.find(v)
		for ; run < len(s.runs); run, i = run+1, 0 {
			for _, one := range s.runs[run][i:] {
				if s.visited++; !yield(one) {
					return
				}
			}
		}
	}
}

// before returns the greatest value that is less than v.
func (s *sorted[T]) before(v T) (last T, ok bool) {
	run, i, _ := s.find(v)
	if i == 0 {
		if run == 0 {
			return last, false
		}
		run--
		i = len(s.runs[run])
	}
	return s.runs[run][i-1], true
}

// all returns every value, in order. It is a copy: they may change meanwhile.
func (s *sorted[T]) all() []T {
	all := make([]T, 0, s.size)
	s.visited += s.size
	for _, run := range s.runs {
		all = append(all, run...)
	}
	return all
}
