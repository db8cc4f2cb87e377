package shellpty

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"

	"resumed/internal/peer"
	"resumed/internal/terminal"
)

// listensEnv makes the test binary listen at that path until its standard input ends.
const listensEnv = "SHELLPTY_TEST_LISTENS"

func TestMain(m *testing.M) {
	path := os.Getenv(listensEnv)
	if path == "" {
		os.Exit(m.Run())
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		panic(err)
	}
	fmt.Println("ready")
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = io.Copy(os.Stdout, conn)
		}
	}()
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// serve answers at a socket of this process, and returns its directory and the window.
func serve(t *testing.T, answer func(*peer.Held, Question) Answer) (dir string, w terminal.Window) {
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
	dir, w := serve(t, func(caller *peer.Held, q Question) Answer {
		require.Equal(t, os.Getpid(), caller.PID)
		a := Answer{PID: 7, TTY: theirs.Name(), Program: "claude"}
		if q.Input {
			a.Keys, a.LastKey = 3, at.UnixNano()
		}
		if q.Screen {
			a.Screen = "❯ hello\n"
		}
		return a
	})
	facts, err := w.Facts(t.Context())
	require.NoError(t, err)
	require.Equal(t, 7, facts.Root)
	require.NotZero(t, facts.TTY)
	require.Equal(t, "3", facts.Mark)
	require.True(t, at.Equal(facts.LastKey))
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
	typed, keys := "", 3
	_, w := serve(t, func(_ *peer.Held, q Question) Answer {
		bytes, err := q.Bytes()
		require.NoError(t, err)
		if bytes == "" {
			return Answer{Keys: keys}
		}
		if *q.IfKeys != keys {
			return Answer{InUse: true}
		}
		if keys++; keys < 7 { // a key of the person comes just before
			return Answer{InUse: true}
		}
		typed += bytes
		keys--
		return Answer{}
	})
	require.ErrorIs(t, w.Write(t.Context(), "continue", "2"), terminal.ErrInUse)
	require.ErrorIs(t, w.Press(t.Context(), "2", terminal.Enter), terminal.ErrInUse)
	require.Empty(t, typed)
	require.NoError(t, w.Press(t.Context(), "", terminal.LineStart, terminal.Delete, terminal.LineEnd), "what was typed is taken back between two keys of the person")
	require.Equal(t, "\x01\x1b[3~\x05", typed)
	require.NoError(t, w.Write(t.Context(), "continue", "6"))
	require.NoError(t, w.Press(t.Context(), "6", terminal.Enter))
	require.Equal(t, "\x01\x1b[3~\x05continue\r", typed)
}

// Only what a resume needs is typed, and never without the number of the person's keys.
func TestWhatIsTyped(t *testing.T) {
	none := 0
	type keys = []terminal.Key
	for name, c := range map[string]struct {
		question Question
		typed    string // "": nothing
	}{
		"a prompt":                       {Question{Text: "go on, é", IfKeys: &none}, "go on, é"},
		"Enter":                          {Question{Press: keys{terminal.Enter}, IfKeys: &none}, "\r"},
		"Escape":                         {Question{Press: keys{terminal.Escape}, IfKeys: &none}, "\x1b"},
		"what takes two characters back": {Question{Press: keys{terminal.LineStart, terminal.Delete, terminal.Delete, terminal.LineEnd}, IfKeys: &none}, "\x01\x1b[3~\x1b[3~\x05"},
		"nothing without the number":     {Question{Text: "go on"}, ""},
		"no key either":                  {Question{Press: keys{terminal.Enter}}, ""},
		"no two lines":                   {Question{Text: "go on\rrm -rf /", IfKeys: &none}, ""},
		"no Ctrl-C":                      {Question{Text: "\x03", IfKeys: &none}, ""},
		"no sequence":                    {Question{Text: "\x1b[A", IfKeys: &none}, ""},
		"no other key":                   {Question{Press: keys{"C-c"}, IfKeys: &none}, ""},
		"no two keys":                    {Question{Press: keys{terminal.Escape, terminal.Enter}, IfKeys: &none}, ""},
		"no part of taking back":         {Question{Press: keys{terminal.Delete}, IfKeys: &none}, ""},
		"no prompt with its Enter":       {Question{Text: "go on", Press: keys{terminal.Enter}, IfKeys: &none}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			typed, err := c.question.Bytes()
			require.Equal(t, c.typed, typed)
			require.Equal(t, c.typed == "", err != nil)
			require.False(t, c.question.Empty())
		})
	}
}

func TestTheDaemonIsToldWhyItIsRefused(t *testing.T) {
	_, w := serve(t, func(_ *peer.Held, q Question) Answer {
		if q.Empty() {
			return Answer{}
		}
		return Answer{Refused: "it is restricted"}
	})
	_, err := w.Facts(t.Context())
	refusal, ok := errors.AsType[*terminal.Refusal](err)
	require.True(t, ok && !refusal.Passing)
	require.EqualError(t, err, "the resumed shell there takes keys from the daemon alone: it is restricted")
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

// Nothing is sent to another user: neither what is typed, nor what is asked for.
func TestASocketOfAnotherUserIsRefused(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("ANOTHER USER'S SOCKET IS NOT TESTED HERE: only root can make one")
	}
	const nobody = 65534
	dir, err := os.MkdirTemp("", "sh") // the path of a socket may not be long
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.NoError(t, os.Chown(dir, nobody, nobody))
	self := filepath.Join(dir, "self") // which another user may run
	data, err := os.ReadFile(os.Args[0])
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(self, data, 0o755))
	for name, owner := range map[string]int{"the file is theirs": nobody, "the file is ours, and they listen": 0} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, fmt.Sprint(owner))
			child := exec.Command(self)
			child.Env = append(os.Environ(), listensEnv+"="+path)
			child.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
			in, err := child.StdinPipe()
			require.NoError(t, err)
			out, err := child.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, child.Start())
			t.Cleanup(func() { _ = child.Process.Kill() })
			_, err = io.ReadFull(out, make([]byte, len("ready\n")))
			require.NoError(t, err)
			require.NoError(t, os.Chown(path, owner, owner))
			w, err := Find([]string{Variable + "=" + path})
			require.NoError(t, err)
			require.ErrorIs(t, w.Write(t.Context(), "continue", "0"), errStranger)
			_, err = w.Facts(t.Context())
			require.EqualError(t, err, "the socket of its resumed shell belongs to another user")
			require.NoError(t, in.Close())
			said, err := io.ReadAll(out)
			require.NoError(t, err)
			require.Empty(t, said)
			require.NoError(t, child.Wait())
		})
	}
}
