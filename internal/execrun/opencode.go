package execrun

import (
	"bufio"
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"
)

// opencode is opencode with run.
type opencode struct{}

func (opencode) program() string { return "opencode" }

func (opencode) grammar() grammar {
	return grammar{
		"-c": alone, "--continue": alone, "--fork": alone, "--share": alone, "--thinking": alone, "--auto": alone,
		"--print-logs": alone, "--pure": alone, "--dangerously-skip-permissions": alone,
		"-s": one, "--session": one, "-m": one, "--model": one, "--agent": one, "--format": one, "--title": one, "--attach": one,
		"--dir": one, "--port": one, "--variant": one, "--command": one, "--log-level": one,
		"-p": one, "--password": one, "-u": one, "--username": one,
		"-f": one, "--file": one,
	}
}

func (opencode) prints(l line) bool {
	_, command, _ := l.cut()
	return command == "run"
}

func (opencode) prompted(l line) bool { return len(l.plain()) > 1 || l.has("--command") }

func (opencode) named(l line) string {
	if id := l.value("-s", "--session"); plainID.MatchString(id) && !l.has("--fork") {
		return id
	}
	return ""
}

func (opencode) fix(line, string) []string { return nil }

// heard reads the id from the lines of JSON, or from opencode's log: the other
// format does not print it.
func (opencode) heard(r run) session {
	if id := cmp.Or(r.said.Session, r.id); id != "" {
		return session{id: id}
	}
	path := filepath.Join(home("XDG_DATA_HOME", ".local", "share"), "opencode", "log", "opencode.log")
	return session{id: loggedSession(path, r.began)}
}

var (
	loggedAt  = regexp.MustCompile(`^timestamp=(\S+)`)
	loggedRun = regexp.MustCompile(`\brun=(\S+)`)
	loggedID  = regexp.MustCompile(`\bsession\.id=(ses_[0-9A-Za-z]+)`)
)

// longestLog is how much of the log's end is read.
const longestLog = 4 << 20

// loggedSession returns the session that the log speaks of since that time. All
// processes write one log: where several have, nobody can tell which one is
// meant. Of one process the first session is meant, the others are its agents'.
func loggedSession(path string, began time.Time) string {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.Size() > longestLog {
		_, _ = file.Seek(-longestLog, 2) // else all of it is read
	}
	found, by := "", ""
	lines := bufio.NewReader(file)
	for {
		text, err := lines.ReadString('\n')
		at, id, run := loggedAt.FindStringSubmatch(text), loggedID.FindStringSubmatch(text), loggedRun.FindStringSubmatch(text)
		if at != nil && id != nil && run != nil {
			when, bad := time.Parse(time.RFC3339Nano, at[1])
			switch {
			case bad != nil || when.Before(began.Truncate(time.Millisecond)):
			case by != "" && by != run[1]:
				return ""
			case found == "":
				found, by = id[1], run[1]
			}
		}
		if err != nil {
			return found
		}
	}
}

// resume leaves out what the session was given when it began.
func (opencode) resume(l line, s session, prompt string) []string {
	before, command, after := l.cut()
	args := slices.Concat(before.options(), []string{command},
		after.options("-s", "--session", "-c", "--continue", "--fork", "--share", "--title", "-f", "--file", "--command"))
	return withPrompt(append(args, "--session", s.id), prompt)
}

func (opencode) status(int) int { return 0 }
