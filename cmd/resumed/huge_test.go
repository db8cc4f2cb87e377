package main

import (
	"bytes"
	"errors"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

// One file must not hold up the others of its agent, nor the end of the daemon.
func TestAHugeFileHoldsUpNobody(t *testing.T) {
	t.Parallel()
	for name, huge := range map[string]func(path string) error{
		"a terabyte of nothing": func(path string) error { return sized(path, 1<<40, "") },
		"a terabyte of nothing after a line": func(path string) error {
			return sized(path, 1<<40, "step 1\n")
		},
		"millions of empty lines": func(path string) error {
			return os.WriteFile(path, bytes.Repeat([]byte("\n"), 50<<20), 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBox(t)
			b.write(configFile, bot)
			b.write("bot/resume.sh", recordCall+`echo "step 2" >> "logs/$1.log"`+"\n")
			b.write("bot/logs/s-1.log", "rate limited, retry in 0s\n")
			if err := huge(b.path("bot/logs/huge.log")); err != nil {
				t.Skip("HUGE FILES ARE NOT TESTED HERE: no such file can be made: ", err)
			}
			b.start()
			b.until("the other is resumed", func() bool { return len(b.calls()) == 1 && b.session("s-1").State == resume.Watching })
			require.NoError(t, os.Chtimes(b.path("bot/logs/huge.log"), time.Now(), time.Now())) // checked again
			b.appendTo("bot/logs/huge.log", "\nstep 3\n")
			began := time.Now()
			require.Zero(t, b.kill(syscall.SIGTERM))
			require.Less(t, time.Since(began), 30*time.Second, "a second at most, on a machine that is not busy")
		})
	}
}

// Before a resume the session's own transcript is read backwards from its end. It may be far larger
// than a real one.
func TestAHugeTranscriptOfItsOwnHoldsUpNobody(t *testing.T) {
	t.Parallel()
	for name, grow := range map[string]func(path string) error{
		"by a hole":         func(path string) error { return os.Truncate(path, 100<<30) },
		"by empty lines":    func(path string) error { return appendBytes(path, bytes.Repeat([]byte("\n"), 50<<20)) },
		"by an endless one": func(path string) error { return appendBytes(path, bytes.Repeat([]byte("x"), 100<<20)) },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBox(t)
			b.write(configFile, fastBackoff+bot)
			b.write("bot/resume.sh", recordCall)
			b.write("bot/logs/s-1.log", "rate limited, retry in 0s\n")
			if err := grow(b.path("bot/logs/s-1.log")); err != nil {
				t.Skip("HUGE FILES ARE NOT TESTED HERE: no such file can be made: ", err)
			}
			b.start()
			b.until("it is resumed", func() bool { return len(b.calls()) > 0 })
			began := time.Now()
			require.Zero(t, b.kill(syscall.SIGTERM))
			t.Logf("stopped in %s", time.Since(began).Round(time.Millisecond))
			require.Less(t, time.Since(began), 30*time.Second, "a second at most, on a machine that is not busy")
		})
	}
}

func appendBytes(path string, data []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	return errors.Join(err, file.Close())
}

// sized makes a sparse file of that size with the text in it.
func sized(path string, size int64, text string) error {
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return err
	}
	return os.Truncate(path, size)
}
