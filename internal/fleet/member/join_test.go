package member

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/config"
)

// Files that do not answer, for example on a network that is down, are not waited for forever.
func TestKeysThatDoNotAnswerAreAnError(t *testing.T) {
	dir := t.TempDir()
	credentials, ca := filepath.Join(dir, "credentials"), filepath.Join(dir, "ca.pem")
	require.NoError(t, syscall.Mkfifo(ca, 0o600))
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, err := readKeys(ctx, config.Fleet{CredentialsFile: credentials, CAFile: ca})
	require.ErrorContains(t, err, credentials)
	require.ErrorContains(t, err, "does not answer")
	writer, err := os.OpenFile(ca, os.O_WRONLY, 0) // ends the read that still waits
	require.NoError(t, err)
	require.NoError(t, writer.Close())
}
