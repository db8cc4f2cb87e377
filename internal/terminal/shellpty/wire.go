package shellpty

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"resumed/internal/peer"
)

const (
	// callTimeout bounds one question. A shell that is suspended does not answer.
	callTimeout = 5 * time.Second

	// longestMessage is far more than a screen.
	longestMessage = 16 << 20

	socketSuffix = ".sock"
)

// Question is what the daemon asks: one JSON object on a connection.
type Question struct {
	Screen bool   `json:"screen,omitempty"`
	Type   string `json:"type,omitempty"` // bytes for the agent

	// IfKeys is the number of Answer.Keys: if a person has typed since, nothing is typed.
	IfKeys *int `json:"if_keys,omitempty"`
}

// Answer is the answer, on the same connection.
type Answer struct {
	PID     int    `json:"pid"` // the first process in the terminal
	TTY     string `json:"tty"` // the path of the terminal
	Program string `json:"program"`
	Keys    int    `json:"keys"`               // how often a person has typed
	LastKey int64  `json:"last_key,omitempty"` // when, in nanoseconds since 1970; 0: never
	Screen  string `json:"screen,omitempty"`
	InUse   bool   `json:"in_use,omitempty"` // nothing was typed, because a person types
	Failed  string `json:"failed,omitempty"` // why it could not be typed
}

// ask asks the process that holds the terminal. It must run as the same user.
func (w *window) ask(ctx context.Context, q Question) (a Answer, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, callTimeout, fmt.Errorf("no answer within %s", callTimeout))
	defer cancel()
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", w.socket)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, os.ErrNotExist):
		return a, errGone
	case err != nil:
		return a, fmt.Errorf("reach a resumed shell: %w", err)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	if !ours(conn) {
		return a, errStranger
	}
	if err = json.NewEncoder(conn).Encode(q); err == nil {
		err = json.NewDecoder(io.LimitReader(conn, longestMessage)).Decode(&a)
	}
	switch {
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case err == nil && a.Failed != "":
		err = errors.New(a.Failed)
	}
	if err != nil {
		return a, fmt.Errorf("ask a resumed shell: %w", err)
	}
	return a, nil
}

// ours reports whether the same user is at the other end.
func ours(conn net.Conn) bool {
	socket, ok := conn.(*net.UnixConn)
	if !ok {
		return false
	}
	uid, err := peer.UID(socket)
	return err == nil && uid == os.Getuid()
}

// Listen opens the socket of this process in a directory of the user's own.
func Listen(dir string) (net.Listener, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, strconv.Itoa(os.Getpid())+socketSuffix)
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) { // of an earlier process with that pid
		return nil, err
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		_ = listener.Close()
		return nil, err
	}
	return listener, nil
}

// Serve answers questions of the same user until the listener is closed.
func Serve(listener net.Listener, answer func(Question) Answer) {
	for {
		conn, err := listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(time.Second) // no file descriptors are left
			continue
		}
		go func() {
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(callTimeout))
			var q Question
			if ours(conn) && json.NewDecoder(io.LimitReader(conn, longestMessage)).Decode(&q) == nil {
				_ = json.NewEncoder(conn).Encode(answer(q))
			}
		}()
	}
}
