package shellpty

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"

	"resumed/internal/terminal"
)

// serve answers at a socket of this process, and returns its directory and the window.
func serve(t *testing.T, answer func(Question) Answer) (dir string, w terminal.Window) {
	t.Helper()
	short, err := os.MkdirTemp("", "sh") // the path of a socket may not be long
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(short) })
	dir = filepath.Join(short, "shells")
	listener, err := Listen(dir)
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go Serve(listener, answer)
	w, err = Find([]string{"HOME=/x", Variable + "=" + listener.Addr().String()})
	require.NoError(t, err)
	return dir, w
}

func TestWhatAShellTells(t *testing.T) {
	ours, theirs, err := pty.Open()
	require.NoError(t, err)
	defer ours.Close()
	defer theirs.Close()
	at := time.Now()
	dir, w := serve(t, func(q Question) Answer {
		a := Answer{PID: 7, TTY: theirs.Name(), Program: "claude", Keys: 3, LastKey: at.UnixNano()}
		if q.Screen {
			a.Screen = "❯ hello\n"
		}
		return a
	})
	facts, err := w.Facts(t.Context())
	require.NoError(t, err)
	require.Equal(t, 7, facts.Root)
	require.NotZero(t, facts.TTY)
	require.Equal(t, "3", facts.Input.Mark)
	require.True(t, at.Equal(facts.Input.At))
	again, err := w.Facts(t.Context())
	require.NoError(t, err)
	require.True(t, again == facts, "as long as nobody types")
	screen, err := w.Screen(t.Context())
	require.NoError(t, err)
	require.Equal(t, "❯ hello\n", screen)

	sockets, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	require.Len(t, sockets, 1)
	info, err := os.Stat(sockets[0])
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	require.Len(t, All(t.Context(), dir), 1)
}

func TestNothingIsTypedIfAPersonHasTyped(t *testing.T) {
	typed := ""
	_, w := serve(t, func(q Question) Answer {
		if q.IfKeys != nil && *q.IfKeys != 3 {
			return Answer{InUse: true}
		}
		typed += q.Type
		return Answer{}
	})
	require.ErrorIs(t, w.Write(t.Context(), "continue", "2"), terminal.ErrInUse)
	require.ErrorIs(t, w.Press(t.Context(), "2", terminal.Enter), terminal.ErrInUse)
	require.NoError(t, w.Write(t.Context(), "continue", "3"))
	require.NoError(t, w.Press(t.Context(), "3", terminal.Enter))
	require.NoError(t, w.Press(t.Context(), "", terminal.LineStart, terminal.Delete, terminal.LineEnd))
	require.Equal(t, "continue\r\x01\x1b[3~\x05", typed)
}

func TestAShellThatIsGone(t *testing.T) {
	for _, path := range []string{"", "relative"} {
		w, err := Find([]string{Variable + "=" + path})
		require.NoError(t, err)
		require.Nil(t, w)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "1.sock")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for _, path := range []string{file, filepath.Join(dir, "none")} {
		w, err := Find([]string{Variable + "=" + path})
		require.NoError(t, err)
		_, err = w.Facts(t.Context())
		require.EqualError(t, err, "its resumed shell is gone")
	}
	require.Empty(t, All(t.Context(), dir))
}
