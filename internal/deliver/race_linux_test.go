package deliver

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/resume"
	"resumed/internal/runner"
	"resumed/internal/terminal/terminaltest"
)

// fieldEnv makes the test binary a program with an input field, which draws that long after a key.
const fieldEnv = "RESUMED_TEST_FIELD"

func TestMain(m *testing.M) {
	if lag, err := time.ParseDuration(os.Getenv(fieldEnv)); err == nil {
		os.Exit(terminaltest.Field(lag))
	}
	os.Exit(m.Run())
}

// racesEnv says how many tries there are.
const racesEnv = "RESUMED_RACES"

// race is a session that is due in a terminal in which a person begins to type at the same time.
type race struct {
	*world
	socket string
	person io.WriteCloser // what is written there is typed by a client of tmux
	says   string         // by the person
	sends  bool           // and sent
	begins time.Duration  // after the resume
}

// newRace starts the program with the input field, and attaches a person to it.
func newRace(t *testing.T, dice *rand.Rand) *race {
	r := &race{
		world: newWorld(t), says: "I look at it myself"[:6+dice.IntN(13)], sends: dice.IntN(2) == 0,
		begins: time.Duration(dice.IntN(700)) * time.Millisecond,
	}
	self, err := os.Executable()
	require.NoError(t, err)
	dir, err := os.MkdirTemp("", "tm") // the path of a socket may not be long
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	r.socket = filepath.Join(dir, "s")
	cmd := exec.Command("tmux", "-u", "-S", r.socket, "-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24",
		"exec '"+self+"' '"+r.now().Transcript+"'")
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%dms", fieldEnv, 1+dice.IntN(60)))
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	t.Cleanup(func() { _ = exec.Command("tmux", "-S", r.socket, "kill-server").Run() })
	client := exec.Command("script", "-qec", "tmux -u -S "+r.socket+" attach", "/dev/null")
	client.Env = append(os.Environ(), "TERM=xterm", "TMUX=")
	r.person, err = client.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, client.Start())
	t.Cleanup(func() { _ = r.person.Close(); _ = client.Process.Kill(); _ = client.Wait() })

	pid, err := strconv.Atoi(strings.TrimSpace(r.tmux(t, "display-message", "-p", "#{pane_pid}")))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return r.tmux(t, "list-clients") != "" && r.draft(t) == "" }, time.Minute, 10*time.Millisecond)
	start, err := runner.StartTime(pid)
	require.NoError(t, err)
	r.agent.owner = &resume.Owner{PID: pid, Kind: "interactive", Tmux: "%0"}
	r.agent.talk.Type = &agent.Typing{Process: resume.Process{PID: pid, Start: start}, Text: "prompt", Judge: readField}
	return r
}

func (r *race) tmux(t *testing.T, args ...string) string {
	out, err := exec.Command("tmux", append([]string{"-u", "-S", r.socket}, args...)...).Output()
	require.NoError(t, err)
	return string(out)
}

func readField(screen string) agent.Sight {
	draft, shown := strings.CutPrefix(strings.TrimSpace(screen), "❯")
	if !shown {
		return agent.Sight{Strange: true, Leave: &agent.Leave{Why: "no field", Park: true}}
	}
	return agent.Sight{Draft: strings.TrimSpace(draft)}
}

func (r *race) draft(t *testing.T) string { return readField(r.tmux(t, "capture-pane", "-p")).Draft }

// has returns what was sent and is in the field, but for the prompt of the resume.
func (r *race) has(t *testing.T) string {
	lines := strings.Split(r.transcript(), "\n")[1:] // the first one is the limit
	lines = slices.DeleteFunc(lines, func(line string) bool { return line == "prompt" })
	return withoutSpace(strings.Join(lines, "") + r.draft(t))
}

// run resumes the session while the person types, and returns what came of it.
func (r *race) run(t *testing.T, dice *rand.Rand) (result string) {
	var typed sync.WaitGroup
	typed.Go(func() {
		time.Sleep(r.begins)
		for _, key := range r.says {
			_, _ = fmt.Fprintf(r.person, "%c", key)
			time.Sleep(time.Duration(50+dice.IntN(100)) * time.Millisecond)
		}
		if r.sends {
			time.Sleep(400 * time.Millisecond)
			_, _ = fmt.Fprint(r.person, "\r")
		}
	})
	result = last(r.act())
	typed.Wait()
	require.Eventually(t, func() bool { return r.has(t) == withoutSpace(r.says) }, 20*time.Second, 50*time.Millisecond,
		"%q was typed, and nothing else may be there: %s", r.says, result)
	require.LessOrEqual(t, strings.Count("\n"+r.transcript(), "\nprompt\n"), 1)
	require.NotContains(t, result, "parked", "%q is there", r.has(t))
	return result
}

// A person who begins to type at any moment of a resume finds in the field, and sends, only what they
// typed.
func TestAPersonWhoTypesAtTheSameTime(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"tmux", "script"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("TYPING IS NOT TESTED HERE: ", err)
		}
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	dice := rand.New(rand.NewPCG(seed, 0))
	tries, _ := strconv.Atoi(os.Getenv(racesEnv))
	tries = cmp.Or(tries, 24)
	results := make(map[string]int)
	for n := 0; n < tries; {
		var batch []*race
		for ; len(batch) < 25 && n < tries; n++ {
			batch = append(batch, newRace(t, dice))
		}
		time.Sleep(11 * time.Second) // nothing is typed where a person was a moment ago
		for _, r := range batch {
			results[r.run(t, dice)]++
			_ = r.person.Close()
			_ = exec.Command("tmux", "-S", r.socket, "kill-server").Run()
		}
	}
	for _, result := range slices.Sorted(maps.Keys(results)) {
		t.Logf("%3d of %d: %s", results[result], tries, result)
	}
	require.NotZero(t, results["delivered"])
}
