package opencode

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/process"
	"resumed/internal/procfs"
	"resumed/internal/resume"
)

// procDir is one directory of a fake /proc.
type procDir struct {
	pid  int
	argv []string
	cwd  string
	env  []string
	open []string // files
}

func fakeProc(t testing.TB, all ...procDir) process.Table {
	root := t.TempDir()
	for _, p := range all {
		dir := filepath.Join(root, fmt.Sprint(p.pid))
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "fd"), 0o700))
		write := func(name, content string) {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
		}
		write("cmdline", strings.Join(p.argv, "\x00")+"\x00")
		write("environ", strings.Join(p.env, "\x00")+"\x00")
		if p.cwd != "" {
			require.NoError(t, os.Symlink(p.cwd, filepath.Join(dir, "cwd")))
		}
		for i, file := range p.open {
			require.NoError(t, os.Symlink(file, filepath.Join(dir, "fd", fmt.Sprint(i))))
		}
	}
	return process.At(procfs.FS(root))
}

func TestWhoMayHoldASession(t *testing.T) {
	t.Parallel()
	const id, dir, db = "ses_1", "/src/app", "/home/u/.local/share/opencode/opencode.db"
	tui := func(more ...string) procDir {
		return procDir{pid: 7, argv: append([]string{"opencode"}, more...), cwd: dir, open: []string{"/dev/null", db}}
	}
	with := func(p procDir, change func(*procDir)) procDir { change(&p); return p }
	interactive := &resume.Owner{PID: 7, Kind: "interactive"}
	headless := &resume.Owner{PID: 7, Kind: "headless"}
	for rule, c := range map[string]struct {
		process procDir
		want    *resume.Owner
	}{
		"one that lives in its directory":  {tui(), interactive},
		"a server there":                   {tui("serve", "--port", "4096"), headless},
		"a headless run there":             {tui("run", "hi"), headless},
		"one that is only just starting":   {with(tui(), func(p *procDir) { p.open = nil }), interactive},
		"one that is run by node":          {with(tui(), func(p *procDir) { p.argv = []string{"node", "/usr/bin/opencode"} }), interactive},
		"one in a pane":                    {with(tui(), func(p *procDir) { p.env = []string{"TMUX_PANE=%3"} }), &resume.Owner{PID: 7, Kind: "interactive", Tmux: "%3"}},
		"one elsewhere that names it":      {with(tui("-s", id), func(p *procDir) { p.cwd = "/src" }), interactive},
		"one elsewhere that names it so":   {with(tui("run", "--session="+id), func(p *procDir) { p.cwd = "/src" }), headless},
		"one that was started for it":      {with(tui("app"), func(p *procDir) { p.cwd = "/src"; p.argv[1] = "./app" }), interactive},
		"one that was sent there":          {with(tui("run", "--dir", dir), func(p *procDir) { p.cwd = "/src" }), headless},
		"one that thinks it is there":      {with(tui(), func(p *procDir) { p.cwd = "/src"; p.env = []string{"PWD=" + dir} }), interactive},
		"nobody elsewhere":                 {with(tui(), func(p *procDir) { p.cwd = "/src" }), nil},
		"nobody with another database":     {with(tui(), func(p *procDir) { p.open = []string{"/other/opencode.db"} }), nil},
		"nobody who is another program":    {with(tui(), func(p *procDir) { p.argv[0] = "vim" }), nil},
		"nobody who only lists sessions":   {tui("session", "list"), nil},
		"nobody who was started by us":     {with(tui("run"), func(p *procDir) { p.env = []string{agent.MarkVariable + "=m"} }), nil},
		"one that another daemon left":     {with(tui("run", "--session", id), func(p *procDir) { p.env = []string{agent.MarkVariable + "=m2"} }), headless},
		"one that a resumed run opened":    {with(tui(), func(p *procDir) { p.env = []string{agent.MarkVariable + "=m2"} }), interactive},
		"nobody who is our own run":        {with(tui("run", "--session", id), func(p *procDir) { p.env = []string{agent.MarkVariable + "=m"} }), nil},
		"nobody without arguments at all":  {procDir{pid: 7, cwd: dir}, nil},
		"nobody who names another session": {with(tui("-s", "ses_2"), func(p *procDir) { p.cwd = "/src" }), nil},
	} {
		t.Run(rule, func(t *testing.T) {
			a := newAgent(t, agent.Options{})
			a.Processes = fakeProc(t, c.process)
			got, err := a.Owner(t.Context(), resume.Session{Key: resume.Key{Agent: Name, ID: id}, Cwd: dir, Transcript: db, Run: &resume.Run{Mark: "m"}})
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

// An open message is a running turn if a process is in the session's directory, else the turn was cut off.
func TestAnOpenMessageIsJudgedByWhoLives(t *testing.T) {
	t.Parallel()
	a := newAgent(t, agent.Options{})
	s := newStore(t, a.homes.Roots[0])
	s.add(loadRows(t, "db/serve_killed_while_busy.json"))
	judge := func() agent.Evidence {
		found, err := a.Evidence(s.path)
		require.NoError(t, err)
		require.Len(t, found, 1)
		require.NotEmpty(t, found[0].Leave)
		return found[0]
	}
	require.IsType(t, resume.Cancelled{}, judge().Event)
	a.Processes = fakeProc(t, procDir{pid: 7, argv: []string{"opencode"}, cwd: "/home/dev/oc/proj2"})
	require.IsType(t, resume.Progressed{}, judge().Event)
}
