package ownership

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// stranger is another user: nobody.
const stranger = nobody

// asRoot skips, with a clear message, if files cannot be given to another user.
func asRoot(t *testing.T) {
	if os.Geteuid() != 0 {
		require.Empty(t, os.Getenv("CI_ROOT"), "this run was to be root's")
		t.Skip("NOT TESTED: only root can give files to another user; run the tests as root too")
	}
}

func write(t *testing.T, path string, mode os.FileMode) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	require.NoError(t, os.Chmod(path, mode))
	return path
}

func refused(t *testing.T, err error, path, why, fix string) {
	t.Helper()
	var wrong *Error
	require.ErrorAs(t, err, &wrong)
	require.Equal(t, path, wrong.Path)
	require.Contains(t, wrong.Why, why)
	require.Equal(t, fix, wrong.Fix)
}

func TestOnesOwnFilesAreTrusted(t *testing.T) {
	dir := t.TempDir()
	file := write(t, filepath.Join(dir, "a/b/file"), 0o644)
	require.NoError(t, Trust{}.Check(file))
	require.NoError(t, Trust{}.Check(filepath.Dir(file)))
	require.NoError(t, Trust{}.Check("/bin/sh"), "so are those of the system, through its links")
	require.NoError(t, Trust{}.Check(filepath.Join(file, "below")), "what is not there is nobody's")
	require.NoError(t, Trust{}.Check(filepath.Join(dir, "missing/file")))
}

func TestWhatOthersCanWriteIsNot(t *testing.T) {
	dir := t.TempDir()
	file := write(t, filepath.Join(dir, "it's/file"), 0o666)
	above := filepath.Dir(file)
	refused(t, Trust{}.Check(file), file, "can be written by everybody", `chmod go-w '`+dir+`/it'\''s/file'`)

	require.NoError(t, Trust{Users: []string{Everybody}}.Check(file), "where a file system shows all as open, as a disk of Windows")
	require.NoError(t, os.Chmod(file, 0o600))
	require.NoError(t, os.Chmod(above, 0o777))
	refused(t, Trust{}.Check(file), above, "everybody can replace", `chmod go-w '`+dir+`/it'\''s'`)
	require.NoError(t, os.Chmod(above, 0o777|os.ModeSticky))
	require.NoError(t, Trust{}.Check(file), "as in /tmp nobody else takes it away")
	refused(t, Trust{}.Check(above), above, "can be written by everybody", `chmod go-w '`+dir+`/it'\''s'`)
}

func TestALinkLeadsToWhatIsChecked(t *testing.T) {
	dir := t.TempDir()
	file := write(t, filepath.Join(dir, "open/file"), 0o600)
	require.NoError(t, os.Chmod(filepath.Dir(file), 0o777))
	link := filepath.Join(dir, "link")
	require.NoError(t, os.Symlink("./open/../open/file", link))
	refused(t, Trust{}.Check(link), filepath.Join(dir, "open"), "everybody", "chmod go-w "+filepath.Join(dir, "open"))
	loop := filepath.Join(dir, "loop")
	require.NoError(t, os.Symlink("loop", loop))
	require.Error(t, Trust{}.Check(loop))
	require.Error(t, Trust{}.Owner(loop), "nobody knows whose it is")
}

// Between the check and the opening, a name can come to lead to another file.
func TestWhatWasOpenedIsCheckedAgain(t *testing.T) {
	path := write(t, filepath.Join(t.TempDir(), "file"), 0o666)
	open, err := os.Open(path)
	require.NoError(t, err)
	defer open.Close()
	require.NoError(t, os.Remove(path))
	name := fmt.Sprintf("/proc/self/fd/%d", open.Fd())
	if _, err := os.Stat(name); err != nil {
		t.Skip("NOT TESTED: without /proc no name leads to a file that is not there:", err)
	}
	require.NoError(t, Trust{}.Check(name), "by its name it is missing")
	_, err = Trust{}.Open(name)
	refused(t, err, name, "can be written by everybody", "chmod go-w "+name)
}

// To open one could take for ever.
func TestAPipeIsNotOpened(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	writer, err := os.OpenFile(path, os.O_RDWR, 0) // if it was opened all the same, this test does not hang
	require.NoError(t, err)
	defer writer.Close()
	_, err = Trust{}.Open(path)
	require.ErrorContains(t, err, "is a named pipe")
}

func TestWhatBelongsToAnotherIsNot(t *testing.T) {
	asRoot(t)
	dir := t.TempDir()
	file := write(t, filepath.Join(dir, "theirs/file"), 0o600)
	require.NoError(t, os.Chown(file, stranger, 0))
	refused(t, Trust{}.Check(file), file, "belongs to nobody, not to you", "rm "+file+", or if you know what it holds: sudo chown root "+file)
	refused(t, Trust{}.Owner(file), file, "belongs to nobody", "rm "+file+", or if you know what it holds: sudo chown root "+file)
	_, err := Trust{}.Open(file)
	refused(t, err, file, "belongs to nobody", "rm "+file+", or if you know what it holds: sudo chown root "+file)
	require.NoError(t, Trust{Users: []string{"65534"}}.Check(file))
	require.NoError(t, Trust{Users: []string{"nobody"}}.Check(file))
	require.NoError(t, Trust{Users: []string{Everybody}}.Check(file))

	require.NoError(t, os.Chown(file, 0, 0))
	above := filepath.Dir(file)
	require.NoError(t, os.Chown(above, stranger, 0))
	refused(t, Trust{}.Check(file), above, "belongs to nobody", "sudo chown root "+above)
	require.NoError(t, Trust{}.Owner(file), "it says no more than whose it is")

	link := filepath.Join(dir, "link")
	require.NoError(t, os.Symlink(write(t, filepath.Join(dir, "mine"), 0o600), link))
	require.NoError(t, os.Lchown(link, stranger, 0))
	refused(t, Trust{}.Check(link), link, "belongs to nobody", "rm "+link)
}

// Many systems have a umask of 002 and a group for each user.
func TestAGroupWithoutStrangersMayWrite(t *testing.T) {
	asRoot(t)
	file := write(t, filepath.Join(t.TempDir(), "file"), 0o664)
	require.NoError(t, Trust{}.Check(file), "root's own group")
	require.NoError(t, os.Chown(file, 0, nobody)) // nogroup, which has several members
	refused(t, Trust{}.Check(file), file, "can be written by the group "+groupName(nobody), "chmod go-w "+file)
	require.NoError(t, Trust{Groups: []string{"65534"}}.Check(file))
	require.NoError(t, Trust{Groups: []string{groupName(nobody)}}.Check(file))
	require.NoError(t, os.Chown(file, 1, 1)) // the user daemon and its private group
	require.NoError(t, Trust{Users: []string{"1"}}.Check(file), "all who are in it are trusted")
	require.NoError(t, os.Chown(file, 0, 1))
	require.Error(t, Trust{}.Check(file))
	require.NoError(t, os.Chown(file, 0, 4242)) // not in /etc/group
	require.Error(t, Trust{}.Check(file))
}
