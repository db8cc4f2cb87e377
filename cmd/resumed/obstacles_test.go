package main

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// asNobody runs a command as a user who owns nothing here, if the test may do that; else as its own user.
func (b *box) asNobody(args ...string) (said string) {
	b.t.Helper()
	var words bytes.Buffer
	cmd := exec.Command(b.path("resumed"), args...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = b.env(), "/", &words, &words
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	require.Error(b.t, cmd.Run(), args)
	return words.String()
}

// What helps depends on whether the state directory is there: a path that does not exist has no owner, and the
// directories above it may belong to everybody.
func TestAStateDirectoryThatBelongsToSomebodyElse(t *testing.T) {
	b := newBox(t)
	require.NoError(t, os.Chmod(filepath.Dir(b.home), 0o755))
	require.NoError(t, os.Link(program, b.path("resumed")))
	require.NoError(t, os.Mkdir(b.path("closed"), 0o555))
	state := b.path("closed/resumed")
	b.vars = append(b.vars, "XDG_STATE_HOME="+b.path("closed"))
	const orElse = ", or set XDG_STATE_HOME to a directory that you can write to\n"
	queueAdd := []string{"queue", "add", "--agent", "mybot", "--dir", b.path("bot"), "--", "x"}
	b.write("bot.toml", bot+"start = [\"true\", \"{session}\", \"{prompt}\"]\n[resume]\ntrusted_users = [\"*\"]\n")
	b.vars = append(b.vars, "RESUMED_CONFIG="+b.path("bot.toml"))
	for _, args := range [][]string{{"run"}, queueAdd} {
		require.Contains(t, b.asNobody(args...), "permission denied\nTry: sudo install -d -o $USER "+state+orElse, args)
	}
	require.Regexp(t, `fail +state +.*/closed/resumed cannot be made: .*/closed: permission denied\n +→ sudo install -d -o \S+ `+state+"\n", b.asNobody("doctor"))
	if os.Geteuid() != 0 {
		return // a directory of its own is opened again
	}
	require.NoError(t, os.Chmod(b.path("closed"), 0o755))
	require.NoError(t, os.Mkdir(state, 0o555))
	for _, args := range [][]string{{"run"}, queueAdd} {
		require.Contains(t, b.asNobody(args...), "\nTry: sudo chown -R $USER "+state+orElse, args)
	}
}

// A file that --config names and that is not there is the same error everywhere, and no service is made for it.
func TestAConfigurationThatIsNotThere(t *testing.T) {
	b := newBox(t)
	b.withSystemctl("257")
	for _, args := range [][]string{
		{"run"}, {"config", "check"}, {"exec", "--", "true"}, {"install"}, {"install", "--dry-run"}, {"install", "--system"}, {"fleet", "leave"}, {"backoff"},
	} {
		out, errOut, code := b.run(append([]string{"--config", b.path("nothing.toml")}, args...)...)
		require.Equal(t, exitUsage, code, args)
		require.Contains(t, errOut, "there is no file "+b.path("nothing.toml")+"\nTry: another file, or resumed config init\n", args)
		require.Empty(t, out, args)
	}
	require.NoFileExists(t, b.path(".config/systemd/user/resumed.service"))
	out, _, code := b.run("--config", b.path("nothing.toml"), "doctor")
	require.Equal(t, exitFailed, code)
	require.Regexp(t, `fail +config +.*nothing.toml\n +→ another file, or resumed config init\n`, out)
}

// A port that another program has is named with what to do, at once and wherever it is shown.
func TestAPortThatIsTaken(t *testing.T) {
	b := newBox(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	at := taken.Addr().String()
	b.write(configFile, "[http]\nlisten = \""+at+"\"\n")
	b.start()
	b.until("the problem is known", func() bool { return len(b.status().Daemon.Problems) > 0 })
	const remedy = " is in use by another program: set another address or port there"
	for _, args := range [][]string{{"status"}, {"doctor"}, {"open", "--print"}} {
		out, errOut, _ := b.run(args...)
		require.Contains(t, out+errOut, at+remedy, args)
	}
	_, errOut, code := b.run("open")
	require.Equal(t, exitFailed, code)
	require.Contains(t, errOut, "Try: change listen under [http] in "+b.path(configFile)+", then resumed open\n", "and not what is there already")

	_, errOut, code = b.run("hub", "init", "--listen", at)
	require.Zero(t, code, errOut)
	began := time.Now()
	_, errOut, code = b.run("hub")
	require.Equal(t, exitFailed, code)
	require.Contains(t, errOut, at+" is in use by another program: stop the other program, which may be a hub, or make a hub with another --listen\n")
	require.Less(t, time.Since(began), patience/2, "nobody waits for that")
}
