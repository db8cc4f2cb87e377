package reload

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/config"
)

// known are the built-in agents of these tests.
var known = config.Known{{Name: "claude-code"}, {Name: "codex"}}

type change struct {
	cfg config.Config
	err error
}

// follower runs Watch as a daemon would.
type follower struct {
	t       *testing.T
	ask     chan os.Signal
	changes chan change
}

// follow starts a Watch, and returns when it has answered a request.
func follow(t *testing.T, path string) *follower {
	t.Helper()
	f := start(t, path, Options{Known: known})
	f.ask <- syscall.SIGHUP
	f.next()
	return f
}

func start(t *testing.T, path string, opts Options) *follower {
	f := &follower{t, make(chan os.Signal), make(chan change, 100)}
	opts.Requests = f.ask
	opts.Apply = func(c config.Config, err error) { f.changes <- change{c, err} }
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- Watch(ctx, path, opts) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done, "a watch that is told to stop ends well")
	})
	return f
}

func (f *follower) next() change {
	f.t.Helper()
	select {
	case c := <-f.changes:
		return c
	case <-time.After(20 * time.Second):
		f.t.Fatal("no reload")
		return change{}
	}
}

// prompt expects the next reload to succeed with this prompt.
func (f *follower) prompt(want string) {
	f.t.Helper()
	c := f.next()
	require.NoError(f.t, c.err)
	require.Equal(f.t, want, c.cfg.Resume.Prompt)
}

// until expects a reload with this prompt at some point: on a busy machine, Watch may observe the
// middle of a save in several steps.
func (f *follower) until(want string) {
	f.t.Helper()
	for {
		if c := f.next(); c.err == nil && c.cfg.Resume.Prompt == want {
			return
		}
	}
}

func (f *follower) problem(want string) {
	f.t.Helper()
	c := f.next()
	require.ErrorContains(f.t, c.err, want)
	require.Equal(f.t, config.Config{}, c.cfg)
}

// quiet expects no reload for as long as one could still come.
func (f *follower) quiet() {
	f.t.Helper()
	select {
	case c := <-f.changes:
		f.t.Fatalf("reloaded once too often: %q, %v", c.cfg.Resume.Prompt, c.err)
	case <-time.After(quiet + 200*time.Millisecond):
	}
}

func says(prompt string) string { return fmt.Sprintf("[resume]\nprompt = %q\n", prompt) }

func put(t *testing.T, path, content string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
}

func link(t *testing.T, target, path string) {
	t.Helper()
	require.NoError(t, os.Symlink(target, path+".new"))
	require.NoError(t, os.Rename(path+".new", path))
}

func TestWatchSeesEveryWayToSave(t *testing.T) {
	t.Parallel()
	for name, save := range map[string]func(t *testing.T, path string){
		"written in place": func(t *testing.T, path string) { put(t, path, says("new")) },
		"renamed over": func(t *testing.T, path string) {
			put(t, path+".tmp", says("new"))
			require.NoError(t, os.Rename(path+".tmp", path))
		},
		"moved away and written anew": func(t *testing.T, path string) {
			require.NoError(t, os.Rename(path, path+"~"))
			put(t, path, says("new"))
		},
		"removed and written anew": func(t *testing.T, path string) {
			require.NoError(t, os.Remove(path))
			put(t, path, says("new"))
		},
		"replaced by a link": func(t *testing.T, path string) {
			target := filepath.Join(t.TempDir(), "elsewhere.toml")
			put(t, target, says("new"))
			link(t, target, path)
		},
		"its directory replaced": func(t *testing.T, path string) {
			dir := filepath.Dir(path)
			put(t, filepath.Join(dir+".new", filepath.Base(path)), says("new"))
			require.NoError(t, os.Rename(dir, dir+".old"))
			require.NoError(t, os.Rename(dir+".new", dir))
		},
		"truncated, and slowly written": func(t *testing.T, path string) {
			f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
			require.NoError(t, err)
			time.Sleep(450 * time.Millisecond) // longer than a change takes to settle
			_, err = f.WriteString(says("new"))
			require.NoError(t, err)
			require.NoError(t, f.Close())
		},
		"fifty times at once": func(t *testing.T, path string) {
			for range 49 {
				put(t, path, says("old, too"))
			}
			put(t, path, says("new"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "etc", "resumed.toml")
			put(t, path, says("old"))
			f := follow(t, path)
			save(t, path)
			f.until("new")
			put(t, path, says("newer"))
			f.until("newer")
		})
	}
}

