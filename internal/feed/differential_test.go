package feed

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/agents"
	"resumed/internal/config"
	"resumed/internal/lines"
	"resumed/internal/ownership"
	"resumed/internal/resume"
	"resumed/internal/watch"
)

// The daemon judges most lines by a few bytes, and of a run of answers it parses the last
// one. Whatever it passes over would have changed nothing: who parses every line of a
// transcript is told the same. The transcripts are those that agents wrote, and random
// ones of their lines, of which some are cut or changed.
func TestReadingTellsWhatEveryLineTells(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT TRIED: without -short it is")
	}
	t.Setenv("HOME", t.TempDir())
	for _, name := range slices.Sorted(maps.Keys(captures)) {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			paths := histories(t, dir, captures[name])
			for _, way := range []struct {
				name  string
				known func(string) (watch.Cursor, bool)
				from  int // how many observations of each file count, from the end; 0: all
			}{
				{"from its beginning", beginning(t), 0},
				{"from its end back", nil, 1},
			} {
				fast := readAll(t, knows(t, name), dir, way.known)
				for _, path := range paths {
					lines := everyLine(t, knows(t, name), path)
					if way.from > 0 { // the end of a subagent is no evidence of how the session ended
						lines = slices.DeleteFunc(lines, func(o resume.Observation) bool { _, aside := o.Event.(resume.SubagentEnded); return aside })
					}
					want := told(lines, way.from)
					require.Equal(t, want, told(fast[path], way.from), "%s, %s:\n%s", way.name, path, contents(t, path))
				}
			}
		})
	}
}

var usual = sync.OnceValue(config.Default)

// knows returns an agent that has read nothing yet.
func knows(t testing.TB, name string) agent.FileAgent {
	all, err := agents.Make(usual())
	require.NoError(t, err)
	return all[name].(agent.FileAgent)
}

// histories writes transcripts into a directory and returns their paths.
func histories(t *testing.T, dir, captures string) (paths []string) {
	files, err := filepath.Glob(captures)
	require.NoError(t, err)
	require.NotEmpty(t, files)
	var whole [][]byte
	var lines [][]byte
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		whole = append(whole, data)
		lines = slices.AppendSeq(lines, bytes.Lines(data))
	}
	dice := rand.New(rand.NewPCG(3, 4))
	for range 150 {
		head, _, _ := bytes.Cut(whole[dice.IntN(len(whole))], []byte("\n"))
		text := append(bytes.Clone(head), '\n')
		for range dice.IntN(60) {
			text = append(text, spoiled(lines[dice.IntN(len(lines))], dice)...)
		}
		whole = append(whole, text)
	}
	for n, text := range whole {
		path := filepath.Join(dir, "project", "chats", fmt.Sprintf(corpusName, n))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, text, 0o600))
		paths = append(paths, path)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "project", ".project_root"), []byte(dir), 0o600))
	return paths
}

// spoiled returns a line as it is, mostly.
func spoiled(line []byte, dice *rand.Rand) []byte {
	line = bytes.TrimRight(bytes.Clone(line), "\n")
	switch dice.IntN(12) {
	case 0:
		line = line[:dice.IntN(len(line)+1)]
	case 1: // with spaces, as another program would write it
		var indented bytes.Buffer
		if json.Indent(&indented, line, "", " ") == nil {
			line = bytes.ReplaceAll(indented.Bytes(), []byte("\n"), nil)
		}
	case 2:
		line = lengthen(line)
	case 3: // its fields in another order
		var fields map[string]json.RawMessage
		if json.Unmarshal(line, &fields) == nil {
			line, _ = json.Marshal(fields)
		}
	case 4: // with fields that only a newer version has
		more := `"extra":{"list":[{"type":"x","text":"a \"}] brace"}],"type":"y"}`
		if dice.IntN(2) == 0 {
			line = bytes.Replace(line, []byte("{"), []byte("{"+more+","), 1)
		} else if whole, ok := bytes.CutSuffix(line, []byte("}")); ok {
			line = append(slices.Clip(whole), ("," + more + "}")...)
		}
	}
	return append(line, '\n')
}

// beginning lets each file be read from its beginning.
func beginning(t *testing.T) func(path string) (watch.Cursor, bool) {
	return func(path string) (watch.Cursor, bool) {
		info, err := os.Stat(path)
		require.NoError(t, err)
		stat := info.Sys().(*syscall.Stat_t)
		return watch.Cursor{Dev: uint64(stat.Dev), Inode: stat.Ino}, true
	}
}

// readAll reads a directory as the daemon does.
func readAll(t testing.TB, a agent.FileAgent, dir string, known func(string) (watch.Cursor, bool)) map[string][]resume.Observation {
	return readBy(t, a, dir, known, forget)
}

// forget keeps no cursor.
func forget(string, json.RawMessage) {}

func readBy(
	t testing.TB, a agent.FileAgent, dir string, known func(string) (watch.Cursor, bool),
	keep func(path string, cursor json.RawMessage),
) map[string][]resume.Observation {
	all := make(map[string][]resume.Observation)
	src := a.Sources()[0]
	r := &reader{
		agent: a, source: src, log: slog.New(slog.DiscardHandler), back: make(map[string]sight),
		feeds: &Feeds{opts: Options{
			Observe: func(_ context.Context, seen []resume.Observation) error {
				for _, o := range seen {
					all[o.Transcript] = append(all[o.Transcript], o)
				}
				return nil
			},
			Keep:      keep,
			Trust:     func() ownership.Trust { return ownership.Trust{} },
			Elsewhere: func(resume.Key) bool { return false },
		}},
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if known == nil {
		known = func(string) (watch.Cursor, bool) { return watch.Cursor{}, false }
	}
	w := watch.New(watch.Options{
		Since: func() time.Time { return time.Time{} }, Log: slog.New(slog.DiscardHandler),
		Root: dir, Depth: 2, Known: known, Deliver: r.deliver, Ready: func(context.Context) { cancel() },
		Match: func(rel string) bool { return strings.HasSuffix(rel, ".jsonl") },
		Sift:  func(line []byte) watch.Weight { return watch.Weight(src.Sift(line)) },
	})
	require.NoError(t, w.Run(ctx))
	return all
}

// everyLine parses every line of a file.
func everyLine(t *testing.T, a agent.FileAgent, path string) (all []resume.Observation) {
	data := contents(t, path)
	info, err := os.Stat(path)
	require.NoError(t, err)
	offset := int64(0)
	for line := range bytes.Lines(data) {
		seen, ok := a.Observe(a.Sources()[0], lines.Line{Path: path, Offset: offset, Data: bytes.TrimRight(line, "\r\n"), ModTime: info.ModTime()})
		if offset += int64(len(line)); ok && seen.Key.ID != "" {
			all = append(all, tidy(seen, a.Name()))
		}
	}
	return all
}

// told says what observations tell, for a comparison: of a run of movements the last one.
func told(all []resume.Observation, last int) []string {
	said := []string{}
	for i, o := range all {
		_, moved := o.Event.(resume.Progressed)
		if i+1 < len(all) && moved {
			if _, on := all[i+1].Event.(resume.Progressed); on {
				continue
			}
		}
		event := o.Event
		if limited, ok := event.(resume.Limited); ok {
			limited.First, limited.Context = false, resume.Context{} // which other lines tell
			event = limited
		}
		said = append(said, fmt.Sprintf("%v %q %q %q %T %+v", o.Key, o.Provider, o.Cwd, o.Kind, event, event))
	}
	if last > 0 {
		said = said[max(0, len(said)-last):]
	}
	return said
}

func contents(t *testing.T, path string) []byte {
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return data
}
