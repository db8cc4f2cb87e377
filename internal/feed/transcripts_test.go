package feed

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/lines"
	"resumed/internal/resume"
	"resumed/internal/runner"
	"resumed/internal/watch"
)

func TestANewLineIsAnObservation(t *testing.T) {
	dir, s := t.TempDir(), newSink()
	ready(t, s.options(), nil, newDiary("diary", dir))
	path := filepath.Join(dir, "a.txt")
	write(t, path, "of no use\nlimit  slow\x1b[31m down,\tplease "+strings.Repeat("!", 400)+"\n")

	seen := s.await(t, 1)[0]
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, resume.Key{Agent: "diary", ID: "a"}, seen.Key)
	require.Equal(t, "diary:default", seen.Account)
	require.Equal(t, path, seen.Transcript)
	require.Equal(t, info.Size(), seen.Pos.Offset, "behind its line")
	require.NotEmpty(t, seen.Pos.Epoch)
	limited := seen.Event.(resume.Limited)
	require.True(t, strings.HasPrefix(limited.Text, "slow down, please !!!"), limited.Text)
	require.Len(t, []rune(limited.Text), 300)
	require.False(t, limited.First)
	require.False(t, seen.Late)
	require.Zero(t, seen.Made, "it began before our eyes")
	born, _ := runner.BirthTime(dir)
	require.Equal(t, born, seen.CwdBorn)
}

// scaled is a diary that tells at a refusal how much stands before it.
type scaled struct {
	*diary
	weighed []lines.Line
}

func (s *scaled) WeighAt(line lines.Line) (resume.Context, bool) {
	begin := make([]byte, 4)
	if n, _ := line.File.ReadAt(begin, 0); string(begin[:n]) != "move" {
		return resume.Context{}, false
	}
	s.weighed = append(s.weighed, line)
	return resume.Context{Tokens: line.Offset}, true
}

// A session that has just been stopped is weighed while its file is open: nobody opens it again,
// and nothing of it is told twice.
func TestARefusalThatWasJustWrittenIsWeighed(t *testing.T) {
	dir, s := t.TempDir(), newSink()
	path := filepath.Join(dir, "a.txt")
	write(t, path, "move\nlimit old\n")
	d := &scaled{diary: newDiary("diary", dir)}
	ready(t, s.options(), nil, d)
	write(t, path, "limit passed\nmove\nlimit one\nlimit two\n")
	write(t, filepath.Join(dir, "b.txt"), "limit three\n")

	for _, seen := range s.await(t, 6) {
		limited, _ := seen.Event.(resume.Limited)
		if limited.Text == "two" {
			require.EqualValues(t, len("move\nlimit old\nlimit passed\nmove\nlimit one\nlimit two\n"), limited.Context.Tokens, "by all that stands before its end")
			continue
		}
		require.Zero(t, limited.Context, "%s: another line says how it stands, or it is not told here", limited.Text)
	}
	require.Len(t, d.weighed, 1)
}

func TestWhatTheAgentKnowsBetterStays(t *testing.T) {
	dir, s := t.TempDir(), newSink()
	d := newDiary("diary", dir)
	d.observe = func(_ agent.Source, line lines.Line) (resume.Observation, bool) {
		seen := resume.Observation{
			Key: resume.Key{ID: strings.TrimPrefix(string(line.Data), "session ")}, Account: "diary:work", Transcript: "/elsewhere",
			Provider: "somebody\n" + strings.Repeat("x", 100), Event: resume.Progressed{},
		}
		return seen, true
	}
	ready(t, s.options(), nil, d)
	write(t, filepath.Join(dir, "a.txt"), "session \nsession b\n") // the first line names none

	seen := s.await(t, 1)
	require.Equal(t, "b", seen[0].Key.ID)
	require.Equal(t, "diary:work", seen[0].Account)
	require.Equal(t, "/elsewhere", seen[0].Transcript)
	require.Equal(t, "somebody "+strings.Repeat("x", 50)+"…", seen[0].Provider)
}

