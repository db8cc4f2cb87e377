package main

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/notify"
	"resumed/internal/resume"
)

// callLine is a tool that the agent calls: its turn goes on.
func callLine(session, cwd string) string {
	return transcriptLine(session, cwd, time.Now(), map[string]any{
		"type": "assistant", "message": map[string]any{
			"role": "assistant", "model": "claude-opus-5-5", "stop_reason": "tool_use",
			"content": []any{map[string]any{"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": map[string]any{"command": "make"}}},
		},
	})
}

// resultLine is the result of that tool.
func resultLine(session, cwd string) string {
	return transcriptLine(session, cwd, time.Now(), map[string]any{
		"type": "user", "message": map[string]any{
			"role": "user", "content": []any{map[string]any{"type": "tool_result", "tool_use_id": "toolu_1", "content": "started"}},
		},
	})
}

// work starts an agent that holds the session, and a daemon that has seen it in the middle of a turn.
func (b *liveBox) work(s standIn) {
	b.t.Helper()
	s.Status = "busy"
	b.alone(s, "claude")
	b.start("--log-level", "debug")
	asked := time.Now().Truncate(time.Millisecond)
	b.appendTo(b.transcript(), promptLine(liveID, s.Cwd, "do more work")+callLine(liveID, s.Cwd))
	b.until("its process was seen after this prompt", func() bool {
		s := b.stored(liveID)
		return s.StartedWith() != nil && !s.PromptedAt.Before(asked)
	})
}

func (b *box) untilLogged(words string) {
	b.t.Helper()
	b.until("the log says: "+words, func() bool { return strings.Contains(b.logged(), words) })
}

const diedInATurn = "its process ended in the middle of a turn"

// told adds a webhook for the events of this file.
func (b *liveBox) told(keys string) *hook {
	hook := newHook(b.t)
	b.configure(keys)
	b.write(configFile, b.read(configFile)+fmt.Sprintf("[notify]\ngroup_wait = \"0s\"\n[[notify.webhook]]\nname = \"ops\"\nurl = %q\n", hook.URL))
	return hook
}

func TestASessionThatWasCutOffIsTold(t *testing.T) {
	b := newLiveBox(t)
	hook := b.told("")
	b.work(b.standIn())
	require.NoError(t, syscall.Kill(b.registeredPID(), syscall.SIGKILL))
	s := b.untilState(liveID, resume.Parked)
	require.Equal(t, "cut_off", s.Class.String())
	require.Equal(t, "retry", *s.Needs)
	require.Equal(t, "was cut off: its process was killed, or crashed, in the middle of a turn; `resumed retry "+liveID+"` continues it", s.Reason)
	b.until("it is told", func() bool { return len(hook.got()) == 1 })
	told := hook.got()[0]
	require.Equal(t, notify.CutOff, told.Event)
	require.Equal(t, "resumed retry "+liveID, told.RetryCommand)
	require.Equal(t, "bot: Claude Code was cut off", told.Title)
	require.Contains(t, told.Text, "To continue it: resumed retry "+liveID)
	out, errOut, code := b.run("status")
	require.Zero(t, code, errOut)
	require.Contains(t, out, "cut off")
	require.Contains(t, out, "resumed retry ")
	out, _, _ = b.run("status", liveID)
	require.NotContains(t, out, "usage limit")

	// A new daemon does not tell it again, and does nothing by itself.
	require.Zero(t, b.kill(syscall.SIGTERM))
	b.start("--log-level", "debug")
	require.Equal(t, resume.Parked, b.session(liveID).State)
	require.Empty(t, b.read("runs"))

	_, errOut, code = b.run("retry", liveID)
	require.Zero(t, code, errOut)
	b.untilState(liveID, resume.Watching)
	require.Equal(t, 1, strings.Count(b.read("runs"), "\n"))
	require.Len(t, hook.got(), 1)
}

