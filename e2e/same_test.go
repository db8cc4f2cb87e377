package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agenttest"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

// inSub is a session that its user has continued in a directory whose settings forbid what those above
// it allow.
var inSub = situation{"continued by its user in another directory", func(t *testing.T, b *box, row *result) {
	if b.kit.version == "2.1.197" {
		t.Skip("SKIPPED: this version finds a session only from the directory in which it began")
	}
	const id = "0b6b1a62-1f8e-4a3b-9d5b-0a6de1f3c002"
	limited, claude := agenttest.RateLimit(0), filepath.Join(b.bin, "claude")
	row.provider = string(limited.Kind())
	b.write("src/shop/sub/.claude/settings.json", `{"permissions":{"deny":["Bash"]}}`)
	b.start(b.config())
	b.provider.Script(b.step("one"), agenttest.Text("The first line is there."))
	b.launch(claude, "--session-id", id, "-p", prompt).wait(t)
	require.Equal(t, "one", b.done())
	again := agenttest.Tool("echo two >> " + filepath.Join(b.work, "work.txt"))
	b.provider.Script(again, limited.Thinking(thought))
	b.provider.Upon("continue", again, agenttest.Text("I may not."))
	agent := b.launch("sh", "-c", `cd sub && exec "$0" --resume "$1" -p "And the second line."`, claude, id)
	row.said = saw(b.untilState(resume.Waiting, resume.Resuming))
	agent.wait(t)
	b.until("it was continued", func() bool { return resumes(b) == 1 })
	b.untilState(resume.Watching, resume.Parked)
	b.mustStayQuiet(b.calm(), 1)
	require.Contains(t, b.log.String(), "cwd="+filepath.Join(b.work, "sub"))
	require.Equal(t, "one", b.done(), "it was refused before the limit, and after the resume")
	row.did, row.outcome = "continued once in that directory", "refused again"
}}

// keptVariables is a session with a database of its own: another daemon has its values, and no disk.
var keptVariables = situation{"variables of its own, and another daemon", func(t *testing.T, b *box, row *result) {
	memory, err := os.MkdirTemp("/dev/shm", "e2e-")
	if err != nil {
		t.Skipf("SKIPPED: there is no directory in memory: %v", err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(memory) })
	const mine = "postgres://of-the-session"
	b.extra = append(b.extra, "XDG_RUNTIME_DIR="+memory, "DATABASE_URL=postgres://of-the-daemon")
	before := b.waits(row, []string{"DATABASE_URL=" + mine}, "claude", "-p", prompt)
	b.provider.Upon("continue", agenttest.Tool("echo $DATABASE_URL >> work.txt"), agenttest.Text("All done."))
	b.restart()
	b.hold(false)
	b.until("it was continued", func() bool { return strings.Contains(b.done(), "postgres") })
	require.Equal(t, "one "+mine, b.done())
	for _, dir := range []string{".local/state/resumed", ".config/resumed", "runtime"} {
		require.NoError(t, filepath.WalkDir(b.path(dir), func(path string, d os.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				data, err := os.ReadFile(path)
				require.NoError(t, err)
				require.NotContains(t, string(data), mine, path)
			}
			return nil
		}))
	}
	require.NotEmpty(t, before)
	row.did, row.outcome = "continued once with what it was started with", "finished"
}}

// waits brings a session to a limit, with a daemon that continues nothing yet.
func (b *box) waits(row *result, shell []string, argv ...string) (before []agenttest.Request) {
	b.t.Helper()
	limited := agenttest.RateLimit(0)
	if b.kit.agent == "codex" {
		limited = codexLimit
	}
	row.provider = string(limited.Kind())
	b.start(b.config())
	b.hold(true)
	b.provider.Script(b.step("one"), limited.Thinking(thought))
	agent := b.ours(shell, argv...)
	row.said = saw(b.untilState(resume.Waiting))
	agent.wait(b.t)
	return b.refused()
}

// leftOut is what a session does not have in its resume, as status tells it.
func (b *box) leftOut() string {
	s, _ := b.session()
	return strings.Join(s.Carried.LeftOut, "\n")
}

// toldVariable is a session whose lost variable chooses no target: it is continued, and that is told.
var toldVariable = situation{"a variable of its own, which nobody knows any more", func(t *testing.T, b *box, row *result) {
	b.extra = append(b.extra, "COLOUR=blue")
	before := b.waits(row, []string{"COLOUR=red"}, "claude", "-p", prompt)
	b.provider.Upon("continue", b.step("two"), agenttest.Text("All done."))
	require.NoError(t, os.RemoveAll(b.path("runtime/resumed/starts")))
	b.restart()
	b.reload(strings.Replace(b.config(), "events = []", `events = ["retrying"]`, 1) +
		"[[notify.command]]\nname = \"file\"\nrun = [\"/bin/sh\", \"-c\", \"cat >> " + b.path("notices") + "\"]\n")
	s := b.latestSession()
	b.hold(false)
	b.finished(s, before, 1, once)
	b.until("a person is told", func() bool { return b.notices() > 0 })
	notice, err := os.ReadFile(b.path("notices"))
	require.NoError(t, err)
	for _, told := range []string{b.leftOut(), string(notice)} {
		require.Contains(t, told, "COLOUR")
		require.NotContains(t, told, "COLOUR=")
	}
	row.did, row.outcome = "continued once, and told what differs", "finished"
}}

