package resume

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/limit"
)

// history is a simulated machine: a disk, a transcript, an agent and a daemon that is killed again and
// again.
type history struct {
	t    *testing.T
	dice *rand.Rand
	now  time.Time

	// What survives a crash.
	disk       []byte // the session as it was last written
	cursor     int    // lines of the transcript that were read, as last written
	transcript []Event
	process    string // the mark of the living command
	began      time.Time
	owned      bool // a person's process holds the session

	crashes bool // the daemon dies now and then

	// What does not.
	session Session
	read    int

	// What is counted.
	sent      int // commands started
	stoppedAt int // line of the interruption that the last command was sent for
	trail     []string
}

var bot = Key{"bot", "s"}

func (h *history) log(format string, args ...any) {
	h.trail = append(h.trail, h.now.Format("15:04:05 ")+fmt.Sprintf(format, args...))
}

func (h *history) fail(what string) {
	h.t.Helper()
	for _, line := range h.trail {
		h.t.Log(line)
	}
	h.t.Fatal(what)
}

func (h *history) write(ev Event) {
	h.transcript = append(h.transcript, ev)
	h.log("transcript: %T", ev)
}

// step applies an event to the daemon's session.
func (h *history) step(ev Event) {
	h.session = h.session.Next(ev, defaultRules(), h.now, h.dice.Float64())
	h.log("%T -> %s", ev, h.session.State)
}

// catchUp reads what is new in the transcript.
func (h *history) catchUp() {
	for h.read < len(h.transcript) {
		h.read++
		pos := Position{"1", int64(h.read)}
		if h.session.Seen.Offset >= pos.Offset {
			continue
		}
		h.session.Seen = pos
		h.step(h.transcript[h.read-1])
	}
}

// sync writes the session, and perhaps the cursor behind it, to disk.
func (h *history) sync() {
	data, err := json.Marshal(h.session)
	require.NoError(h.t, err)
	h.disk = data
	if h.dice.IntN(2) == 0 {
		h.cursor = h.read
	}
}

// crash loses what was not on disk, and starts the daemon again.
func (h *history) crash() {
	h.log("CRASH")
	h.session = Session{Key: bot, Cwd: "/src", State: Watching}
	if h.disk != nil {
		h.session = Session{}
		require.NoError(h.t, json.Unmarshal(h.disk, &h.session))
	}
	h.session = h.session.Restore()
	h.read = h.cursor
	h.now = h.now.Add(time.Duration(h.dice.Int64N(int64(5 * time.Minute))))
	h.agentLives()
	h.recover()
}

// recover does what the daemon does at its start.
func (h *history) recover() {
	run := h.session.Run
	if run == nil {
		h.catchUp()
		return
	}
	if h.process == run.Mark {
		h.step(Started{Mark: run.Mark, Process: Process{PID: 7, Start: 1}})
		h.catchUp()
		return
	}
	h.catchUp()
	h.step(Lost{Mark: run.Mark})
}

// send does what the daemon does when a session enters Resuming. It may die at
// every point of it.
func (h *history) send() {
	mark := h.session.Run.Mark
	if h.dies() {
		return
	}
	h.sync()
	if h.dies() {
		return
	}
	h.catchUp() // read again before acting
	if h.session.Run == nil || h.session.Run.Mark != mark {
		return
	}
	if h.owned {
		h.step(NotSent{Mark: mark, Why: "a person's process holds the session"})
		return
	}
	h.step(Sending{Mark: mark})
	h.start(mark)
	if h.dies() {
		return
	}
	h.step(Started{Mark: mark, Process: Process{PID: 7, Start: 1}})
}

func (h *history) dies() bool {
	if h.crashes && h.dice.IntN(6) == 0 {
		h.crash()
		return true
	}
	return false
}

// start is the critical point: a command acts on the session.
func (h *history) start(mark string) {
	h.log("SENT %s", mark)
	h.sent++
	stop := h.lastStop()
	switch {
	case h.process != "":
		h.fail("a second command while the first one runs")
	case h.owned:
		h.fail("a command while an owner lives")
	case stop < 0:
		h.fail("a command for a session that is not interrupted")
	}
	h.process, h.began, h.stoppedAt = mark, h.now, stop
}

// lastStop returns the line of the refusal that the transcript ends with, or -1.
func (h *history) lastStop() int {
	for i, line := range slices.Backward(h.transcript) {
		switch line.(type) {
		case Limited:
			return i
		case Progressed, Cancelled:
			return -1
		}
	}
	return -1
}

// agentLives lets the running command do something.
func (h *history) agentLives() {
	if h.process == "" || h.dice.IntN(3) == 0 {
		return
	}
	h.write(Prompted{At: h.began})
	switch h.dice.IntN(3) {
	case 0:
		h.write(Progressed{At: h.now})
	case 1:
		h.write(limited(h.now, limit.RateLimit))
		if h.dice.IntN(2) == 0 {
			return // it runs on and does nothing more
		}
	}
	h.log("command %s ends", h.process)
	h.process = ""
}

// turn lets time pass and lets something happen.
func (h *history) turn() {
	h.now = h.now.Add(time.Duration(h.dice.Int64N(int64(2 * time.Minute))))
	switch h.dice.IntN(8) {
	case 0:
		if h.process == "" {
			h.write(limited(h.now, limit.Overloaded))
		}
	case 1:
		if h.process == "" {
			h.write(Prompted{At: h.now})
			h.write(Progressed{At: h.now})
		}
	case 2:
		h.owned = !h.owned && h.process == ""
	case 3:
		h.sync()
	case 4:
		h.crash()
	}
	h.catchUp()
	mark := ""
	if run := h.session.Run; run != nil {
		mark = run.Mark
	}
	h.agentLives()
	if mark != "" && h.process == "" {
		h.step(Ended{Mark: mark, Outcome: Failed, Err: "exit status 1"})
		h.catchUp()
	}
	h.due()
}

// due ends a wait that is over.
func (h *history) due() {
	before := h.session
	h.step(Due{Mark: fmt.Sprintf("m%d", h.dice.Uint32())})
	if (Change{Before: before, After: h.session}).ClaimedRun() != nil {
		h.send()
	}
}

// settle lets the person leave and the agent recover: then every interruption
// must end.
func (h *history) settle() {
	h.owned, h.crashes = false, false
	if h.session.Run != nil && h.process != h.session.Run.Mark {
		h.recover()
	}
	for range 100 {
		h.now = h.now.Add(10 * time.Minute)
		h.due()
		if h.process != "" {
			h.write(Progressed{At: h.now})
			h.catchUp()
			h.step(Ended{Mark: h.process, Outcome: Delivered})
			h.process = ""
		}
		h.catchUp()
	}
	if h.session.State != GaveUp && (h.session.State != Watching || h.lastStop() >= 0) {
		h.fail("an interruption was forgotten in state " + h.session.State.String())
	}
}

// Whenever the daemon is killed, nothing is sent twice, nothing interferes with a person, and no
// interruption is forgotten.
func TestNothingIsSentTwiceWhereverTheDaemonDies(t *testing.T) {
	t.Parallel()
	sent := 0
	for seed := range uint64(1500) {
		h := &history{t: t, dice: rand.New(rand.NewPCG(seed, 2)), now: noon, crashes: true, session: Session{Key: bot, Cwd: "/src", State: Watching}}
		h.log("seed %d", seed)
		for range 80 {
			h.turn()
		}
		sent += h.sent

		h.settle()
	}
	require.Greater(t, sent, 1500, "the histories are worth something")
}
