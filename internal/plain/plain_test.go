package plain

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestErrorsOfGoInPlainWords(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	for name, tt := range map[string]struct {
		make func() error
		want string
	}{
		"no file":          {func() error { _, err := os.Open(dir + "/none"); return err }, "DIR/none does not exist"},
		"a directory":      {func() error { _, err := os.ReadFile(dir); return err }, "DIR is a directory"},
		"below a file":     {func() error { _, err := os.Open(file + "/x"); return err }, "a part of the path DIR/file/x is a file, not a directory"},
		"no directory":     {func() error { return os.Mkdir(dir+"/a/b", 0o700) }, "DIR/a/b cannot be made: the directory above it does not exist"},
		"a rename":         {func() error { return os.Rename(file, dir+"/a/b") }, "DIR/a/b does not exist"},
		"no program":       {func() error { return exec.Command("no-such-program").Run() }, "there is no program no-such-program in PATH"},
		"no program there": {func() error { return exec.Command(dir + "/none").Run() }, "there is no program DIR/none"},
		"no program, but":  {func() error { return exec.Command(file).Run() }, "DIR/file is not a program that you can run"},
		"a port in use":    {func() error { _, err := net.Listen("tcp", taken.Addr().String()); return err }, taken.Addr().String() + " is in use by another program"},
		"nobody there":     {func() error { _, err := net.Dial("tcp", "127.0.0.1:1"); return err }, "nothing answers at 127.0.0.1:1 (connection refused)"},
		"another address":  {func() error { _, err := net.Listen("tcp", "192.0.2.1:0"); return err }, "192.0.2.1:0 is no address of this machine"},
		"no host":          {func() error { return &net.OpError{Op: "dial", Err: &net.DNSError{Name: "h.example", IsNotFound: true}} }, "there is no host h.example"},
		"no number":        {func() error { _, err := strconv.Atoi("y"); return err }, `"y" is not a number that fits here`},
		"no JSON":          {func() error { return json.Unmarshal([]byte("{x"), new(any)) }, "it is not valid JSON, at byte 2"},
		"another JSON": {func() error {
			return json.Unmarshal([]byte(`{"a":"b"}`), new(struct {
				A int `json:"a"`
			}))
		}, `"a" is a string in this JSON, which does not fit`},
		"our own": {func() error { return errors.New("as it is") }, "as it is"},
	} {
		t.Run(name, func(t *testing.T) {
			err := tt.make()
			require.Equal(t, tt.want, strings.ReplaceAll(Text(err), dir, "DIR"))
			deep := fmt.Errorf("do it: %w: then that", errors.Join(fmt.Errorf("first: %w", err), errors.New("second")))
			require.Equal(t, "do it: first: "+tt.want+"\nsecond: then that", strings.ReplaceAll(Text(deep), dir, "DIR"))
		})
	}
}