// A crash between the two reads the line again; the other way round it would be
// lost.
func TestACursorIsKeptOnlyAfterWhatItPasses(t *testing.T) {
	dir, s := t.TempDir(), newSink()
	down := errors.New("the engine is down")
	opts := s.options()
	opts.Keep = func(path string, cursor json.RawMessage) {
		if path == filepath.Join(dir, "a.txt") && len(s.told()) == 0 {
			t.Error("a cursor was kept of lines that nobody was told")
		}
		s.keep(path, cursor)
	}
	f, _ := ready(t, opts, nil, newDiary("diary", dir))
	path := filepath.Join(dir, "a.txt")

	s.set(func() { s.refuse = down })
	write(t, path, "move\n")
	require.ErrorIs(t, f.ReadNew(within(t), of("diary", path)), down)
	require.NotContains(t, s.kept(), path)

	s.set(func() { s.refuse = nil })
	write(t, path, "limit \n")
	require.NoError(t, f.ReadNew(within(t), of("diary", path)))
	require.Equal(t, []string{"move", "limit "}, texts(s.told()), "the lines come again")
	require.Contains(t, s.kept(), path)
}

// long is more than is looked at of a file at first.
var long = strings.Repeat("of no use\n", 10_000)

func TestAFileAtFirstSightIsReadFromItsEndBack(t *testing.T) {
	dir, s := t.TempDir(), newSink()
	path := filepath.Join(dir, "a.txt")
	write(t, path, "limit one\n"+long+long+"limit two\nmove\nlimit three\n"+long)
	f, _ := ready(t, s.options(), nil, newDiary("diary", dir))

	seen := s.told()
	require.Equal(t, []string{"limit two", "move", "limit three"}, texts(seen), "as far as needed")
	require.True(t, seen[2].Event.(resume.Limited).First, "it may be old news")
	born, _ := runner.BirthTime(path)
	require.Equal(t, born, seen[2].Made)
	require.True(t, slices.IsSortedFunc(seen, func(a, b resume.Observation) int { return int(a.Pos.Offset - b.Pos.Offset) }))

	write(t, path, "limit four\n")
	require.NoError(t, f.ReadNew(within(t), of("diary", path)))
	last := s.told()[3]
	require.Equal(t, "four", last.Event.(resume.Limited).Text)
	require.False(t, last.Event.(resume.Limited).First)
}

// Of a session that works, its last lines tell all. Of one that was stopped the lines before
// tell more: what it was asked for, and how often it was stopped.
func TestTheEndOfAFileTellsWhetherItsBeginningMatters(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		want []string
	}{
		"it works":                       {"prompt me\n" + long[:8000] + "move\n", []string{"prompt me", "move"}},
		"it was stopped":                 {"prompt me\n" + long[:8000] + "limit one\n", []string{"prompt me", "limit one"}},
		"it was stopped, and works":      {"prompt me\n" + long[:8000] + "limit one\nmove\n", []string{"prompt me", "limit one", "move"}},
		"nobody knows by its last lines": {"prompt me\nmove\n" + long[:8000], []string{"prompt me", "move"}},
		"its last line is not whole":     {"prompt me\n" + long[:8000] + "move\nlimit on", []string{"prompt me", "move"}},
		"its last line is a long one":    {"limit one\nmove " + strings.Repeat("x", 8000) + "\n", []string{"limit one", "move"}},
		"it is short":                    {"prompt me\nmove\n", []string{"prompt me", "move"}},
		"it is one line":                 {"limit one\n", []string{"limit one"}},
		"it is empty":                    {"", []string{}},
		"it has no whole line":           {"limit on", []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			dir, s := t.TempDir(), newSink()
			path := filepath.Join(dir, "a.txt")
			write(t, path, tt.text)
			f, _ := ready(t, s.options(), nil, newDiary("diary", dir))
			require.Equal(t, tt.want, texts(s.told()))
			write(t, path, "\nmove\n")
			require.NoError(t, f.ReadNew(within(t), of("diary", path)))
			require.Equal(t, "move", texts(s.told())[len(s.told())-1], "it is read on")
		})
	}
}

