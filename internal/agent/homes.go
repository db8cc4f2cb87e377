package agent

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// Homes are the directories in which an agent stores its sessions. Each is a separate account.
type Homes struct {
	Usual string   // the agent's default; empty: not known
	Roots []string // those that are watched; never empty

	agent string
}

// NewHomes returns the homes at roots, or the usual one if roots is empty. The error contains
// everything that is wrong.
func NewHomes(agent, usual string, roots []string) (Homes, error) {
	h := Homes{agent: agent}
	if usual != "" {
		h.Usual = filepath.Clean(usual)
	}
	if len(roots) == 0 {
		if h.Usual == "" {
			return h, fmt.Errorf("find the home of %s: $HOME is not set", agent)
		}
		roots = []string{h.Usual}
	}
	var bad []error
	for _, root := range roots {
		root = filepath.Clean(root)
		if !filepath.IsAbs(root) {
			bad = append(bad, fmt.Errorf("root %q of %s is not an absolute path", root, agent))
		} else if !slices.Contains(h.Roots, root) {
			h.Roots = append(h.Roots, root)
		}
	}
	return h, errors.Join(bad...)
}

// Account returns the account of the home at root.
func (h Homes) Account(root string) string {
	if root == h.Usual {
		return h.agent + ":default"
	}
	return h.agent + ":" + root
}

// Of returns the home that contains path, or the first one.
func (h Homes) Of(path string) string {
	for _, root := range h.Roots {
		if strings.HasPrefix(path, root+string(filepath.Separator)) {
			return root
		}
	}
	return h.Roots[0]
}

// Sources returns a copy of like for a directory of each home.
func (h Homes) Sources(dir string, like Source) []Source {
	sources := make([]Source, 0, len(h.Roots))
	for _, root := range h.Roots {
		src := like
		src.Account, src.Root = h.Account(root), filepath.Join(root, dir)
		sources = append(sources, src)
	}
	return sources
}

// Files returns the files that match a pattern in the homes: the default one and the configured
// ones.
func (h Homes) Files(pattern string) []string {
	var all []string
	for _, root := range append([]string{h.Usual}, h.Roots...) {
		names, _ := fs.Glob(os.DirFS(root), pattern) // errs on a bad pattern only
		for _, name := range names {
			all = append(all, filepath.Join(root, name))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// File returns the first file that matches a pattern in the homes; empty: none does.
func (h Homes) File(pattern string) string { return cmp.Or(append(h.Files(pattern), "")...) }

// NewFiles lists the files that match a pattern. The returned function lists those created since:
// a run that begins a session always writes a new file.
func (h Homes) NewFiles(pattern string) func() []string {
	before := h.Files(pattern)
	return func() []string {
		return slices.DeleteFunc(h.Files(pattern), func(path string) bool {
			_, found := slices.BinarySearch(before, path)
			return found
		})
	}
}

// IsUUID reports whether a text is a UUID, which many agents use as id.
func IsUUID(text string) bool {
	const length = 36 // excludes the other forms that the library accepts
	return len(text) == length && uuid.Validate(text) == nil
}
