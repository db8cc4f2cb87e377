package main

import (
	"bytes"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

// One file must not hold up the others of its agent, nor the end of the daemon.
func TestAHugeFileHoldsUpNobody(t *testing.T) {
	for name, huge := range map[string]func(path string) error{
		"a terabyte of nothing": func(path string) error { return sized(path, 1<<40, "") },
		"a terabyte of nothing after a line": func(path string) error {
			return sized(path, 1<<40, "step 1\n")
		},
		"hundreds of megabytes of empty lines": func(path string) error {
			return os.WriteFile(path, bytes.Repeat([]byte("\n"), 300<<20), 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBox(t)
			b.write(configFile, bot)
			b.write("bot/resume.sh", recordCall+`echo "step 2" >> "logs/$1.log"`+"\n")
			b.write("bot/logs/s-1.log", "rate limited, retry in 0s\n")
			if err := huge(b.path("bot/logs/huge.log")); err != nil {
				t.Skip("no such file here: ", err)
			}
			b.start()
			b.until("the other is resumed", func() bool { return len(b.calls()) == 1 && b.session("s-1").State == resume.Watching })
			require.NoError(t, os.Chtimes(b.path("bot/logs/huge.log"), time.Now(), time.Now())) // looked at again
			b.appendTo("bot/logs/huge.log", "\nstep 3\n")
			began := time.Now()
			require.Zero(t, b.kill(syscall.SIGTERM))
			require.Less(t, time.Since(began), 10*time.Second, "a second at most, on a machine that is not busy")
		})
	}
}

// sized makes a file that has that size and only the text in it.
func sized(path string, size int64, text string) error {
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return err
	}
	return os.Truncate(path, size)
}