// A file of many sessions is read to its beginning: its end does not tell how
// all of them stand.
func TestASharedFileIsReadToItsBeginning(t *testing.T) {
	dir, s := t.TempDir(), newSink()
	write(t, filepath.Join(dir, "a.txt"), "limit one\n"+long+"limit two\n"+long+"limit three\n")
	d := newDiary("diary", dir)
	d.sources[0].Shared = true
	ready(t, s.options(), nil, d)
	require.Equal(t, []string{"limit one", "limit two", "limit three"}, texts(s.told()))
	require.Zero(t, s.told()[0].Made, "the file is not the session")
}

// The file is replaced while it is read for the first time: what it said before
// is not true of it any more.
func TestAFirstSightThatIsCutShortLeavesNothingBehind(t *testing.T) {
	for text, want := range map[string][]string{"move\n": {"move"}, "": {}} {
		t.Run(text, func(t *testing.T) {
			dir, s := t.TempDir(), newSink()
			path := filepath.Join(dir, "a.txt")
			write(t, path, long+"limit old\n")
			d := newDiary("diary", dir)
			d.sources[0].Shared = true
			d.observe = func(src agent.Source, line lines.Line) (resume.Observation, bool) {
				if string(line.Data) == "limit old" {
					if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
						t.Error(err)
					}
				}
				return readDiary(src, line)
			}
			f, _ := ready(t, s.options(), nil, d)
			require.NoError(t, f.ReadNew(within(t), of("diary", path)))
			require.Equal(t, want, texts(s.told()))
			require.Contains(t, s.kept(), path)
		})
	}
}

// An engine that does not answer is told all of it with the file's next event.
func TestAFirstSightThatNobodyTookIsToldAgain(t *testing.T) {
	dir, s := t.TempDir(), newSink()
	path := filepath.Join(dir, "a.txt")
	write(t, path, "limit old\n")
	s.refuse = errors.New("the engine is down")
	ready(t, s.options(), nil, newDiary("diary", dir))
	require.Empty(t, s.told())
	require.Empty(t, s.kept(), "no cursor is kept of what nobody knows")
	s.set(func() { s.refuse = nil })
	write(t, path, "move\n")
	require.Equal(t, []string{"limit old", "move"}, texts(s.await(t, 2)))
	require.True(t, s.told()[0].Event.(resume.Limited).First)
}

func TestOfARunOfLinesThatOnlyMoveTheLastRealOneTells(t *testing.T) {
	dir, s := t.TempDir(), newSink()
	d := newDiary("diary", dir)
	d.sources[0].Sift = func(line []byte) agent.Weight {
		switch {
		case bytes.HasPrefix(line, []byte("mov")):
			return agent.Moves
		case bytes.HasPrefix(line, []byte("limit")):
			return agent.Matters
		default:
			return agent.Nothing
		}
	}
	var parsed []string // by the goroutine of the watcher, before it tells
	d.observe = func(src agent.Source, line lines.Line) (resume.Observation, bool) {
		parsed = append(parsed, string(line.Data))
		return readDiary(src, line)
	}
	f, stop := ready(t, s.options(), nil, d)
	path := filepath.Join(dir, "a.txt")
	lines := []string{"move 1", "move 2", "move 3", "limit 4", "of no use", "move 5", "move 6", "moved not", "limit 7", "limit 8", "moved not"}
	write(t, path+".tmp", strings.Join(lines, "\n")+"\n")
	require.NoError(t, os.Rename(path+".tmp", path)) // at once
	require.NoError(t, f.ReadNew(within(t), of("diary", path)))
	stop()
	require.Equal(t, []string{"move", "limit 4", "move", "limit 7", "limit 8"}, texts(s.told()))
	require.Equal(t, []string{"move 3", "limit 4", "moved not", "move 6", "limit 7", "limit 8", "moved not"}, parsed)
	require.Equal(t, int64(len("move 1\nmove 2\nmove 3\n")), s.told()[0].Pos.Offset)
}

