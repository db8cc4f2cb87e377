package deliver

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
	"resumed/internal/runner"
)

// The directory of a disk that is not mounted is another one, and empty.
func TestAnEmptyDirectoryIsWaitedFor(t *testing.T) {
	dir := t.TempDir()
	if _, known := runner.BirthTime(dir); !known {
		t.Skip("NOT TESTED HERE: the file system does not tell when a directory was made")
	}
	var s resume.Session
	s.Cwd, s.CwdBorn, s.WaitFrom = dir, time.Unix(1, 0), time.Now()
	notSent := replaced(s, dir)
	require.Equal(t, resume.Tell, notSent.Then)
	require.Contains(t, notSent.Why, "is empty and not the session's directory")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "other"), nil, 0o600))
	require.Equal(t, resume.Park, replaced(s, dir).Then, "another project has its place")
}

// The transcript stays one of the agent's when a link on its path leads elsewhere than before.
func TestATranscriptIsFoundThroughLinks(t *testing.T) {
	w := newWorld(t)
	elsewhere := t.TempDir()
	link := filepath.Join(elsewhere, "link")
	require.NoError(t, os.Symlink(w.agent.root, link))
	other := filepath.Join(elsewhere, "other.log")
	require.NoError(t, os.WriteFile(other, nil, 0o600))
	for path, want := range map[string]string{
		filepath.Join(link, "s-1.log"): w.session.Transcript,
		w.session.Transcript:           w.session.Transcript,
		other:                          other, // it is in none of the agent's roots
		filepath.Join(link, "none"):    filepath.Join(link, "none"),
	} {
		s := w.now()
		s.Transcript = path
		require.Equal(t, want, w.d.located(s).Transcript)
	}

	missing := w.agent.root
	w.agent.root = filepath.Join(elsewhere, "gone")
	s := w.now()
	s.Transcript = filepath.Join(link, "s-1.log")
	require.Equal(t, s.Transcript, w.d.located(s).Transcript, "a root that is not there has no transcripts")
	w.agent.root = missing
}

// A session is not continued if another user can have written what determines what is run.
func TestWhatOthersCanWriteIsNotUsed(t *testing.T) {
	w := newWorld(t)
	w.run("touch touched")
	require.NoError(t, os.Chmod(w.session.Transcript, 0o666))
	require.Contains(t, last(w.act()), "parked: it is not used: "+w.session.Transcript)
	require.NoFileExists(t, filepath.Join(w.session.Cwd, "touched"))
	require.Nil(t, w.settings.distrusts("", w.session.Cwd), "a path that is not known cannot be checked")
	require.NotNil(t, w.settings.distrusts("", w.session.Transcript))
}

// A directory that is gone is not called excluded: the plan says what that means.
func TestADirectoryThatIsGoneIsNotExcluded(t *testing.T) {
	dir := t.TempDir()
	s := Settings{Rules: resume.Rules{Include: []string{dir}}}
	require.Nil(t, s.excludes(dir))
	require.Nil(t, s.excludes(filepath.Join(dir, "gone")))
	require.NotNil(t, s.excludes(t.TempDir()))
}