func TestWatchFollowsLinks(t *testing.T) {
	t.Parallel()
	dir, far := t.TempDir(), t.TempDir()
	put(t, filepath.Join(far, "a", "one.toml"), says("one"))
	put(t, filepath.Join(far, "b", "one.toml"), says("two"))
	link(t, filepath.Join(far, "a"), filepath.Join(far, "current"))
	link(t, filepath.Join(far, "current", "one.toml"), filepath.Join(dir, "resumed.toml"))
	f := follow(t, filepath.Join(dir, "resumed.toml"))

	put(t, filepath.Join(far, "a", "one.toml"), says("one, edited"))
	f.prompt("one, edited")
	link(t, "b", filepath.Join(far, "current"))
	f.prompt("two")
	put(t, filepath.Join(far, "a", "one.toml"), says("nobody looks here"))
	f.quiet()
	put(t, filepath.Join(far, "b", "one.toml"), says("two, edited"))
	f.prompt("two, edited")
}

// A mounted ConfigMap is a link to a link that is swapped as a whole.
func TestWatchFollowsMountedVolumes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, filepath.Join(dir, "..2026_1", "resumed.toml"), says("one"))
	link(t, "..2026_1", filepath.Join(dir, "..data"))
	link(t, "..data/resumed.toml", filepath.Join(dir, "resumed.toml"))
	f := follow(t, filepath.Join(dir, "resumed.toml"))

	for i, prompt := range []string{"two", "three"} {
		next := fmt.Sprintf("..2026_%d", i+2)
		put(t, filepath.Join(dir, next, "resumed.toml"), says(prompt))
		link(t, next, filepath.Join(dir, "..data"))
		require.NoError(t, os.RemoveAll(filepath.Join(dir, fmt.Sprintf("..2026_%d", i+1))))
		f.prompt(prompt)
	}
	f.quiet()
}

func TestWatchTellsWhatIsWrongOnceAndGoesOn(t *testing.T) {
	t.Parallel()
	for name, steps := range map[string]func(t *testing.T, path string, f *follower){
		"a wrong key": func(t *testing.T, path string, f *follower) {
			put(t, path, "[resume]\npromt = 1\n")
			f.problem(path + ":2: resume.promt: unknown key; did you mean prompt?")
			put(t, path, "[resume]\npromt = 1\n")
			f.quiet()
			put(t, path, says("good"))
			f.prompt("good")
			put(t, path, "[resume]\nmodle = 1\n")
			f.problem(path + ":2: resume.modle: unknown key")
			put(t, path, says("good again"))
			f.prompt("good again")
			put(t, path, "[resume]\npromt = 1\n")
			f.problem(path + ":2: resume.promt: unknown key; did you mean prompt?")
		},
		"emptied": func(t *testing.T, path string, f *follower) {
			put(t, path, "")
			f.problem(path + ": is empty where it was not; the last good configuration stays")
			put(t, path, says("mended"))
			f.prompt("mended")
		},
		"removed": func(t *testing.T, path string, f *follower) {
			require.NoError(t, os.Remove(path))
			f.problem(path + ": is gone; the last good configuration stays")
			put(t, path, says("good"))
			f.prompt("good")
		},
		"its directory removed": func(t *testing.T, path string, f *follower) {
			require.NoError(t, os.RemoveAll(filepath.Dir(path)))
			f.problem(path + ": is gone")
			put(t, path, says("back"))
			f.prompt("back")
		},
		"replaced by a directory": func(t *testing.T, path string, f *follower) {
			require.NoError(t, os.Remove(path))
			require.NoError(t, os.Mkdir(path, 0o700))
			f.problem(path + ": is not a regular file")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "etc", "resumed.toml")
			put(t, path, says("good"))
			steps(t, path, follow(t, path))
		})
	}
}