// With thousands of files at a start, each record that need not be read counts.
func TestAtFirstSightMovementTellsAllOfTheMovementBeforeIt(t *testing.T) {
	dir, s := t.TempDir(), newSink()
	d := newDiary("diary", dir)
	d.sources[0].Sift = func(line []byte) agent.Weight {
		if bytes.HasPrefix(line, []byte("move")) && !bytes.HasSuffix(line, []byte("end")) {
			return agent.Moves
		}
		return agent.Matters
	}
	var parsed []string // by the goroutine of the watcher, before it tells
	d.observe = func(src agent.Source, line lines.Line) (resume.Observation, bool) {
		parsed = append(parsed, string(line.Data))
		return readDiary(src, line)
	}
	lines := []string{"move 1", "limit 2", "move 3", "move 4", "move 5 end", "move 6", "move 7 end"}
	write(t, filepath.Join(dir, "a.txt"), strings.Join(lines, "\n")+"\n")
	_, stop := ready(t, s.options(), nil, d)
	stop()
	require.Equal(t, []string{"limit 2", "move 1", "move 5 end", "move 7 end"}, parsed)
	require.Equal(t, []string{"move", "limit 2", "move", "move"}, texts(s.told()))
}

func TestTheCursorsOfAnEarlierDaemonAreContinued(t *testing.T) {
	dir, s := t.TempDir(), newSink()
	path := filepath.Join(dir, "a.txt")
	write(t, path, "limit one\n")
	_, stop := ready(t, s.options(), nil, newDiary("diary", dir))
	stop()
	write(t, path, "limit two\n")

	later := newSink()
	ready(t, later.options(), s.kept(), newDiary("diary", dir))
	seen := later.told()
	require.Equal(t, []string{"limit two"}, texts(seen))
	require.False(t, seen[0].Event.(resume.Limited).First, "it is news")
	require.True(t, seen[0].Late, "another has read how the session began")
	require.Equal(t, s.told()[0].Pos.Epoch, seen[0].Pos.Epoch, "so that what is read again is passed over")
}

func TestACursorThatCannotBeReadIsSkipped(t *testing.T) {
	dir, s := t.TempDir(), newSink()
	path := filepath.Join(dir, "a.txt")
	write(t, path, "limit one\n")
	var log bytes.Buffer
	opts := s.options()
	opts.Log = slog.New(slog.NewTextHandler(&log, nil))
	_, stop := ready(t, opts, Cursors{path: json.RawMessage(`"torn`)}, newDiary("diary", dir))
	stop()
	require.Equal(t, []string{"limit one"}, texts(s.told()))
	require.Contains(t, log.String(), "a stored cursor was skipped")
}

func TestAPromptOfASessionThatAnotherLooksAfterIsIts(t *testing.T) {
	dir, s := t.TempDir(), newSink()
	opts := s.options()
	opts.Elsewhere = func(key resume.Key) bool { return key == resume.Key{Agent: "diary", ID: "theirs"} }
	f, _ := ready(t, opts, nil, newDiary("diary", dir))
	theirs, ours := filepath.Join(dir, "theirs.txt"), filepath.Join(dir, "ours.txt")
	write(t, theirs, "prompt\nprompt a hook\nmove\n")
	require.NoError(t, f.ReadNew(within(t), of("diary", theirs)))
	write(t, ours, "prompt\n")
	require.NoError(t, f.ReadNew(within(t), of("diary", ours)))
	require.Equal(t, []string{"prompt another resumed", "prompt a hook", "move", "prompt "}, texts(s.told()))
}

func TestALookReadsWhatIsNew(t *testing.T) {
	home, other, s := t.TempDir(), t.TempDir(), newSink()
	f, _ := ready(t, s.options(), nil, newDiary("diary", home, other))
	path := filepath.Join(other, "a.txt")
	for n := range 10 {
		write(t, path, "move\n")
		require.NoError(t, f.ReadNew(within(t), of("diary", path)))
		require.Len(t, s.told(), n+1)
	}
	require.NoError(t, f.ReadNew(within(t), of("diary", filepath.Join(home, "gone.txt"))), "there is nothing new to read")
	require.NoError(t, f.ReadNew(within(t), of("nobody", path)), "what becomes of it is not a feed's to say")
}

