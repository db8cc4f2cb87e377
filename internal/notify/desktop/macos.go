package desktop

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"resumed/internal/childenv"
	"resumed/internal/notify"
	"resumed/internal/sanitize"
)

// osascript is the program that shows notices on macOS, which has no D-Bus.
const osascript = "osascript"

// script shows its second argument under the title of its first. The text of a notice is never part of
// the script: it is an argument, and is not executed.
var script = []string{
	"-e", "on run argv",
	"-e", "display notification (item 2 of argv) with title (item 1 of argv)",
	"-e", "end run",
}

// macOS returns the program that shows notices on macOS, or why there is none.
func macOS() (string, error) {
	path, err := exec.LookPath(osascript)
	if err != nil {
		err = &notify.SendError{Missing: true, Err: fmt.Errorf("find the program that shows notices: %w", err)}
	}
	return path, err
}

// sendByScript shows the notice on macOS. There are no buttons, and older notices are not replaced.
func sendByScript(ctx context.Context, n notify.Notice) (string, error) {
	program, err := macOS()
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, program, slices.Concat(script, []string{plain(n.Title), n.Text})...)
	cmd.Env = childenv.Helper(os.Environ())
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	_, ran := errors.AsType[*exec.ExitError](err)
	switch {
	case err == nil:
		return "shown", nil
	case ctx.Err() != nil:
		return "", fmt.Errorf("show notice: %w", context.Cause(ctx))
	case ran: // nobody is logged in, or it is not permitted
		return "", &notify.SendError{Missing: true, Err: fmt.Errorf("%s: %w: %s", osascript, err, sanitize.Short(string(out), 200))}
	default:
		return "", fmt.Errorf("show notice: %w", err)
	}
}

// plain returns a title that is not parsed as an option: arguments after it are not parsed either.
func plain(title string) string {
	if title == "" || strings.HasPrefix(title, "-") {
		return "resumed: " + title
	}
	return title
}