func TestWatchKeepsQuietAboutWhatDidNotChange(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "resumed.toml")
	put(t, path, says("same"))
	f := follow(t, path)
	put(t, path, says("same"))
	put(t, filepath.Join(filepath.Dir(path), "other.toml"), says("other"))
	require.NoError(t, os.Chtimes(path, time.Now(), time.Now()))
	f.quiet()
	f.ask <- syscall.SIGHUP
	f.prompt("same")
	f.quiet()
}

func TestWatchAllowsAFileThatWasAlwaysEmpty(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "resumed.toml")
	put(t, path, "")
	f := follow(t, path)
	f.ask <- syscall.SIGHUP
	f.prompt("continue")
}

func TestWatchWaitsForADirectoryThatIsNotThere(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a", "b", "resumed.toml")
	f := start(t, path, Options{Known: known})
	f.ask <- syscall.SIGHUP
	f.problem("is gone")
	require.NoError(t, os.Mkdir(filepath.Dir(filepath.Dir(path)), 0o700))
	f.quiet()
	put(t, path, says("here"))
	f.prompt("here")
}

func TestWatchWithoutAnyFileFindsTheUsersWhenItAppears(t *testing.T) {
	home := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("HOME", home)
	defaults, err := config.Load("", known)
	require.NoError(t, err)
	f := start(t, "", Options{Known: known, Current: defaults})
	f.ask <- syscall.SIGHUP
	f.prompt("continue")

	path := filepath.Join(home, ".config", "resumed", "resumed.toml")
	put(t, path, says("found"))
	f.prompt("found")
	require.NoError(t, os.Remove(path))
	f.problem(path + ": is gone")
}

// As at a start, the best place counts: also after a file appeared there, or was deleted.
func TestWatchFollowsTheBestPlace(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		best, other := filepath.Join(dir, "user", "resumed.toml"), filepath.Join(dir, "system.toml")
		put(t, other, says("system"))
		var last atomic.Pointer[change]
		w, err := newWatch(other, Options{Known: known, Apply: func(c config.Config, err error) { last.Store(&change{c, err}) }})
		require.NoError(t, err)
		w.places = []string{best, other}
		w.begin()
		ctx, cancel := context.WithCancel(t.Context())
		go func() { _ = w.run(ctx) }()
		follow := func(prompt string) {
			t.Helper()
			time.Sleep(longest)
			synctest.Wait()
			require.NoError(t, last.Load().err)
			require.Equal(t, prompt, last.Load().cfg.Resume.Prompt)
		}
		put(t, best, says("mine"))
		follow("mine")
		put(t, other, says("nobody asked"))
		follow("mine")
		require.NoError(t, os.Remove(best))
		follow("nobody asked")
		put(t, best, says("mine again"))
		follow("mine again")
		require.NoError(t, os.Remove(other))
		follow("mine again")
		require.NoError(t, os.Remove(best))
		time.Sleep(longest)
		synctest.Wait()
		require.ErrorContains(t, last.Load().err, best+": is gone")
		cancel()
		synctest.Wait()
	})
	w, err := newWatch(config.UserPath(os.Getenv), Options{Named: true})
	require.NoError(t, err)
	require.Len(t, w.places, 1, "a file that was named is the only one")
}

func TestWatchTellsAChangeFromBeforeItStood(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "resumed.toml")
	put(t, path, says("loaded"))
	loaded, err := config.Load(path, known)
	require.NoError(t, err)
	f := start(t, path, Options{Known: known, Current: loaded})
	f.quiet()

	put(t, path, says("changed"))
	f.prompt("changed")
	late := start(t, path, Options{Known: known, Current: loaded})
	late.prompt("changed")
	late.quiet()
}

// Without events, as on some network file systems, the file is polled.
func TestWatchPollsWhereThereAreNoEvents(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "resumed.toml")
	put(t, path, says("old"))
	changes := make(chan change, 1)
	w, err := newWatch(path, Options{Known: known, Apply: func(c config.Config, err error) { changes <- change{c, err} }})
	require.NoError(t, err)
	w.begin()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.run(ctx) }()
	put(t, path, says("new"))
	f := &follower{t: t, changes: changes}
	f.prompt("new")
	cancel()
	require.NoError(t, <-done)
}