// Another session there may tell that a person went on.
func TestALookWaitsForAllThatLayThere(t *testing.T) {
	home, other, s := t.TempDir(), t.TempDir(), newSink()
	write(t, filepath.Join(home, "a.txt"), "move\n")
	gate := make(chan struct{})
	s.hold = gate
	d := newDiary("diary", home, other)
	f, _ := start(t, s.options(), nil, d)
	path := filepath.Join(other, "b.txt")
	<-current(f)[1].ready // there is nothing in the other place

	impatient := errors.New("cannot wait")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(impatient)
	require.ErrorIs(t, f.ReadNew(ctx, of("diary", path)), impatient)
	require.Empty(t, s.told())
	close(gate)
	require.NoError(t, f.ReadNew(within(t), of("diary", path)))
	require.Equal(t, []string{"move"}, texts(s.told()))
}

// A session that rested for so long that it was forgotten does not begin anew
// when it goes on.
func TestNothingBeginsInAnOldFile(t *testing.T) {
	now := time.Now()
	hour, month := now.Add(-time.Hour), now.Add(-30*24*time.Hour)
	require.Zero(t, made(watch.Batch{}, hour, now), "it begins before our eyes")
	require.Equal(t, month, made(watch.Batch{}, month, now))
	require.Equal(t, hour, made(watch.Batch{Late: true}, hour, now))
	require.Equal(t, hour, made(watch.Batch{Back: true}, hour, now))
}

// Whoever can put a file into a home must not have it obeyed. It is said once,
// and what was passed over is not taken for read.
func TestATranscriptOfAnotherUserIsPassedOver(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED: only root can give files to another user; run the tests as root too")
	}
	dir, s := t.TempDir(), newSink()
	theirs, mine := filepath.Join(dir, "a.txt"), filepath.Join(dir, "b.txt")
	write(t, theirs, "limit theirs\n")
	require.NoError(t, os.Chown(theirs, 65534, 65534))
	write(t, mine, "limit mine\n")
	var log bytes.Buffer
	opts := s.options()
	opts.Log = slog.New(slog.NewTextHandler(&log, nil))
	f, stop := ready(t, opts, nil, newDiary("diary", dir))
	write(t, theirs, "limit theirs again\n")
	require.NoError(t, f.ReadNew(within(t), of("diary", theirs)))
	require.Equal(t, []string{"limit mine"}, texts(s.told()))
	require.NoError(t, os.Chown(theirs, 0, 0))
	write(t, theirs, "limit mine by now\n")
	require.NoError(t, f.ReadNew(within(t), of("diary", theirs)))
	stop()
	require.Equal(t, []string{"limit mine", "limit mine by now"}, texts(s.told()))
	require.NotContains(t, s.kept(), theirs)
	require.Equal(t, 1, strings.Count(log.String(), theirs+" belongs to nobody"), log.String())

	again := newSink()
	_, stop = ready(t, again.options(), s.kept(), newDiary("diary", dir))
	stop()
	require.Equal(t, []string{"limit theirs", "limit theirs again", "limit mine by now"}, texts(again.told()))
}

// A disk that comes back while the daemon runs brings old news: how far it was read is
// on disk, and not kept in memory.
func TestAFileThatComesBackIsReadOn(t *testing.T) {
	dir, away, s := t.TempDir(), t.TempDir(), newSink()
	path, elsewhere := filepath.Join(dir, "a.txt"), filepath.Join(away, "a.txt")
	write(t, path, "limit one\n")
	_, stop := ready(t, s.options(), nil, newDiary("diary", dir))
	stop()
	require.NoError(t, os.Rename(path, elsewhere))

	later := newSink()
	opts := later.options()
	opts.Kept = func(place string) (json.RawMessage, bool) {
		cursor, ok := s.kept()[place]
		return cursor, ok
	}
	ready(t, opts, Cursors{}, newDiary("diary", dir))
	write(t, elsewhere, "limit two\n")
	require.NoError(t, os.Rename(elsewhere, path))
	seen := later.await(t, 1)
	require.Equal(t, []string{"limit two"}, texts(seen))
	require.True(t, seen[0].Late)
}
