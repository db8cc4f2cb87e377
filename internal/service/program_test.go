package service

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAProgramThatWillVanishIsKnown(t *testing.T) {
	t.Parallel()
	// The tests' own temporary directory counts as permanent here.
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	stays := whyTemporary(os.Args[0], "/nowhere")
	for path, want := range map[string]string{
		".cache/go-build/ab/abcd-d/resumed":                     "build cache",
		"go-build1234/b001/exe/resumed":                         "build cache",
		"gocache/f0/" + strings.Repeat("f0", 32) + "-d/resumed": "build cache", // GOCACHE may have any name
		".npm/_npx/12ab/node_modules/x/bin/resumed":             "npx",
		"home/.local/bin/resumed":                               "temporary directory",
		"lib/node_modules/@resumed/linux-x64/bin/prog":          "temporary directory",
	} {
		file := filepath.Join(base, path)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, nil, 0o755))
		require.Contains(t, whyTemporary(file, base), want)
	}
	require.Contains(t, whyTemporary(filepath.Join(base, "gone"), base), "removed")
	require.NotContains(t, stays, "removed")
	require.Empty(t, whyTemporary("/bin/sh", base))
}

// A program of ours is recognized wherever the mark is in the file, also across two reads.
func TestAProgramOfOursIsKnown(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "program")
	for _, ours := range []bool{true, false} {
		text := append(make([]byte, 3<<20), buildMark()...)
		if !ours {
			text = text[:len(text)-1]
		}
		require.NoError(t, os.WriteFile(file, text, 0o700))
		require.Equal(t, ours, isResumed(file))
	}
	require.False(t, isResumed("/bin/sh"))
	require.False(t, isResumed("/nowhere"))
}

// `resumed hub` looks for its program next to this one, also next to the copy.
func TestTheProgramOfTheHubIsCopiedToo(t *testing.T) {
	t.Parallel()
	dir, home := t.TempDir(), t.TempDir()
	put := func(path, text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o755))
	}
	s := spec{copyOf: filepath.Join(dir, "resumed"), program: filepath.Join(home, "bin", "resumed"), temporary: "is in a temporary directory"}
	hub := filepath.Join(home, "bin", hubName)
	i := Installer{Out: io.Discard, Err: io.Discard}
	put(s.copyOf, string(buildMark())+"\n")
	made, err := i.copyPrograms(s)
	require.NoError(t, err)
	require.Equal(t, []string{filepath.Join(home, "bin"), s.program}, made, "there is none")

	put(filepath.Join(dir, hubName), string(buildMark())+"-hub\n")
	made, err = i.copyPrograms(s)
	require.NoError(t, err)
	require.Equal(t, []string{hub}, made)
	made, err = i.copyPrograms(s)
	require.NoError(t, err)
	require.Empty(t, made, "it was made before")
	require.NoError(t, i.removeFiles(nil, []string{filepath.Join(home, "bin"), s.program, hub}))
	require.NoDirExists(t, filepath.Join(home, "bin"))

	put(hub, "#!/bin/sh\n")
	_, err = i.copyPrograms(s)
	require.ErrorContains(t, err, hub+": another program is there")
	text, err := os.ReadFile(hub)
	require.NoError(t, err)
	require.Equal(t, "#!/bin/sh\n", string(text))
}

// All printed commands begin with the program's name: the shell must find it.
func TestInstallSaysWhenAShellDoesNotFindTheProgram(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	program := filepath.Join(dir, "resumed")
	require.NoError(t, os.WriteFile(program, nil, 0o755))
	require.NoError(t, os.Symlink(program, filepath.Join(other, "linked")))
	says := func(path string) string {
		t.Setenv("PATH", path)
		var said strings.Builder
		Installer{Err: &said}.sayIfNotInPath(program)
		return said.String()
	}
	require.Empty(t, says("/nowhere:"+dir))
	require.Contains(t, says("/nowhere"), `export PATH="`+dir+`:$PATH"`)
	require.NoError(t, os.Rename(filepath.Join(other, "linked"), filepath.Join(other, "resumed")))
	require.Empty(t, says(other), "by another name it is found too")
	require.NoError(t, os.Remove(filepath.Join(other, "resumed")))
	require.NoError(t, os.WriteFile(filepath.Join(other, "resumed"), nil, 0o755))
	require.Contains(t, says(other+":"+dir), "is another one, "+filepath.Join(other, "resumed"))
}

// The PATH is read back from a unit as it was written.
func TestTheRecordedPathIsReadAgain(t *testing.T) {
	m := systemdUser{dir: t.TempDir()}
	s := spec{program: "/bin/resumed", variables: []string{"PATH=/there:/usr/bin:/bin:/100%\"\\x"}}
	require.Empty(t, recordedPath(m.allFiles()))
	_, err := Installer{Out: io.Discard}.writeFiles(m.filesOf(s, notifyReloadSince), nil)
	require.NoError(t, err)
	require.Equal(t, "/there:/usr/bin:/bin:/100%\"\\x", recordedPath(m.allFiles()))
}