// toldTarget is a session whose lost variable chooses a target, and parkedVariable one whose lost variable does
// not, under users who want neither to be decided by that.
func toldTarget(argv ...string) situation {
	return situation{`a database of its own, which nobody knows any more, and changed_env = "tell"`, func(t *testing.T, b *box, row *result) {
		s, before := b.lost(row, "DATABASE_URL", "tell", argv)
		b.provider.Upon("continue", b.step("two"), agenttest.Text("All done."))
		b.hold(false)
		b.finished(s, before, 1, once)
		require.Contains(t, b.leftOut(), "DATABASE_URL")
		require.NotContains(t, b.leftOut(), "of-the-")
		row.did, row.outcome = "continued once, and told what differs", "finished"
	}}
}

func parkedVariable(argv ...string) situation {
	return situation{`a variable of its own, which nobody knows any more, and changed_env = "park"`, func(t *testing.T, b *box, row *result) {
		_, before := b.lost(row, "COLOUR", "park", argv)
		b.hold(false)
		s := b.untilState(resume.Parked)
		require.Contains(t, s.Reason, "COLOUR: the values that the session had are lost since a restart")
		require.NotContains(t, s.Reason, "of-the-")
		b.mustStayQuiet(before, 0)
		_, err := b.ask("retry", s.ID)
		require.NoError(t, err)
		b.provider.Upon("continue", b.step("two"), agenttest.Text("All done."))
		b.finished(s, before, 1, once)
		row.did, row.outcome = "parked it, and continued it on its user's word", "finished"
	}}
}

// lost brings a session with a variable of its own to a limit. Nobody knows the value any more, and the daemon
// continues nothing yet.
func (b *box) lost(row *result, variable, changedEnv string, argv []string) (view.Session, []agenttest.Request) {
	b.t.Helper()
	b.extra = append(b.extra, variable+"=of-the-daemon")
	before := b.waits(row, []string{variable + "=of-the-session"}, append(slices.Clone(argv), prompt)...)
	require.NoError(b.t, os.RemoveAll(b.path("runtime/resumed/starts")))
	b.restart()
	b.reload(strings.Replace(b.config(), "[resume]", "[resume]\nchanged_env = \""+changedEnv+"\"", 1))
	return b.latestSession(), before
}

func (b *box) latestSession() view.Session {
	s, _ := b.session()
	return s
}

// changedWhereAsked is a session whose settings changed, in a mode that asks: it is continued, and that is
// told. missingSettings is one whose settings are gone.
var (
	changedWhereAsked = situation{"settings that changed meanwhile, in a mode that asks", func(t *testing.T, b *box, row *result) {
		b.write("src/shop/mine.json", `{"permissions":{"deny":["WebSearch"]}}`)
		before := b.waits(row, nil, "claude", "--settings", "mine.json", "-p", prompt)
		b.provider.Upon("continue", b.step("two"), agenttest.Text("All done."))
		b.write("src/shop/mine.json", `{"permissions":{"deny":["WebFetch"]}}`)
		s := b.latestSession()
		b.hold(false)
		b.finished(s, before, 1, once)
		require.Contains(t, b.leftOut(), "mine.json: changed since the session was started")
		row.did, row.outcome = "continued once, and told what differs", "finished"
	}}

	missingSettings = situation{"settings that are gone", func(t *testing.T, b *box, row *result) {
		b.write("src/shop/mine.json", `{"permissions":{"deny":["WebSearch"]}}`)
		before := b.waits(row, nil, "claude", "--settings", "mine.json", "-p", prompt)
		require.NoError(t, os.Remove(b.path("src/shop/mine.json")))
		b.hold(false)
		s := b.untilState(resume.Parked)
		require.Contains(t, s.Reason, "mine.json, which its --settings names, is gone")
		require.Empty(t, s.Attempts)
		b.mustStayQuiet(before, 0)
		row.said, row.did, row.outcome = saw(s), "parked it", "left to a person"
	}}
)

// movedAway is a session whose directory is away when it is due, and comes back.
var movedAway = situation{"a directory that comes back", func(t *testing.T, b *box, row *result) {
	before := b.waits(row, nil, "claude", "-p", prompt)
	b.provider.Upon("continue", b.step("two"), agenttest.Text("All done."))
	away := b.path("away")
	require.NoError(t, os.Rename(b.work, away))
	s := b.latestSession()
	b.hold(false)
	b.until("the daemon tells of it", func() bool {
		return strings.Contains(b.latestSession().Reason, "is gone: it is continued when that is back")
	})
	b.mustStayQuiet(before, 0)
	require.NoError(t, os.Rename(away, b.work))
	b.finished(s, before, 1, once)
	row.did, row.outcome = "waited for the directory, and continued once", "finished"
}}

