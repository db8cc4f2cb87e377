package deliver

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/term"
)

// runField is a program with an input field of one line, like an agent's, below a rule: it draws a moment after a
// key, and appends each line that is sent to the file of its first argument.
func runField(lag time.Duration) (code int) {
	old, err := term.MakeRaw(0)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer func() { _ = term.Restore(0, old) }()
	sent, err := os.OpenFile(os.Args[1], os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return 1
	}
	f := inputField{sent: sent}
	keys := make(chan []byte)
	go func() {
		for buf := make([]byte, 256); ; {
			n, err := os.Stdin.Read(buf)
			if err != nil {
				os.Exit(0)
			}
			keys <- slices.Clone(buf[:n])
		}
	}()
	for draw := time.After(0); ; {
		select {
		case read := <-keys:
			f.press(read)
			draw = time.After(lag)
		case <-draw:
			fmt.Printf("\x1b[2J\x1b[H───\r\n❯ %s", string(f.text))
		}
	}
}

type inputField struct {
	text []rune
	at   int // the cursor
	sent *os.File
}

var deleteKey = []byte("\x1b[3~")

func (f *inputField) press(keys []byte) {
	for len(keys) > 0 {
		switch key := keys[0]; {
		case bytes.HasPrefix(keys, deleteKey):
			if f.at < len(f.text) {
				f.text = slices.Delete(f.text, f.at, f.at+1)
			}
			keys = keys[len(deleteKey)-1:]
		case key == '\x01':
			f.at = 0
		case key == '\x05':
			f.at = len(f.text)
		case key == '\r':
			fmt.Fprintln(f.sent, string(f.text))
			f.text, f.at = nil, 0
		case key >= ' ':
			f.text = slices.Insert(f.text, f.at, rune(key))
			f.at++
		}
		keys = keys[1:]
	}
}
