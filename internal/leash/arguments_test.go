package leash

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func FuzzArguments(f *testing.F) {
	f.Add("-p fix_it --allowedTools a b -- x")
	f.Add("-c a=b exec resume --last -")
	f.Add("run -ffile --session= x")
	f.Add("-pyx -r --")
	flags := Flags{
		{Takes: Alone, Names: "-p -y --print"}, {Takes: One, Names: "-c -f --session"}, {Takes: Maybe, Names: "-r"}, {Takes: Many, Names: "--allowedTools"},
	}
	f.Fuzz(func(t *testing.T, text string) {
		args := strings.Fields(text)
		parsed := flags.Parse(args)
		before, command, after := parsed.Cut()
		if command != "" {
			require.Equal(t, len(parsed.Plain()), len(before.Plain())+1+len(after.Plain()))
		}
		kept := append(parsed.Options(), parsed.Plain()...)
		require.GreaterOrEqual(t, len(kept), len(args)-1, "only -- is dropped, and clusters are taken apart")
	})
}
