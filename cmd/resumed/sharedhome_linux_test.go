package main

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

// onTheNetwork mounts a directory on another, as a file system that other machines share.
func onTheNetwork(t *testing.T, dir, at string) {
	t.Helper()
	if _, err := exec.LookPath("bindfs"); err != nil {
		require.Empty(t, os.Getenv("CI"), "CI has bindfs")
		t.Skip("SKIPPED: bindfs is missing")
	}
	require.NoError(t, os.MkdirAll(at, 0o755))
	out, err := exec.Command("bindfs", "-o", "subtype=sshfs,attr_timeout=0,entry_timeout=0", dir, at).CombinedOutput()
	if err != nil {
		t.Skipf("SKIPPED: this machine lets nobody mount a file system of a program: %s", out)
	}
	t.Cleanup(func() { require.NoError(t, exec.Command("umount", "--lazy", at).Run()) })
}

// In a home that machines share, the machine that continues a session holds it for all of them. If that
// machine is gone and its progress unknown, a person is asked.
func TestASessionInASharedHomeIsContinuedByOneMachine(t *testing.T) {
	shared := t.TempDir()
	h := newHubBox(t)
	h.serve()
	one, two := h.host("one"), h.host("two")
	for _, b := range []*box{one, two} {
		onTheNetwork(t, shared, b.path("bot", "logs"))
		b.write(configFile, strings.Replace(b.read(configFile), "account = \"team\"\n", "", 1)) // so that no machine waits for the other's account
		b.write("bot/resume.sh", strings.Replace(b.read("bot/resume.sh"), "sleep 1", "while [ ! -e done ]; do sleep 0.05; done", 1))
		b.start()
	}
	two.until("both are there", two.inFleet("connected", 2))
	order := func(words ...string) {
		t.Helper()
		_, errOut, code := two.run(words...)
		require.Zero(t, code, errOut)
	}
	order("pause")
	for _, id := range []string{"s-1", "s-2"} {
		one.write("bot/logs/"+id+".log", "step 1\nrate limited, retry in 1s\n")
		one.until("one continues it", func() bool { return strings.Contains(h.read("notes"), "begun one "+id) })
	}
	begun := h.read("notes")

	two.appendTo("bot/logs/s-1.log", "\n") // no file system reports the writes of another machine
	two.untilState("s-1", resume.Waiting)
	order("unpause")
	elsewhere := func() bool { return strings.Contains(two.session("s-1").Reason, "host one looks after it") }
	two.until("the other knows who has it", elsewhere)
	order("retry", "s-1")
	two.until("an order does not go over it", elsewhere)

	order("pause")
	one.kill(syscall.SIGKILL) // with its processes: the machine is gone
	one.sweep()
	two.until("that is seen", func() bool { return two.status().Daemon.Fleet.Hosts == 1 })
	two.appendTo("bot/logs/s-2.log", "\n")
	two.untilState("s-2", resume.Waiting)
	order("unpause")
	require.Contains(t, two.untilState("s-2", resume.Parked).Reason, "host one looked after it last, and is gone")
	require.Equal(t, begun, h.read("notes"), "nobody else has begun")
	two.write("bot/done", "")
	order("retry", "s-2")
	two.untilState("s-2", resume.Watching)
	require.Contains(t, h.read("notes"), "ended two s-2")
}
