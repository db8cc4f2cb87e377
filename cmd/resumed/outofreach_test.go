package main

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/notify"
	"resumed/internal/resume"
)

var updateReach = flag.Bool("update-reach", false, "write the golden words about sessions out of reach anew")

// A stopped session in a plain terminal is reported, waits for its process, and is continued after that
// has ended.
func TestASessionInAPlainTerminalWaitsForItsProcess(t *testing.T) {
	b, hook := newLiveBox(t), newHook(t)
	b.write(configFile, b.read(configFile)+fmt.Sprintf("[notify]\nevents = [\"limited\", \"parked\"]\ngroup_wait = \"1s\"\n"+
		"[[notify.webhook]]\nname = \"ops\"\nurl = %q\n", hook.URL))
	s := b.standIn()
	s.Screen = "usage-weekly-after-typing-continue"
	b.alone(s, "claude")
	b.start()
	b.outOfQuota(time.Now().Add(time.Hour), fiveHourText)
	b.until("people are told", func() bool { return len(hook.got()) == 2 })
	view := b.session(liveID)
	require.Equal(t, resume.Waiting, view.State)
	require.Equal(t, b.registeredPID(), view.Owner.PID)
	require.NotEmpty(t, view.Unreached)

	told := hook.got()
	slices.SortFunc(told, func(a, b notify.Notice) int { return strings.Compare(string(a.Event), string(b.Event)) })
	var text strings.Builder
	for _, n := range told {
		fmt.Fprintf(&text, "=== notice: %s\n%s\n---\n%s\n\n", n.Event, n.Title, n.Text)
	}
	status, _, code := b.run("status")
	require.Zero(t, code)
	one, _, code := b.run("status", liveID)
	require.Zero(t, code)
	text.WriteString("=== status\n" + tableOf(status) + "\n\n=== status SESSION\n" + one[:strings.Index(one, "\nattempts")] + "\n")
	sameAs(t, "testdata/out-of-reach.golden", b.impersonal(text.String(), view.Owner.PID))

	_, errOut, code := b.run("retry", "--now", liveID) // the wait is over: nothing is typed, and no second process runs
	require.Zero(t, code, errOut)
	b.until("it is held back", func() bool { s := b.session(liveID); return s.Reason == s.Unreached })
	require.Empty(t, b.read("runs"))
	require.Empty(t, b.keys())

	require.NoError(t, syscall.Kill(view.Owner.PID, syscall.SIGKILL))
	b.untilState(liveID, resume.Watching)
	require.Equal(t, 1, strings.Count(b.read("runs"), "\n"), "it was continued without a terminal, once")
	require.LessOrEqual(t, len(hook.got()), 3, "who asks is answered, and nobody is told anything else")
}

// impersonal removes from a text what differs from run to run.
func (b *liveBox) impersonal(text string, pid int) string {
	host, err := os.Hostname()
	require.NoError(b.t, err)
	for _, r := range []struct{ what, instead string }{
		{regexp.QuoteMeta(b.home), "HOME"},
		{fmt.Sprintf(`\b%d\b`, pid), "4242"},
		{`process \d+`, "process 4242"},
		{`tmux %\d+`, "tmux %0"},
		{`\d{4}-\d\d-\d\dT[0-9:]+Z`, "TIME"},
		{" on " + regexp.QuoteMeta(host) + ",", " on HOST,"},
		{`\d\d:\d\d(:\d\d)?( [A-Z][A-Za-z]*\b)?`, "TIME"},
		{`in \d+[hms][0-9hms ]*`, "in TIME"},
		{` +`, " "},
		{`(Mon|Tue|Wed|Thu|Fri|Sat|Sun) TIME`, "TIME"}, // shortly before midnight
		{` on (Mon|Tue|Wed|Thu|Fri|Sat|Sun) \d+ \w+|, in TIME`, ""},
	} {
		text = regexp.MustCompile(r.what).ReplaceAllString(text, r.instead)
	}
	return text
}

// sentences are the messages in many situations, by name.
type sentences struct {
	mu  sync.Mutex
	all map[string]string // guarded by mu
}

func (s *sentences) add(situation, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = make(map[string]string)
	}
	s.all[situation] = text
}

// sameAs compares them with a golden file, unless only some situations were run.
func (s *sentences) sameAs(t *testing.T, golden string) {
	if t.Failed() || flag.Lookup("test.run").Value.String() != "" && strings.Contains(flag.Lookup("test.run").Value.String(), "/") {
		return
	}
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(s.all)) {
		fmt.Fprintf(&text, "%s:\n    %s\n", name, s.all[name])
	}
	sameAs(t, golden, text.String())
}

// tableOf returns the table of status, which follows the summary.
func tableOf(status string) string { return strings.Split(status, "\n\n")[1] }

// sameAs compares a text with a golden file.
func sameAs(t *testing.T, golden, got string) {
	t.Helper()
	if *updateReach {
		require.NoError(t, os.MkdirAll(filepath.Dir(golden), 0o755))
		require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}
