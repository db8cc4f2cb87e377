package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Opening a named pipe waits until another process writes into it.
func TestAPipeInThePlaceOfAFileIsReported(t *testing.T) {
	t.Parallel()
	for file, commands := range map[string][][]string{
		".local/state/resumed/resumed.db":     {{"status"}, {"queue"}, {"history"}, {"doctor"}, {"logs", "x"}, {"queue", "add", "x"}, {"run"}},
		".local/state/resumed/resumed.db-wal": {{"history"}, {"run"}},
		".local/state/resumed/resumed.db-shm": {{"history"}, {"run"}},
		".local/state/resumed/resumed.lock":   {{"run"}},
		configFile:                            {{"doctor"}, {"config", "check"}, {"exec", "--", "true"}, {"run"}},
	} {
		t.Run(filepath.Base(file), func(t *testing.T) {
			b := newBox(t)
			if filepath.Ext(file) != ".db" { // a daemon has run here
				b.start()
				b.kill(syscall.SIGTERM)
				_ = os.Remove(b.path(file))
			}
			require.NoError(t, os.MkdirAll(filepath.Dir(b.path(file)), 0o700))
			require.NoError(t, syscall.Mkfifo(b.path(file), 0o600))
			for _, args := range commands {
				out, errOut, code := b.run(args...)
				require.Contains(t, out+errOut, file+" is a named pipe, not a file; move it away", args)
				require.NotZero(t, code, args)
			}
		})
	}
}
