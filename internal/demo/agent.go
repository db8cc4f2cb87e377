package demo

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"resumed/internal/resume"
)

// ErrLimited ends a run of an agent that hit a limit.
var ErrLimited = errors.New("rate limited")

// steps are the lines that the agents write.
var steps = map[string][]string{
	"painter": {"mixes colours", "paints the walls", "paints the roof", "paints the door", "paints a cat", "signs the picture"},
	"unlucky": {"buys a ticket", "waits for the draw", "", "", "", ""},
}

// early is the session that was stopped before the daemon ran.
var early = resume.Key{Agent: "claude-code", ID: "5eed0000-0000-4000-8000-000000000001"}

// writeEarly writes the transcript of the session that was stopped before, in its home.
func writeEarly(home string) error {
	if err := os.MkdirAll(filepath.Join(home, filepath.Dir(earlyTranscript)), 0o700); err != nil {
		return err
	}
	return errors.Join(
		addEarly(home, `"type":"user","message":{"role":"user","content":"plant a tree"}`),
		addEarly(home, `"type":"assistant","isApiErrorMessage":true,"error":"rate_limit","apiErrorStatus":429,`+
			`"message":{"role":"assistant","model":"<synthetic>","content":[{"type":"text","text":"API Error: Request rejected (429)"}]}`))
}

var earlyTranscript = filepath.Join("projects", "-garden", early.ID+".jsonl")

// addEarly adds a record to the transcript of the session that was stopped before.
func addEarly(home, fields string) error {
	log, err := os.OpenFile(filepath.Join(home, earlyTranscript), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(log, `{"sessionId":%q,"cwd":%q,"timestamp":%q,%s}`+"\n", early.ID, home, time.Now().UTC().Format(time.RFC3339Nano), fields)
	return errors.Join(err, log.Close())
}

// Agent runs as a pretend agent. It writes its transcript into its working directory, and continues
// where the transcript ends.
func Agent(name, session string) error {
	if strings.HasPrefix(name, "-") { // the flags of Claude Code
		return addEarly(".", `"type":"assistant","message":{"role":"assistant","model":"m","content":[{"type":"text","text":"The tree is planted."}]}`)
	}
	log, err := os.OpenFile(session+".log", os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	past, err := io.ReadAll(log)
	if err != nil {
		return err
	}
	done := strings.Count(string(past), "step ")
	limits := strings.Count(string(past), "rate limited")
	write := func(format string, args ...any) { fmt.Fprintf(log, format+"\n", args...) }
	for step := done + 1; step <= 6; step++ {
		time.Sleep(400 * time.Millisecond)
		switch {
		case name == "unlucky" && step == 3:
			write("error 429: rate limited")
			return ErrLimited
		case name == "painter" && step == 4 && limits == 0:
			write("error 429: rate limited, retry in 3s")
			return ErrLimited
		}
		write("step %d: %s", step, steps[name][step-1])
	}
	return nil
}