// freer is a session of a daemon that is more restricted than the session was: it is continued, and that is
// told.
var freer = situation{"under a daemon that is more restricted", func(t *testing.T, b *box, row *result) {
	b.before = []string{"setpriv", "--no-new-privs", "--"}
	before := b.waits(row, nil, "claude", "-p", prompt)
	b.provider.Upon("continue", b.step("two"), agenttest.Text("All done."))
	s := b.latestSession()
	b.hold(false)
	b.finished(s, before, 1, once)
	require.Contains(t, b.leftOut(), "a resume is more restricted than the session was: no_new_privs")
	row.did, row.outcome = "continued once, and told what differs", "finished"
}}

// plans is a session that lived and died before there was a daemon, in plan mode by its transcript: it is
// continued in plan mode.
var plans = situation{"lived and died before anybody looked, in plan mode", func(t *testing.T, b *box, row *result) {
	limited := agenttest.RateLimit(0)
	row.provider = string(limited.Kind())
	b.provider.Script(limited)
	b.provider.Upon("continue", agenttest.Text("All done."))
	b.ours(nil, "claude", "--permission-mode", "plan", "-p", prompt).wait(t)
	b.start(b.config())
	b.until("it was continued", func() bool { return resumes(b) == 1 })
	s := b.untilState(resume.Watching)
	row.said = saw(s)
	records, err := os.ReadFile(s.Transcript)
	require.NoError(t, err)
	require.Equal(t, 2, strings.Count(string(records), `"permissionMode":"plan"`), "of the prompt and of the resume")
	require.NotContains(t, string(records), `"permissionMode":"default"`)
	row.did, row.outcome = "continued once in plan mode", "finished"
}}

// shellEarly is a session in a resumed shell that lived and died before there was a daemon: the shell has
// recorded what it was started with. Its flags forbid what its user's settings allow.
func shellEarly(limited agenttest.Answer, argv ...string) situation {
	return situation{"in a resumed shell, and before there was a daemon", func(t *testing.T, b *box, row *result) {
		b.shell = true
		row.provider = string(limited.Kind())
		b.kit.talk = func(prompt string) []string { return append(slices.Clone(argv), prompt) }
		b.provider.Script(b.step("one"), limited.Thinking(thought))
		b.provider.Upon("continue", b.step("two"), agenttest.Text("I may not."))
		b.talk(prompt)
		b.until("the refusal is recorded", func() bool {
			records, _ := os.ReadFile(b.transcript()) // there is none before it has begun
			return slices.ContainsFunc([]string{`"isApiErrorMessage":true`, `"error"`, `"used_percent":100`}, func(refused string) bool {
				return strings.Contains(string(records), refused) // old versions of Codex record only what is used
			})
		})
		require.Empty(t, b.done(), "it was refused before the limit")
		b.until("the shell has recorded its start since", func() bool {
			refused, err := os.Stat(b.transcript())
			require.NoError(t, err)
			starts, _ := filepath.Glob(b.path("runtime/resumed/starts/*.json"))
			recorded, err := os.Stat(strings.Join(starts, ""))
			return err == nil && recorded.ModTime().After(refused.ModTime())
		})
		b.reap()
		b.start(b.config())
		row.said = saw(b.untilState(resume.Waiting, resume.Resuming, resume.Settling))
		b.until("it was continued", func() bool { return resumes(b) == 1 })
		b.untilState(resume.Watching, resume.Parked)
		b.mustStayQuiet(b.calm(), 1)
		require.Positive(t, furtherRequests(b), "the model asked for it again")
		require.Empty(t, b.done(), "and was refused after the resume")
		row.did, row.outcome = "continued once with what the shell has recorded", "refused again"
	}}
}

// transcript is that of the only session; "": there is none.
func (b *box) transcript() string {
	b.t.Helper()
	for _, pattern := range []string{".claude/projects/*/*.jsonl", ".codex/sessions/*/*/*/*.jsonl"} {
		if found, _ := filepath.Glob(b.path(pattern)); len(found) == 1 {
			return found[0]
		}
	}
	return ""
}

// movedMenu is the limit's menu in which a person has marked another choice.
var movedMenu = situation{"live with the limit's menu open and another choice marked", func(_ *testing.T, b *box, row *result) {
	b.set("autoContinueAtUsageLimit", false)
	p, s, before := b.stopped(agenttest.UsageLimit(15*time.Second), row)
	p.until("the menu", func(screen string) bool { return strings.Contains(screen, "❯ 1. Stop and wait") })
	p.press("Down")
	p.until("another choice", func(screen string) bool { return strings.Contains(screen, "❯ 2. ") })
	b.finished(s, before, 1, once)
	row.did, row.outcome = "closed the menu and typed the prompt once", "finished"
}}
