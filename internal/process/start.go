package process

import (
	"errors"
	"io/fs"
	"strings"

	"resumed/internal/resume"
	"resumed/internal/sanitize"
	"resumed/internal/usermanager"
)

// Arguments returns those of the agent's program, or false if they are not known: a process that
// set a title has overwritten them.
func (t Table) Arguments(pid int, is func(string) bool) ([]string, bool) {
	raw := t.Argv(pid)
	if len(raw) == 0 || is == nil {
		return nil, false
	}
	argv := withoutInterpreter(raw)
	if len(argv) == 0 || !is(argv[0]) {
		return nil, false
	}
	titled := len(argv) == len(raw) && runsOthers(t.Executable(pid))
	return argv[1:], !titled
}

// Sandbox describes the namespaces that a process does not share with us, and how else it is more
// restricted than we are; empty: neither. Namespaces that it hides count as not shared.
func (t Table) Sandbox(pid int) (string, error) {
	apart, err := t.Apart(pid)
	if errors.Is(err, fs.ErrPermission) {
		return "it hides its namespaces, or runs as another user", nil
	}
	if err != nil {
		return "", err
	}
	var all []string
	if len(apart) > 0 {
		all = append(all, strings.Join(apart, ", ")+" of its own")
	}
	words := strings.Join(append(all, t.Tighter(pid, usermanager.Starter())...), ", ")
	if words == "" {
		return "", nil
	}
	if kind := t.Container(pid); kind != "" {
		words = "a container (" + sanitize.Short(kind, 40) + "), " + words
	}
	return words, nil
}

// Lives reports whether the process of that pid and start time still lives.
func (t Table) Lives(process resume.Process) bool {
	if !t.Tells() {
		return process.PID > 0 && Answers(process.PID)
	}
	stat, err := t.Stat(process.PID)
	return err == nil && stat.Living() && stat.Start == process.Start
}
