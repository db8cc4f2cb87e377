package demo

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// ErrLimited ends a run of an agent that hit a limit.
var ErrLimited = errors.New("rate limited")

// steps are the lines that the agents write.
var steps = map[string][]string{
	"painter": {"mixes colours", "paints the walls", "paints the roof", "paints the door", "paints a cat", "signs the picture"},
	"unlucky": {"buys a ticket", "waits for the draw", "", "", "", ""},
}

// Agent runs as a pretend agent. It writes its transcript into its working directory, and continues
// where the transcript ends.
func Agent(name, session string) error {
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
