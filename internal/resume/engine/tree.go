package engine

import (
	"iter"

	"github.com/google/btree"
)

// tree holds values in order. No two of them compare equal.
type tree[T any] struct {
	*btree.BTreeG[T]
	visited int // values that from has yielded: tests count them
}

func newTree[T any](compare func(a, b T) int) *tree[T] {
	const degree = 32
	return &tree[T]{BTreeG: btree.NewG(degree, func(a, b T) bool { return compare(a, b) < 0 })}
}

// from returns the values that are not less than v, in order. They must not change meanwhile.
func (t *tree[T]) from(v T) iter.Seq[T] {
	return func(yield func(T) bool) {
		t.AscendGreaterOrEqual(v, func(one T) bool {
			t.visited++
			return yield(one)
		})
	}
}