// Many programs truncate or remove a file before they write it: that is not a change yet. In a
// bubble without events, the time at which the file is checked is known.
func TestWatchIsPatientWithAFileThatIsAboutToBeWritten(t *testing.T) {
	for name, c := range map[string]struct {
		begin   func(path string) error
		problem string // if the file is not written in time
	}{
		"truncated": {func(path string) error { return os.Truncate(path, 0) }, "is empty where it was not"},
		"removed":   {os.Remove, "is gone"},
	} {
		dir := t.TempDir()
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				path := filepath.Join(dir, "resumed.toml")
				put(t, path, says("old"))
				var mu sync.Mutex
				var all []change
				changes := func() []change {
					mu.Lock()
					defer mu.Unlock()
					return slices.Clone(all)
				}
				w, err := newWatch(path, Options{Known: known, Apply: func(c config.Config, err error) {
					mu.Lock()
					defer mu.Unlock()
					all = append(all, change{c, err})
				}})
				require.NoError(t, err)
				w.begin()
				ctx, cancel := context.WithCancel(t.Context())
				go func() { _ = w.run(ctx) }()
				pass := func(d time.Duration) {
					time.Sleep(d)
					synctest.Wait()
				}

				require.NoError(t, c.begin(path))
				pass(recheckBlind + 3*quiet) // a change is seen at the next check, and is usually over after quiet
				require.Empty(t, changes(), "it may be about to be written")
				put(t, path, says("new"))
				pass(longest)
				got := changes()
				require.Len(t, got, 1)
				require.NoError(t, got[0].err)
				require.Equal(t, "new", got[0].cfg.Resume.Prompt)

				require.NoError(t, c.begin(path))
				pass(longest)
				got = changes()
				require.Len(t, got, 2, "the wait has an end")
				require.ErrorContains(t, got[1].err, c.problem)
				cancel()
				synctest.Wait()
			})
		})
	}
}

// A program that writes slowly may be asked about in the middle: half of a file can be a valid one.
func TestAFileThatIsOpenForWritingIsNotReadYet(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("NOT TESTED HERE: the system does not tell whether a file is open for writing")
	}
	t.Parallel()
	path := filepath.Join(t.TempDir(), "resumed.toml")
	put(t, path, says("old"))
	f := follow(t, path)
	file, err := os.Create(path)
	require.NoError(t, err)
	_, err = file.WriteString("[resume]\nprompt = \"ha")
	require.NoError(t, err)
	f.ask <- syscall.SIGHUP
	f.quiet()
	f.quiet()
	_, err = file.WriteString("lf\"\n")
	require.NoError(t, err)
	f.quiet()
	f.quiet()
	require.NoError(t, file.Close())
	f.prompt("half")
}

// A reload that is requested while another one runs must use the file as it is now.
func TestARequestIsAnsweredForTheFileAsItWasAfterIt(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "resumed.toml")
	put(t, path, says("good"))
	applying, goOn := make(chan error), make(chan struct{})
	requests := make(chan os.Signal)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- Watch(ctx, path, Options{Known: known, Requests: requests, Apply: func(_ config.Config, err error) {
			applying <- err
			<-goOn
		}})
	}()
	requests <- syscall.SIGHUP
	require.NoError(t, <-applying)
	put(t, path, "nonsense = 1\n")
	go func() { requests <- syscall.SIGHUP }()
	goOn <- struct{}{}
	require.ErrorContains(t, <-applying, "nonsense")
	goOn <- struct{}{}
	cancel()
	for stopped := false; !stopped; { // the change itself may be reported once more
		select {
		case <-applying:
			goOn <- struct{}{}
		case err := <-done:
			require.NoError(t, err)
			stopped = true
		}
	}
}

// Without a file there is nothing to wait for.
func TestARequestIsAnsweredWhereThereIsNoFile(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	t.Setenv("RESUMED_CONFIG", "")
	f := start(t, "", Options{Known: known})
	f.ask <- syscall.SIGHUP
	require.NoError(t, f.next().err)
}
