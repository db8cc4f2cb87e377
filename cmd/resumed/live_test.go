package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

const liveID = "0b6b1a62-1f8e-4a3b-9d5b-0a6de1f3c001"

const (
	overloadedText = "API Error: 529 Overloaded. This is a server-side issue, usually temporary — try again in a moment. " +
		"If it persists, check your inference gateway (127.0.0.1:18431)."
	fiveHourText = "You've hit your 5-hour limit · resets 2:02am (UTC)"
	weeklyText   = "You've hit your weekly limit · resets Nov 18, 5:53am (UTC)"
	armedText    = "Usage limit reached · continuing automatically at 2:02am · esc to cancel"
)

// liveBox is a box in which Claude Code was stopped.
type liveBox struct {
	*box
	dir     string // of the tmux server, and of the stand-in's files
	windows int
}

func newLiveBox(t *testing.T) *liveBox {
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("LIVE SESSIONS ARE NOT TESTED HERE: there is no tmux")
	}
	b := &liveBox{box: newBox(t)}
	dir, err := os.MkdirTemp("", "live")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	b.dir = dir
	b.configure("")
	b.write("claude.sh", "#!/bin/sh\necho \"$*\" >> \"$HOME/runs\"\n"+
		"printf '%s' '"+answerLine(liveID, b.path("bot"), "Resumed.")+"' >> \"$HOME/"+b.transcript()+"\"\n")
	b.write(b.transcript(), promptLine(liveID, b.path("bot"), "do the work"))
	return b
}

// configure writes a configuration with short waits.
func (b *liveBox) configure(resumeKeys string) {
	b.write(configFile, fmt.Sprintf("[backoff]\nbase_delay = \"100ms\"\n[resume]\nmargin = \"0s\"\nstagger = \"0s\"\n%s\n"+
		"[[agent]]\nname = \"claude-code\"\ncommand = %q\n", resumeKeys, b.path("claude.sh")))
}

func (b *liveBox) transcript() string { return ".claude/projects/-src/" + liveID + ".jsonl" }

// standIn returns a stand-in that was stopped by an overload.
func (b *liveBox) standIn() standIn {
	screens, err := filepath.Abs("../../internal/agent/claude/testdata/screens")
	require.NoError(b.t, err)
	return standIn{
		Session: liveID, Transcript: b.path(b.transcript()), Cwd: b.path("bot"),
		Registry: b.path(".claude/sessions"), Keys: filepath.Join(b.dir, "keys"), Screens: screens,
		Screen: "529-final", Status: "idle",
	}
}

func standInVariable(t *testing.T, s standIn) string {
	settings, err := json.Marshal(s)
	require.NoError(t, err)
	return standInEnv + "=" + string(settings)
}

// show runs a stand-in in a pane of its own tmux.
func (b *liveBox) show(s standIn, command string) {
	b.t.Helper()
	self, err := os.Executable()
	require.NoError(b.t, err)
	conf := filepath.Join(b.dir, "conf")
	require.NoError(b.t, os.WriteFile(conf, []byte("set -g status off\n"), 0o600))
	b.windows++
	socket := filepath.Join(b.dir, fmt.Sprint("s", b.windows))
	cmd := exec.Command("tmux", "-u", "-S", socket, "-f", conf, "new-session", "-d", "-x", "120", "-y", "40",
		strings.ReplaceAll(command, "SELF", "'"+self+"'"))
	cmd.Env = append(b.env(), standInVariable(b.t, s))
	out, err := cmd.CombinedOutput()
	require.NoError(b.t, err, "%s", out)
	b.t.Cleanup(func() { _ = exec.Command("tmux", "-S", socket, "kill-server").Run() })
	b.awaitRegistered(s)
}

func (b *liveBox) awaitRegistered(s standIn) {
	b.t.Helper()
	b.until("the stand-in is there", func() bool {
		if s.Registry == "" {
			_, err := os.Stat(s.Keys)
			return err == nil
		}
		files, _ := filepath.Glob(filepath.Join(s.Registry, "*.json"))
		return len(files) >= b.windows
	})
}

// tmux sends a command to the server of the first stand-in.
func (b *liveBox) tmux(args ...string) {
	b.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-S", filepath.Join(b.dir, "s1")}, args...)...).CombinedOutput()
	require.NoError(b.t, err, "%s", out)
}