func TestWhatHappensToASessionThatEndedInATurn(t *testing.T) {
	t.Parallel()
	headless := func(s *standIn) { s.Runs = "sdk-cli" }
	for situation, c := range map[string]struct {
		keys  string
		agent func(*standIn)
		end   syscall.Signal
		state resume.State
		runs  int
	}{
		"killed, and resumed":                      {"cut_off = \"resume\"\n", nil, syscall.SIGKILL, resume.Watching, 1},
		"killed, and ignored":                      {"cut_off = \"ignore\"\n", nil, syscall.SIGKILL, 0, 0},
		"killed, in an excluded directory":         {"exclude = [\"~/bot\"]\n", nil, syscall.SIGKILL, 0, 0},
		"killed, where closed ones are left":       {"closed = \"leave\"\n", nil, syscall.SIGKILL, resume.Parked, 0},
		"its window was closed":                    {"", nil, syscall.SIGHUP, resume.Parked, 0},
		"its window was closed, and it is left":    {"closed = \"leave\"\ncut_off = \"resume\"\n", nil, syscall.SIGHUP, 0, 0},
		"a run without a terminal was ended":       {"cut_off = \"resume\"\n", headless, syscall.SIGHUP, 0, 0},
		"a run without a terminal that was killed": {"cut_off = \"resume\"\n", headless, syscall.SIGKILL, resume.Watching, 1},
	} {
		t.Run(situation, func(t *testing.T) {
			b := newLiveBox(t)
			b.configure(c.keys)
			s := b.standIn()
			if c.agent != nil {
				c.agent(&s)
			}
			b.work(s)
			require.NoError(t, syscall.Kill(b.registeredPID(), c.end))
			b.untilLogged(diedInATurn)
			if c.state != 0 {
				b.untilState(liveID, c.state)
			} else {
				require.Zero(t, b.session(liveID).State, "it is not listed")
			}
			b.until("it ran as often as it should", func() bool { return strings.Count(b.read("runs"), "\n") == c.runs })
		})
	}
}

func TestASessionThatIsNotCutOff(t *testing.T) {
	t.Parallel()
	for situation, record := range map[string]func(cwd string) string{
		"its turn was over":           func(cwd string) string { return answerLine(liveID, cwd, "Done.") },
		"its user interrupted it":     func(cwd string) string { return promptLine(liveID, cwd, "[Request interrupted by user]") },
		"its user left it with /exit": func(cwd string) string { return promptLine(liveID, cwd, "<command-name>/exit</command-name>") },
	} {
		t.Run(situation, func(t *testing.T) {
			b := newLiveBox(t)
			b.configure("cut_off = \"resume\"\n")
			b.work(b.standIn())
			b.appendTo(b.transcript(), record(b.path("bot")))
			require.NoError(t, syscall.Kill(b.registeredPID(), syscall.SIGKILL))
			b.untilLogged("not in the middle of a turn")
			require.NotContains(t, b.logged(), diedInATurn)
			require.Empty(t, b.session(liveID).ID)
			require.Empty(t, b.read("runs"))
		})
	}
}

func TestASessionThatARestartCutOff(t *testing.T) {
	t.Parallel()
	for situation, c := range map[string]struct {
		keys   string
		change func(*resume.Session)
		state  resume.State
		reason string
	}{
		"of the machine": {
			"closed = \"leave\"\n", func(s *resume.Session) { s.Origin.Boot = "another" }, resume.Parked,
			"was cut off by a restart of the machine; `resumed retry " + liveID + "` continues it",
		},
		"of the machine, and it is resumed": {
			"cut_off = \"resume\"\n", func(s *resume.Session) { s.Origin.Boot = "another" }, resume.Watching, "works again",
		},
		"of the daemon": {"", func(*resume.Session) {}, resume.Parked, "was cut off: its process was killed"},
		"before this version of the daemon, long ago": {
			"lookback = \"1m\"\n", func(s *resume.Session) {
				s.MovedAt, s.PromptedAt = s.MovedAt.Add(-time.Hour), s.PromptedAt.Add(-time.Hour)
			}, 0, "",
		},
	} {
		t.Run(situation, func(t *testing.T) {
			b := newLiveBox(t)
			b.configure(c.keys)
			b.work(b.standIn())
			pid := b.registeredPID()
			require.Zero(t, b.kill(syscall.SIGTERM))
			require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
			b.edit(liveID, c.change)
			b.start("--log-level", "debug")
			if c.state == 0 {
				b.untilLogged("msg=found")
				require.NotContains(t, b.logged(), diedInATurn)
				require.Empty(t, b.session(liveID).ID)
				return
			}
			b.until("it is as it should be: "+c.reason, func() bool {
				s := b.session(liveID)
				return s.State == c.state && strings.HasPrefix(s.Reason, c.reason)
			})
		})
	}
}

// Nothing is said, and nothing is started, while another process has the session open.
func TestASessionThatItsUserHasOpenedAgainIsNotCutOff(t *testing.T) {
	b := newLiveBox(t)
	b.configure("cut_off = \"resume\"\n")
	b.work(b.standIn())
	first := b.registeredPID()
	s := b.standIn()
	b.alone(s, "claude")
	require.NoError(t, syscall.Kill(first, syscall.SIGKILL))
	b.untilLogged("another process has it open")
	require.NotContains(t, b.logged(), diedInATurn)
	require.Empty(t, b.session(liveID).ID)
	require.Empty(t, b.read("runs"))
}
