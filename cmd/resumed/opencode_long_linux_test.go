package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

// A row of a database can be very long: it must not need as much memory.
func TestALongRowOfOpencodeCostsLittle(t *testing.T) {
	if raceDetector {
		t.Skip("SKIPPED: the race detector takes the memory that is measured here")
	}
	const most = 100 << 10 // KiB
	b := newBox(t)
	db := b.opencodeDB()
	db.session("ses_a", "", b.path("bot"))
	now := time.Now().UnixMilli()
	const padded = `printf('{"role":"user","time":{"created":%d},"summary":"%.*c"}', ?, 50000000, 'x')`
	for i := range 2 {
		db.exec("INSERT INTO message VALUES (?, 'ses_a', ?, ?, "+padded+")", fmt.Sprint("msg_0", i), now-9, now-9, now-9)
	}
	db.exec("INSERT INTO message VALUES ('msg_1', 'ses_a', ?, ?, ?)", now-8, now-8, fmt.Sprintf(`{"role":"user","time":{"created":%d}}`, now-8))
	db.exec(`INSERT INTO part VALUES ('prt_1', 'msg_1', 'ses_a', ?, ?, printf('{"type":"tool","state":{"output":"%.*c"}}', 100000000, 'x'))`, now, now)
	db.exec("INSERT INTO session VALUES ('ses_b', NULL, printf('%.*c', 50000000, '/'), ?, ?, NULL)", now, now)
	db.refused("msg_2", "ses_a", 3600)

	explain := exec.Command(b.binary, "explain", "--json", db.path)
	var out bytes.Buffer
	explain.Env, explain.Dir, explain.Stdout = b.env(), b.home, &out
	require.NoError(t, explain.Start())
	var peak int
	for kib := 0; kib >= 0; kib = peakOf(explain.Process.Pid) { // rusage would include the memory of this test
		peak = max(peak, kib)
	}
	require.NoError(t, explain.Wait())
	require.Contains(t, out.String(), `"rate_limit"`)
	require.Less(t, peak, most, "KiB at most of explain")

	b.write(configFile, "[[agent]]\nname = \"opencode\"\n")
	b.start()
	b.untilState("ses_a", resume.Waiting)
	now = time.Now().UnixMilli()
	db.exec("INSERT INTO message VALUES ('msg_3', 'ses_a', ?, ?, "+padded+")", now, now, now)
	b.until("it is told", func() bool { return regexp.MustCompile(`passed over.*msg_3`).MatchString(b.logged()) })
	db.exec("INSERT INTO message VALUES ('msg_4', 'ses_a', ?, ?, ?)", now+1, now+1, fmt.Sprintf(`{"role":"user","time":{"created":%d}}`, now+1))
	db.exec(`INSERT INTO part VALUES ('prt_4', 'msg_4', 'ses_a', ?, ?, printf('{"type":"text","text":"%.*c"}', 100000000, 'x'))`, now, now)
	b.untilState("ses_a", resume.Watching)
	require.Len(t, regexp.MustCompile(`passed over.*msg_3`).FindAllString(b.logged(), -1), 1)
	require.Less(t, peakOf(b.proc.Process.Pid), most, "KiB at most of the daemon")
}

var highWater = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// peakOf returns the peak memory of a process, in KiB; negative after its end.
func peakOf(pid int) int {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	found := highWater.FindSubmatch(status)
	if found == nil {
		return -1
	}
	kib, _ := strconv.Atoi(string(found[1])) // digits only
	return kib
}