// keys returns the keys that the stand-in received.
func (b *liveBox) keys() string {
	data, err := os.ReadFile(filepath.Join(b.dir, "keys"))
	if err != nil {
		return ""
	}
	return string(data)
}

func (b *liveBox) limited(fields map[string]any, text string) {
	record := map[string]any{
		"type": "assistant", "isApiErrorMessage": true,
		"message": map[string]any{"model": "<synthetic>", "role": "assistant", "content": []any{map[string]any{"type": "text", "text": text}}},
	}
	maps.Copy(record, fields)
	b.appendTo(b.transcript(), transcriptLine(liveID, b.path("bot"), time.Now(), record))
}

func (b *liveBox) overloaded() {
	b.limited(map[string]any{"error": "server_error", "apiErrorStatus": 529}, overloadedText)
}

func (b *liveBox) outOfQuota(reset time.Time, text string) {
	b.limited(map[string]any{
		"error": "rate_limit", "apiErrorStatus": 429, "apiError": "usage_limit_reached",
		"quotaLimits": map[string]any{"status": "rejected", "resetsAt": reset.Unix(), "rateLimitType": "five_hour"},
	}, text)
}

func (b *liveBox) noticed(at time.Time, text string) {
	b.appendTo(b.transcript(), transcriptLine(liveID, b.path("bot"), at, map[string]any{
		"type": "system", "subtype": "informational", "content": text,
	}))
}

func (b *liveBox) prompts() int { return strings.Count(b.read(b.transcript()), `"content":"continue"`) }

// evidence returns the stored screen, or "".
func (b *liveBox) evidence() string {
	return b.read(".local/state/resumed/runs/" + liveID + "/screen.txt")
}

