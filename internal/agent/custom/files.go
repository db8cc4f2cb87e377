package custom

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"resumed/internal/agent"
)

// checkGlob returns what is wrong with the glob of files.
func checkGlob(glob string) error {
	switch {
	case !filepath.IsAbs(glob):
		return errors.New("must be an absolute path")
	case strings.HasSuffix(glob, string(filepath.Separator)):
		return errors.New("must name files, not a directory")
	}
	_, err := filepath.Match(glob, "")
	return err
}

// rootOf returns the longest directory without wildcards of a glob, and how many directories are
// between it and the files.
func rootOf(glob string) (root string, depth int) {
	for root = filepath.Dir(glob); strings.ContainsAny(root, `*?[\`); depth++ {
		root = filepath.Dir(root)
	}
	return root, depth
}

// makeSources returns one source per directory. A file belongs to the first pattern that matches, so no
// line is read twice.
func (a *Agent) makeSources() (sources []agent.Source) {
	globs := slices.Clone(a.is.Files)
	for i, glob := range globs {
		globs[i] = filepath.Clean(glob)
		root, depth := rootOf(globs[i])
		at := slices.IndexFunc(sources, func(src agent.Source) bool { return src.Root == root })
		if at < 0 {
			at = len(sources)
			match := func(rel string) bool { return rootOfFirst(globs, filepath.Join(root, rel)) == root }
			sources = append(sources, agent.Source{Account: a.Home(), Root: root, Match: match, Sift: a.sift})
		}
		src := &sources[at]
		src.Depth = max(src.Depth, depth)
		// If the pattern's own path contains no session, the lines do, and one file may have many.
		src.Shared = src.Shared || !a.session.MatchString(globs[i])
	}
	return sources
}

// rootOfFirst returns the root of the first glob that matches a file, or "".
func rootOfFirst(globs []string, path string) string {
	for _, glob := range globs {
		if ok, _ := filepath.Match(glob, path); ok { // the globs were checked
			root, _ := rootOf(glob)
			return root
		}
	}
	return ""
}
