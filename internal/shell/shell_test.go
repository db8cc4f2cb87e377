package shell

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhatNoPersonTypes(t *testing.T) {
	for _, reply := range []string{
		"\x1b[?62;22c", "\x1b[>1;10;0c", "\x1b[12;40R", "\x1b[?997;1n", "\x1b[?2026;2$y", "\x1b[?1u", "\x1b[8;45;140t",
		"\x1b]11;rgb:0000/0000/0000\x1b\\", "\x1b]11;rgb:0/0/0\a", "\x1bP>|XTerm(379)\x1b\\\x1b[?1;2c", "\x1b_Gi=31;OK\x1b\\",
	} {
		require.True(t, replies().MatchString(reply), "%q", reply)
	}
	for _, keys := range []string{
		"a", "\r", "\x1b", "\x1b[A", "\x1b[3~", "\x1b[27u", "\x1b[97;5u", "\x1b[200~pasted\x1b[201~", "\x1b[<0;1;1M", "\x1b[I", "\x1b[?1;2ca", "\x1bc", "\x1b]",
	} {
		require.False(t, replies().MatchString(keys), "%q", keys)
	}
}