// Each situation has one correct action.
func TestASessionThatLives(t *testing.T) {
	t.Parallel()
	const inPane = "exec SELF"
	show := func(change func(*standIn)) func(*liveBox) {
		return func(b *liveBox) {
			s := b.standIn()
			if change != nil {
				change(&s)
			}
			b.show(s, inPane)
		}
	}
	overload := func(b *liveBox) { b.overloaded() }
	serverError := func(b *liveBox) {
		b.limited(map[string]any{"error": "server_error", "apiErrorStatus": 500}, "API Error: 500 Internal server error. This is a server-side issue, usually temporary — try again in a moment.")
	}
	var said sentences
	t.Cleanup(func() { said.sameAs(t, "testdata/live.golden") }) // after all subtests
	for name, c := range map[string]struct {
		live    func(*liveBox) // what runs before the daemon starts
		stop    func(*liveBox) // what stops the session
		state   resume.State
		why     string // in its reason
		keys    string // all typed text
		runs    int    // commands that were run
		keeps   bool   // the screen is stored as evidence
		pending bool   // it is checked again
		told    bool   // a person must act there: status does not say that it continues by itself
	}{
		"an idle prompt after an error is typed into": {
			live: show(nil), stop: overload, state: resume.Watching, keys: "continue\r",
		},
		"a hint in the input field is no draft": {
			live: show(func(s *standIn) { s.Screen = "hint-accessibility" }), stop: overload, state: resume.Watching, keys: "continue\r",
		},
		"nor in a terminal that has not the focus": {
			live: show(func(s *standIn) { s.Screen = "hint-unfocused" }), stop: serverError, state: resume.Watching, keys: "continue\r",
		},
		"nor one without colours": {
			live: show(func(s *standIn) { s.Screen = "hint-no-colour" }), stop: overload, state: resume.Watching, keys: "continue\r",
		},
		"the limit's menu is closed by Escape first": {
			live: show(func(s *standIn) {
				s.Screen, s.Status, s.AfterMenu = "usage-weekly-menu", "waiting", "usage-weekly-after-typing-continue"
			}),
			stop: func(b *liveBox) {
				b.outOfQuota(time.Now().Add(-time.Second), "You've hit your weekly limit · resets Nov 18, 3:06am (UTC)")
			},
			state: resume.Watching, keys: "\x1bcontinue\r",
		},
		"a menu that a narrow terminal breaks is closed too": {
			live:  show(func(s *standIn) { s.Screen, s.Status, s.AfterMenu = "narrow-menu-40", "waiting", "narrow-529-40" }),
			stop:  func(b *liveBox) { b.outOfQuota(time.Now().Add(-time.Second), fiveHourText) },
			state: resume.Watching, keys: "\x1bcontinue\r",
		},
		"and one whose edge a notice covers": {
			live:  show(func(s *standIn) { s.Screen, s.Status, s.AfterMenu = "menu-80-notice-tmux", "waiting", "529-final" }),
			stop:  func(b *liveBox) { b.outOfQuota(time.Now().Add(-time.Second), fiveHourText) },
			state: resume.Watching, keys: "\x1bcontinue\r",
		},
		"a screen of ten rows is typed into": {
			live: show(func(s *standIn) { s.Screen = "low-529-10" }), stop: overload, state: resume.Watching, keys: "continue\r",
		},
		"vim's INSERT mode is typed into": {
			live: func(b *liveBox) {
				b.write(".claude/settings.json", `{"editorMode":"vim"}`)
				show(func(s *standIn) { s.Screen = "vim-insert" })(b)
			},
			stop: overload, state: resume.Watching, keys: "continue\r",
		},
		"vim's NORMAL mode is not": {
			live: func(b *liveBox) {
				b.write(".claude/settings.json", `{"editorMode":"vim"}`)
				show(func(s *standIn) { s.Screen = "vim-normal" })(b)
			},
			stop: overload, state: resume.Waiting, why: "vim's NORMAL mode", pending: true, told: true,
		},
		"a menu that does not close is left": {
			live:  show(func(s *standIn) { s.Screen, s.Status = "usage-weekly-menu", "waiting" }),
			stop:  func(b *liveBox) { b.outOfQuota(time.Now().Add(-time.Second), weeklyText) },
			state: resume.Parked, why: "did not close", keys: "\x1b",
		},
		"a menu that the process does not speak of is left": {
			live:  show(func(s *standIn) { s.Screen = "v197-usage-5h" }),
			stop:  func(b *liveBox) { b.outOfQuota(time.Now().Add(-time.Second), fiveHourText) },
			state: resume.Parked, why: "does not say that it waits", keeps: true,
		},
		"the limit's menu is closed wherever its cursor is": {
			live:  show(func(s *standIn) { s.Screen, s.Status, s.AfterMenu = "menu-moved", "waiting", "529-final" }),
			stop:  func(b *liveBox) { b.outOfQuota(time.Now().Add(-time.Second), fiveHourText) },
			state: resume.Watching, keys: "\x1bcontinue\r",
		},
		"a dialog that is open is told of": {
			live: show(func(s *standIn) { s.Screen, s.Status = "dialog-model", "waiting" }), stop: overload,
			state: resume.Waiting, why: "a dialog is open in its terminal (Select model)", pending: true, told: true,
		},
		"what /model left on the screen does not matter": {
			live: show(func(s *standIn) { s.Screen = "529-then-model" }), stop: overload, state: resume.Watching, keys: "continue\r",
		},
		"nor does what /context fills it with": {
			live: show(func(s *standIn) { s.Screen = "low-context-24" }),
			stop: func(b *liveBox) {
				b.overloaded()
				b.appendTo(b.transcript(), `{"type":"system","subtype":"local_command","content":"<command-name>/context</command-name>"}`+"\n")
			},
			state: resume.Watching, keys: "continue\r",
		},
		"a draft is never touched": {
			live: show(func(s *standIn) { s.Draft = "wait, I" }), stop: overload,
			state: resume.Waiting, why: "send it or clear it there, and the prompt is typed; resumed cannot type there", pending: true, told: true,
		},
		"a process that works is left": {
			live: show(func(s *standIn) { s.Status = "busy" }), stop: overload,
			state: resume.Waiting, why: "works on the session", pending: true,
		},
		"a screen that shows work is left": {
			live: show(func(s *standIn) { s.Screen = "529-retrying" }), stop: overload,
			state: resume.Waiting, why: "works on the session", pending: true,
		},
		"a screen that is not known is left, kept and told": {
			live: show(func(s *standIn) { s.Screen = "trust-dialog" }), stop: overload,
			state: resume.Parked, why: "not known", keeps: true,
		},
		"a screen of something else is left, kept and told": {
			live: show(func(s *standIn) { s.Screen = "ok" }), stop: overload,
			state: resume.Parked, why: "does not show what stopped", keeps: true,
		},
		"a program that does not show what is typed gets no Enter": {
			live: show(func(s *standIn) { s.Deaf = true }), stop: overload,
			state: resume.Parked, why: "Enter was not pressed", keys: "continue", keeps: true,
		},
		"a prompt that is not written down is unknown": {
			live: show(func(s *standIn) { s.Mute = true }), stop: overload,
			state: resume.Parked, why: "did not appear in the transcript", keys: "continue\r",
		},
		"its own continuation goes first": {
			live: show(func(s *standIn) { s.Screen, s.StartedAt = "usage-5h-oauth", time.Now().Add(-time.Hour).UnixMilli() }),
			stop: func(b *liveBox) {
				b.outOfQuota(time.Now().Add(-time.Second), fiveHourText)
				b.noticed(time.Now(), armedText)
			},
			state: resume.Waiting, why: "continues by itself", pending: true,
		},
		"its own continuation had its time": {
			live: show(func(s *standIn) { s.Screen, s.StartedAt = "usage-5h-oauth", time.Now().Add(-time.Hour).UnixMilli() }),
			stop: func(b *liveBox) {
				b.outOfQuota(time.Now().Add(-6*time.Minute), fiveHourText)
				b.noticed(time.Now().Add(-30*time.Minute), armedText)
			},
			state: resume.Watching, keys: "continue\r",
		},
		"a continuation that slept and asks for Enter is left, kept and told": {
			live: show(func(s *standIn) {
				s.Screen, s.StartedAt = "usage-5h-oauth", time.Now().Add(-time.Hour).UnixMilli()
				s.Instead = map[string]string{
					"⚠ Usage limit reached · limit resets 2:02am":        "Usage limit has reset",
					"Continuing automatically at 2:02am · Esc to cancel": "Press enter to continue",
				}
			}),
			stop: func(b *liveBox) {
				b.outOfQuota(time.Now().Add(-6*time.Minute), fiveHourText)
				b.noticed(time.Now().Add(-30*time.Minute), armedText)
				b.noticed(time.Now(), "Usage limit has reset · Press enter to continue")
			},
			state: resume.Parked, why: "asks for Enter to continue", keeps: true,
		},
		"a continuation that died with its process is made up for": {
			live: show(func(s *standIn) { s.Screen = "interactive-resume-after-limit" }),
			stop: func(b *liveBox) {
				b.outOfQuota(time.Now().Add(-time.Second), "You've hit your 5-hour limit · resets 12:19am (UTC)")
				b.noticed(time.Now().Add(-time.Minute), armedText)
			},
			state: resume.Watching, keys: "continue\r",
		},
		"a continuation that a person cancelled is respected": {
			live: show(nil),
			stop: func(b *liveBox) {
				b.outOfQuota(time.Now().Add(time.Hour), fiveHourText)
				b.noticed(time.Now(), "Automatic continue cancelled · /rate-limit-options to re-arm")
			},
			state: resume.Watching, why: "stopped by a person",
		},
		"a process outside of tmux is told of": {
			live: func(b *liveBox) { b.alone(b.standIn(), "claude") }, stop: overload,
			state: resume.Waiting, why: "it is not in tmux", pending: true,
		},
		"a terminal within the pane is not typed into": {
			live: func(b *liveBox) { b.show(b.standIn(), "script -qec SELF /dev/null") }, stop: overload,
			state: resume.Waiting, why: "another terminal", pending: true,
		},
		"somebody who reads back is waited for": {
			live: func(b *liveBox) { b.show(b.standIn(), inPane); b.tmux("copy-mode") }, stop: overload,
			state: resume.Waiting, why: "reads back", pending: true,
		},
		"a process that does not yet say what it holds is waited for": {
			live: func(b *liveBox) { s := b.standIn(); s.Registry = ""; b.alone(s, "claude") }, stop: overload,
			state: resume.Waiting, why: "does not say which session", pending: true,
		},
		"two writers are told of": {
			live: func(b *liveBox) { b.show(b.standIn(), inPane); b.show(b.standIn(), inPane) }, stop: overload,
			state: resume.Parked, why: "2 live processes",
		},
		"a dead process holds nothing": {
			live: func(b *liveBox) {
				b.show(b.standIn(), inPane)
				pid := b.registeredPID()
				require.NoError(b.t, syscall.Kill(pid, syscall.SIGKILL))
				b.until("it is gone", func() bool { return syscall.Kill(pid, 0) != nil })
			},
			stop: overload, state: resume.Watching, runs: 1,
		},
		"nor does the later owner of its pid": {
			live: func(b *liveBox) {
				b.write(fmt.Sprintf(".claude/sessions/%d.json", os.Getpid()),
					fmt.Sprintf(`{"pid":%d,"sessionId":%q,"procStart":"1","status":"idle"}`, os.Getpid(), liveID))
			},
			stop: overload, state: resume.Watching, runs: 1,
		},
		"a continuation whose process is gone is made up for": {
			live: func(*liveBox) {},
			stop: func(b *liveBox) {
				b.outOfQuota(time.Now().Add(-time.Second), fiveHourText)
				b.noticed(time.Now(), armedText)
			},
			state: resume.Watching, runs: 1,
		},
		"a directory that moved away is told of": {
			live: func(b *liveBox) { require.NoError(b.t, os.Rename(b.path("bot"), b.path("elsewhere"))) },
			stop: overload, state: resume.Waiting, why: "is gone", pending: true,
		},
		"a person is told, where that is asked for": {
			live: func(b *liveBox) { b.configure(`live = "notify"`); b.show(b.standIn(), inPane) }, stop: overload,
			state: resume.Parked, why: `resume.live is "notify"`,
		},
		"nobody is told, where that is asked for": {
			live: func(b *liveBox) { b.configure(`live = "ignore"`); b.show(b.standIn(), inPane) }, stop: overload,
			state: resume.Waiting, why: `resume.live is "ignore"`, pending: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newLiveBox(t)
			c.live(b)
			b.start()
			c.stop(b)
			var s view.Session
			b.until(fmt.Sprintf("it is %s because %q", c.state, c.why), func() bool {
				if s = b.session(liveID); strings.Contains(s.Reason, "resumed looks again") {
					b.run("retry", liveID) // now, not in a minute
				}
				return s.State == c.state && strings.Contains(s.Reason, c.why)
			})
			why, _, _ := strings.Cut(s.Reason, "; provider overloaded: ") // a reason before the due time also names the cause
			said.add(name, b.impersonal(why, 0))
			if c.told {
				require.NotEmpty(t, s.Unreached)
				out, _, _ := b.run("status", liveID)
				require.Contains(t, out, "Can it be reached? → it is open in a process that cannot be given the prompt; ")
			}
			require.Equal(t, c.keys, b.keys())
			require.Equal(t, c.runs, strings.Count(b.read("runs"), "\n"))
			require.Equal(t, c.keeps, b.evidence() != "")
			require.Equal(t, c.pending, s.NextAt != nil)
			if c.state != resume.Parked || !strings.Contains(c.why, "did not appear") {
				require.Empty(t, s.Attempts, "what was not sent costs no attempt, and movement forgives")
			} else {
				require.Equal(t, resume.Unknown, s.Attempts[0].Outcome)
			}
			if strings.HasSuffix(c.keys, "\r") && c.state == resume.Watching {
				require.Equal(t, 1, b.prompts())
			}
		})
	}
}

