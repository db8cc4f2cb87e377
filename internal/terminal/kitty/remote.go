package kitty

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"syscall"
	"time"

	"resumed/internal/peer"
	"resumed/internal/sanitize"
	"resumed/internal/terminal"
)

// callTimeout bounds one call. A kitty that hangs must not block a resume for ever; one that
// draws answers only after that, which takes long on a busy machine.
const callTimeout = 20 * time.Second

// command is a request to kitty, as JSON between two marks.
type command struct {
	Cmd     string         `json:"cmd"`
	Version [3]int         `json:"version"`
	Silent  bool           `json:"no_response,omitempty"` // kitty sends no answer, not even an error
	Payload map[string]any `json:"payload,omitempty"`
}

// spoken is the version of the protocol: kitty refuses one that is newer than itself.
var spoken = [3]int{0, 20, 0}

// The marks around a message.
var (
	opens  = []byte("\x1bP@kitty-cmd")
	closes = []byte("\x1b\\")
)

var errRefused = errors.New("refuses")

// longestAnswer is far more than kitty sends about all its windows.
const longestAnswer = 16 << 20

// call sends commands to kitty and returns the answers. It does not use kitty's own program,
// because then it could not check which user listens.
func (w *window) call(ctx context.Context, commands ...command) ([]string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, callTimeout, fmt.Errorf("no answer within %s", callTimeout))
	defer cancel()
	conn, err := w.dial(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	answers, err := ask(conn, commands)
	switch {
	case err == nil:
		return answers, nil
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case errors.Is(err, errRefused) && !commands[0].Silent: // otherwise something may have been typed
		return nil, &terminal.Refusal{Why: fmt.Sprintf("its kitty %s (passwords for it are not supported)", err)}
	}
	return nil, fmt.Errorf("kitty %s: %w", commands[0].Cmd, err)
}

// dial connects to kitty. Any user can take a name without a file, so the listener must be the
// same user.
func (w *window) dial(ctx context.Context) (*net.UnixConn, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", w.socket)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, os.ErrNotExist):
		return nil, &terminal.Refusal{Why: "its kitty is gone"}
	case err != nil:
		return nil, fmt.Errorf("reach kitty: %w", err)
	}
	socket := conn.(*net.UnixConn)
	uid, err := peer.UID(socket)
	if err == nil && uid != os.Getuid() {
		err = errStranger
	}
	if err != nil {
		_ = socket.Close()
		return nil, err
	}
	return socket, nil
}

func ask(conn net.Conn, commands []command) (answers []string, err error) {
	var message bytes.Buffer
	expected := 0
	for _, c := range commands {
		c.Version = spoken
		text, err := json.Marshal(c)
		if err != nil {
			return nil, err
		}
		message.Write(slices.Concat(opens, text, closes))
		if !c.Silent {
			expected++
		}
	}
	if _, err := conn.Write(message.Bytes()); err != nil {
		return nil, err
	}
	scanner := bufio.NewScanner(conn)
	scanner.Buffer(nil, longestAnswer)
	scanner.Split(split)
	for len(answers) < expected {
		if !scanner.Scan() {
			return nil, cmp.Or(scanner.Err(), errors.New("it hung up"))
		}
		var answer struct {
			OK    bool   `json:"ok"`
			Data  string `json:"data"`
			Error string `json:"error"`
		}
		if err := json.Unmarshal(scanner.Bytes(), &answer); err != nil {
			return nil, fmt.Errorf("unexpected answer: %w", err)
		}
		if !answer.OK {
			return nil, fmt.Errorf("%w: %s", errRefused, sanitize.Line(answer.Error))
		}
		answers = append(answers, answer.Data)
	}
	return answers, nil
}

// split finds the next message.
func split(data []byte, _ bool) (advance int, token []byte, err error) {
	end := bytes.Index(data, closes)
	if end < 0 {
		return 0, nil, nil
	}
	token = data[:end]
	if begin := bytes.Index(token, opens); begin >= 0 {
		token = token[begin+len(opens):]
	}
	return end + len(closes), token, nil
}
