package soak

import (
	"encoding/binary"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// clockEnv names the file that says how far the daemon's clock is from the machine's.
const clockEnv = "SOAK_CLOCK"

// setClock is put into Go's own package time for the soak's build of the daemon, and
// into no other: nobody but root can set a machine's clock, and the kernel has no
// clock on the wall for some processes alone.
const setClock = `package time

import (
	"syscall"
	"unsafe"
)

// soakSet is by how many seconds the clock on the wall was set. It is memory that is shared:
// the time is asked for where no system call may be made.
var soakSet = func() *int64 {
	path, _ := syscall.Getenv("` + clockEnv + `")
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		panic("` + clockEnv + `: " + err.Error())
	}
	page, err := syscall.Mmap(fd, 0, 8, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		panic("` + clockEnv + `: " + err.Error())
	}
	syscall.Close(fd)
	return (*int64)(unsafe.Pointer(&page[0]))
}()
`

// overlay makes the files that set the clock, and returns what makes go build take them.
func overlay(t *testing.T, dir string) (flag string) {
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	require.NoError(t, err)
	lib := filepath.Join(strings.TrimSpace(string(root)), "src/time")
	source, err := os.ReadFile(filepath.Join(lib, "time.go"))
	require.NoError(t, err)
	const read = "\tsec, nsec, mono := runtimeNow()\n"
	_, now, found := strings.Cut(string(source), "func Now() Time {\n"+read)
	require.True(t, found, "time.Now is written in another way in this version of Go")
	before := strings.TrimSuffix(string(source), now)
	write("time.go", before+"\tif soakSet != nil {\n\t\tsec += *soakSet\n\t}\n"+now)
	write("soak.go", setClock)
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{
		filepath.Join(lib, "time.go"): filepath.Join(dir, "time.go"),
		filepath.Join(lib, "soak.go"): filepath.Join(dir, "soak.go"),
	}})
	require.NoError(t, err)
	write("overlay.json", string(replace))
	return "-overlay=" + filepath.Join(dir, "overlay.json")
}

// set sets the daemon's clock, in one piece: somebody may be looking.
func (w *world) set(to time.Duration) {
	w.clockOff = to.Abs() > time.Second
	file, err := os.OpenFile(filepath.Join(w.home, "clock"), os.O_WRONLY|os.O_CREATE, 0o600)
	require.NoError(w.t, err)
	defer file.Close()
	_, err = file.WriteAt(binary.NativeEndian.AppendUint64(nil, uint64(int64(to.Seconds()))), 0)
	require.NoError(w.t, err)
}

// step sets the clock now and then: by seconds, as a time server does, by the hours
// of a zone, or by the years of a battery that is empty.
func (w *world) step() {
	if !w.faults.clock || w.dice.IntN(20) > 0 {
		return
	}
	far := []time.Duration{10 * time.Second, time.Minute, 12 * time.Hour, 30 * 24 * time.Hour, 5 * 365 * 24 * time.Hour}
	bound := far[w.dice.IntN(len(far))]
	w.steps++
	w.set(time.Duration(w.dice.Int64N(int64(2*bound))) - bound)
}
