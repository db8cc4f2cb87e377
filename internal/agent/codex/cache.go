package codex

import "sync"

// cache remembers something of each rollout. The zero cache is empty.
type cache[V any] struct {
	mu     sync.Mutex
	byPath map[string]V // guarded by mu
}

const maxCached = 4096 // far beyond the sessions that move at a time

func (c *cache[V]) get(path string) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, ok := c.byPath[path]
	return v, ok
}

func (c *cache[V]) put(path string, v V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byPath == nil || len(c.byPath) >= maxCached {
		c.byPath = make(map[string]V)
	}
	c.byPath[path] = v
}
