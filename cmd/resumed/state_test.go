package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

// A damaged database is no worse than a deleted one.
func TestADamagedDatabaseStopsNobody(t *testing.T) {
	b := newBox(t)
	b.write(configFile, bot+b.toldTo())
	b.start()
	b.write("bot/logs/s-1.log", "rate limited, retry in 3h\n")
	before := b.untilState("s-1", resume.Waiting)
	require.Zero(t, b.kill(syscall.SIGTERM))
	b.write(".local/state/resumed/resumed.db", strings.Repeat("this is no database\n", 1000))
	b.start()
	require.Equal(t, before.ResetAt, b.untilState("s-1", resume.Waiting).ResetAt, "it was found again in its transcript")
	problems := strings.Join(b.status().Daemon.Problems, "\n")
	require.Contains(t, problems, "damaged")
	require.Contains(t, problems, b.path(".local/state/resumed/resumed.db.damaged-"))
	require.Contains(t, b.logged(), "level=ERROR")
	require.Zero(t, b.kill(syscall.SIGTERM))
	b.start()
	b.untilState("s-1", resume.Waiting)
	require.Empty(t, b.status().Daemon.Problems)
	b.until("people are told", func() bool { return len(b.told()) > 0 })
	require.Len(t, b.told(), 1)
	require.Contains(t, b.told()[0], "damaged")
}

// Which notices were sent is part of the state: garbage in it stops nothing.
func TestWhatWasToldMayBeDamaged(t *testing.T) {
	b := newBox(t)
	b.write(configFile, bot+"[backoff]\nbase_delay = \"50ms\"\nmax_retries = 1\n[notify]\ngroup_wait = \"0s\"\n"+b.toldTo())
	b.write("bot/resume.sh", "exit 3\n")
	b.start()
	b.write("bot/logs/s-1.log", "rate limited, retry in 0s\n")
	b.untilState("s-1", resume.GaveUp)
	b.until("it is told", func() bool { return b.status().Daemon.Notices.Channels[0].Delivered == 1 })
	require.Zero(t, b.kill(syscall.SIGTERM))
	database := ".local/state/resumed/resumed.db"
	whole := b.read(database)
	broken := strings.Replace(whole, `"marks":{`, `"marks":`+"\x01", 1)
	require.NotEqual(t, whole, broken)
	b.write(database, broken)
	b.start()
	b.untilState("s-1", resume.GaveUp)
	b.until("people are told", func() bool { return len(b.told()) == 1 })
	require.Contains(t, b.told()[0], "read what was told")
}

// Without its state a daemon cannot work safely. It ends, even if it has nothing to write, and works
// again after a restart.
func TestAStateDirectoryThatIsRemovedEndsTheDaemon(t *testing.T) {
	t.Parallel()
	for how, remove := range map[string]func(state string) error{
		"removed": os.RemoveAll,
		"moved":   func(state string) error { return os.Rename(state, state+"-away") },
	} {
		t.Run(how, func(t *testing.T) {
			b := newBox(t)
			b.write(configFile, b.toldTo())
			b.start()
			require.NoError(t, remove(b.path(".local/state/resumed")))
			require.Equal(t, 1, b.ended(), "a service manager starts it again")
			require.Contains(t, b.logged(), ".local/state/resumed/resumed.db was removed or replaced while the daemon ran: it ends")
			require.Len(t, b.told(), 1)
			require.Contains(t, b.told()[0], "was removed or replaced")
			b.start()
			require.Empty(t, b.status().Daemon.Problems)
		})
	}
}

// Writes to a deleted database are lost with the daemon: a claim must not be stored there, as the next
// daemon would not know what was started.
func TestNothingIsResumedTwiceWhenTheStateWasRemoved(t *testing.T) {
	t.Parallel()
	for when, running := range map[string]bool{"while a session waits": false, "while it is resumed": true} {
		t.Run(when, func(t *testing.T) {
			b := newBox(t)
			b.write(configFile, bot+b.toldTo())
			b.write("bot/resume.sh", recordCall+`while [ ! -e "go-$1" ]; do sleep 0.05; done; echo "step 2" >> logs/$1.log`)
			b.start()
			if running {
				b.write("bot/logs/s-1.log", "rate limited, retry in 0s\n")
				b.until("it runs", func() bool { return len(b.calls()) == 1 })
			} else {
				b.write("bot/logs/s-1.log", "rate limited, retry in 2s\n")
				b.untilState("s-1", resume.Waiting)
			}
			require.NoError(t, os.RemoveAll(b.path(".local/state/resumed")))
			b.until("people are told", func() bool { return len(b.told()) == 1 })
			if running {
				b.write("bot/go-s-1", "")
			}
			require.Equal(t, 1, b.ended())
			require.Len(t, b.calls(), map[bool]int{true: 1}[running])
			b.start()
			b.write("bot/go-s-1", "")
			b.untilState("s-1", resume.Watching)
			require.Len(t, b.calls(), 1)
		})
	}
}

// toldTo is a channel for the notices that told returns. It has no events of its own.
func (b *box) toldTo() string {
	return "[[notify.command]]\nname = \"script\"\nrun = [\"sh\", \"-c\", \"cat > " + b.path("told-") + "$(date +%s%N)\"]\n"
}

// told returns the notices about damaged or removed state.
func (b *box) told() (all []string) {
	files, err := filepath.Glob(b.path("told-*"))
	require.NoError(b.t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(b.t, err)
		if strings.Contains(string(text), `"event":"state_error"`) {
			all = append(all, string(text))
		}
	}
	return all
}

// Moving the directories of an agent does not delete its sessions.
func TestATranscriptThatIsRenamedIsFollowed(t *testing.T) {
	t.Parallel()
	for name, down := range map[string]bool{"while the daemon runs": false, "while none runs": true} {
		t.Run(name, func(t *testing.T) {
			b := newBox(t)
			b.write(configFile, strings.Replace(bot, "~/bot/logs/*.log", "~/bot/*/*.log", 1))
			b.write("bot/resume.sh", recordCall+`echo "step 2" >> "old/$1.log"`+"\n")
			b.start()
			b.write("bot/logs/s-1.log", "rate limited, retry in 3h\n")
			b.untilState("s-1", resume.Waiting)
			if down {
				require.Zero(t, b.kill(syscall.SIGTERM))
			}
			require.NoError(t, os.Mkdir(b.path("bot/old"), 0o755))
			require.NoError(t, os.Rename(b.path("bot/logs/s-1.log"), b.path("bot/old/s-1.log")))
			if down {
				b.start()
			}
			b.until("it is known where it lies", func() bool { return b.session("s-1").Transcript == b.path("bot/old/s-1.log") })
			_, errOut, code := b.run("retry", "--now", "s-1")
			require.Zero(t, code, errOut)
			b.untilState("s-1", resume.Watching)
			require.Len(t, b.calls(), 1)
		})
	}
}
