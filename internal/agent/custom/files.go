package custom

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"resumed/internal/agent"
)

// pattern is a glob, split at the end of its fixed part.
type pattern struct {
	whole string
	root  string // the longest directory without wildcards
	depth int    // directories between root and the files
}

const wildcards = `*?[\`

func splitAll(globs []string) ([]pattern, error) {
	if len(globs) == 0 {
		return nil, errors.New("files: at least one is needed")
	}
	var (
		all []pattern
		bad []error
	)
	for _, glob := range globs {
		p, err := split(glob)
		if err != nil {
			bad = append(bad, fmt.Errorf("files: %q: %w", glob, err))
			continue
		}
		all = append(all, p)
	}
	return all, errors.Join(bad...)
}

func split(glob string) (pattern, error) {
	if !filepath.IsAbs(glob) {
		return pattern{}, errors.New("must be an absolute path")
	}
	if strings.HasSuffix(glob, string(filepath.Separator)) {
		return pattern{}, errors.New("must name files, not a directory")
	}
	if _, err := filepath.Match(glob, ""); err != nil {
		return pattern{}, err
	}
	p := pattern{whole: filepath.Clean(glob)}
	p.root = filepath.Dir(p.whole)
	for strings.ContainsAny(p.root, wildcards) {
		p.root = filepath.Dir(p.root)
		p.depth++
	}
	return p, nil
}

func (p pattern) match(path string) bool {
	ok, _ := filepath.Match(p.whole, path) // split has checked the pattern
	return ok
}

// makeSources returns one source per directory. A file belongs to the first pattern that matches, so no
// line is read twice.
func (a *Agent) makeSources(patterns []pattern) []agent.Source {
	var roots []string
	for _, p := range patterns {
		if !slices.Contains(roots, p.root) {
			roots = append(roots, p.root)
		}
	}
	var sources []agent.Source
	for _, root := range roots {
		src := agent.Source{Account: a.Name() + ":default", Root: root, Sift: a.sift}
		for _, p := range patterns {
			if p.root == root {
				src.Depth = max(src.Depth, p.depth)
				// If the pattern's own path contains no session, the lines do, and one file may have many.
				src.Shared = src.Shared || !a.session.MatchString(p.whole)
			}
		}
		src.Match = func(rel string) bool {
			path := filepath.Join(root, rel)
			i := slices.IndexFunc(patterns, func(p pattern) bool { return p.match(path) })
			return i >= 0 && patterns[i].root == root
		}
		sources = append(sources, src)
	}
	return sources
}
