package repo

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	linkTarget  = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	notInAnchor = regexp.MustCompile(`[^a-z0-9 _-]`)
)

// A link between documents leads to a file that exists, and to a heading that is in it.
func TestLinksBetweenDocumentsLeadSomewhere(t *testing.T) {
	t.Chdir(root)
	checked := 0
	for _, file := range documents(t) {
		for _, found := range linkTarget.FindAllStringSubmatch(readText(t, file), -1) {
			if strings.Contains(found[1], "://") {
				continue
			}
			name, anchor, _ := strings.Cut(found[1], "#")
			target := file
			if name != "" {
				target = filepath.Join(filepath.Dir(file), name)
			}
			_, err := os.Stat(target)
			require.NoError(t, err, "%s links to %s", file, found[1])
			if anchor != "" {
				require.Contains(t, anchors(readText(t, target)), anchor, "%s links to %s", file, found[1])
			}
			checked++
		}
	}
	require.Greater(t, checked, 100, "the documents were read")
}

// documents returns every page that a person reads in the repository.
func documents(t *testing.T) []string {
	var all []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md", "launchd/*.md"} {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		all = append(all, found...)
	}
	return all
}

// anchors returns the names by which a page's headings are linked to.
func anchors(text string) []string {
	var all []string
	for line := range strings.Lines(text) {
		if heading, found := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); found && strings.HasPrefix(line, "#") {
			name := notInAnchor.ReplaceAllString(strings.ToLower(strings.TrimSpace(heading)), "")
			all = append(all, strings.ReplaceAll(name, " ", "-"))
		}
	}
	return all
}

func readText(t *testing.T, file string) string {
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(data)
}