func (b *liveBox) registeredPID() int {
	files, err := filepath.Glob(b.path(".claude/sessions/*.json"))
	require.NoError(b.t, err)
	require.Len(b.t, files, 1)
	var pid int
	_, err = fmt.Sscanf(filepath.Base(files[0]), "%d.json", &pid)
	require.NoError(b.t, err)
	return pid
}

// alone runs a stand-in under that name, without a terminal.
func (b *liveBox) alone(s standIn, name string) {
	self, err := os.Executable()
	require.NoError(b.t, err)
	b.windows++
	cmd := exec.Command(self)
	cmd.Args = []string{name}
	cmd.Dir, cmd.Env = s.Cwd, append(b.env(), standInVariable(b.t, s))
	require.NoError(b.t, cmd.Start())
	b.t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	b.awaitRegistered(s)
}

// The agent names a time at which it continues by itself: the session is checked again after that.
func TestALiveSessionIsLookedAtAgainAfterItsOwnTime(t *testing.T) {
	b := newLiveBox(t)
	s := b.standIn()
	s.Screen, s.StartedAt = "usage-5h-oauth", time.Now().Add(-time.Hour).UnixMilli()
	b.show(s, "exec SELF")
	b.start()
	reset := time.Now().Add(-time.Second).Truncate(time.Second)
	b.outOfQuota(reset, fiveHourText)
	b.noticed(time.Now(), armedText)
	var view view.Session
	b.until("it stands aside", func() bool {
		view = b.session(liveID)
		return strings.Contains(view.Reason, "continues by itself")
	})
	require.WithinDuration(t, reset.Add(5*time.Minute), *view.NextAt, time.Minute)
	require.Equal(t, b.registeredPID(), view.Owner.PID)
	b.appendTo(b.transcript(), answerLine(liveID, b.path("bot"), "Going on by myself."))
	require.Contains(t, b.untilState(liveID, resume.Watching).Reason, "continued by itself")
	require.Empty(t, b.keys())
}

