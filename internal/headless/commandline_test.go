package headless

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhatALineSaysIsFoundAmongRecordedPrompts(t *testing.T) {
	for _, c := range []struct {
		recorded, prompt string
		same             bool
	}{
		{"fix it", "fix it", true},
		{"fix it\n", " fix it", true},
		{"the input\n\nfix it", "fix it", true},
		{"fix it\nthe input\n", "fix it", true},
		{"do not fix it", "fix it", false},
		{"fix it, please", "fix it", false},
		{"", "", false},
		{"anything", "", false},
	} {
		require.Equal(t, c.same, Said(c.recorded, c.prompt), "%q of %q", c.prompt, c.recorded)
	}
}

func TestIDsThatAreNone(t *testing.T) {
	for _, bad := range []string{"--evil", "../../etc", "a b", "", "5", "abc", strings.Repeat("x", 129)} {
		require.Empty(t, PlainID(bad), bad)
	}
	for _, good := range []string{"abcd", "abcd-1234", strings.Repeat("x", 128)} {
		require.Equal(t, good, PlainID(good))
	}
}
