package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"strings"

	"resumed/internal/terminal/shellpty"
)

// askerEnv makes the test binary a process that asks a resumed shell for all that only the daemon gets. Its value is a file for
// the answers. If listensEnv has a path, it listens there first.
const (
	askerEnv   = "RESUMED_TEST_ASKER"
	listensEnv = "RESUMED_TEST_LISTENS"
)

func runAsker(answers string) int {
	if path := os.Getenv(listensEnv); path != "" {
		_ = os.Remove(path)
		if _, err := net.Listen("unix", path); err != nil {
			return fail(err)
		}
	}
	var all []string
	for _, question := range []string{
		`{}`, `{"input":true}`, `{"screen":true}`, `{"press":["C-c"],"if_keys":0}`, `{"text":"\u0003","if_keys":0}`, `{"text":"y"}`, `{"press":["Enter"]}`, `{"text":"y","if_keys":0}`,
	} {
		conn, err := net.Dial("unix", os.Getenv(shellpty.Variable))
		if err != nil {
			return fail(err)
		}
		fmt.Fprintln(conn, question)
		answer, _ := io.ReadAll(conn)
		all = append(all, strings.TrimSpace(string(answer)))
	}
	if err := os.WriteFile(answers+".new", []byte(strings.Join(all, "\n")), 0o600); err != nil {
		return fail(err)
	}
	if err := os.Rename(answers+".new", answers); err != nil {
		return fail(err)
	}
	return 0
}