// A daemon that dies at any step of typing never types twice.
func TestACrashWhileTyping(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		step  string // the word in a call of tmux at which the daemon dies
		after bool   // the call itself still happens
		menu  bool
		state resume.State
		why   string
		keys  string // in total, with those of the next daemon
	}{
		"before it finds the pane":  {step: "display-message", state: resume.Watching, keys: "continue\r"},
		"before it sees the screen": {step: "capture-pane", state: resume.Watching, keys: "continue\r"},
		"before it closes the menu": {step: "'Escape'", menu: true, state: resume.Parked, why: "does not tell", keys: ""},
		"after it closed the menu":  {step: "'Escape'", menu: true, after: true, state: resume.Parked, why: "does not tell", keys: "\x1b"},
		"before it types":           {step: "'-l'", state: resume.Parked, why: "does not tell", keys: ""},
		"after it typed":            {step: "'-l'", after: true, state: resume.Parked, why: "does not tell", keys: "continue"},
		"before it presses Enter":   {step: "'Enter'", state: resume.Parked, why: "does not tell", keys: "continue"},
		"after it pressed Enter":    {step: "'Enter'", after: true, state: resume.Watching, keys: "continue\r"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newLiveBox(t)
			b.dieAt(c.step, c.after)
			s := b.standIn()
			if c.menu {
				s.Screen, s.Status, s.AfterMenu = "usage-weekly-menu", "waiting", "529-final"
			}
			b.show(s, "exec SELF")
			b.start()
			b.overloaded()
			b.untilDead()
			b.kill(syscall.SIGKILL)
			b.start()
			view := b.untilState(liveID, c.state)
			require.Contains(t, view.Reason, c.why)
			require.Equal(t, c.keys, b.keys())
			require.LessOrEqual(t, b.prompts(), 1)
			if c.state == resume.Parked {
				require.Equal(t, resume.Unknown, view.Attempts[0].Outcome)
				b.kill(syscall.SIGKILL)
				b.start()
				b.untilState(liveID, resume.Parked)
				require.Equal(t, c.keys, b.keys(), "nor does the next one")
			}
		})
	}
}

// dieAt puts a tmux in front of the real one that kills the daemon, once.
func (b *liveBox) dieAt(step string, after bool) {
	program, err := exec.LookPath("tmux")
	require.NoError(b.t, err)
	kill := "kill -9 $PPID"
	call := program + ` "$@"`
	order := kill + "\nexit 1"
	if after {
		order = call + "\nsleep 0.3\n" + kill + "\nexit 1"
	}
	b.write("bin/tmux", fmt.Sprintf("#!/bin/sh\ncase \" $* \" in\n*\" %s \"*)\n  if mkdir %q 2>/dev/null; then\n%s\n  fi;;\nesac\nexec %s\n",
		step, filepath.Join(b.dir, "died"), order, call))
}

func TestDryRunTypesNothing(t *testing.T) {
	b := newLiveBox(t)
	b.show(b.standIn(), "exec SELF")
	b.overloaded()
	b.proc = b.command("run", "--dry-run")
	require.NoError(t, b.proc.Start())
	t.Cleanup(func() { b.kill(syscall.SIGKILL) })
	b.until("it says what it would do", func() bool { return strings.Contains(b.logged(), "would have typed") })
	require.Zero(t, b.kill(syscall.SIGTERM))
	require.Empty(t, b.keys())
}
