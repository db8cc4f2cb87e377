package runner

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"resumed/internal/resume"
)

// Under a service manager a command is a unit of its own. It does not live in
// the daemon's sandbox, nor does its memory count as the daemon's; and nothing
// that it starts can leave its control group, so that it ends as a whole.

const (
	// beginPatience is how long the manager may take to begin a unit.
	beginPatience = 10 * time.Second

	// beginLook lies between two looks for it. A command may be over soon.
	beginLook = 5 * time.Millisecond
)

// unitName returns the name of a command's unit. The mark is one that no other
// command has.
func unitName(mark string) string {
	return "resumed-" + notInNames.ReplaceAllString(mark, "_") + ".service"
}

var notInNames = regexp.MustCompile(`[^A-Za-z0-9:_.-]`)

// manager is how a user's service manager is spoken to.
type manager struct{ run, control string } // systemd-run and systemctl

// ownManager returns the service manager that started this daemon, or false
// where none did or it cannot be reached. A shell that a manager's unit opened
// passes its variables on, so they must name this very process.
func ownManager() (manager, bool) {
	if os.Getenv("INVOCATION_ID") == "" {
		return manager{}, false
	}
	self, told := os.LookupEnv("SYSTEMD_EXEC_PID") // since 248
	if told && self != strconv.Itoa(os.Getpid()) || !told && os.Getenv("NOTIFY_SOCKET") == "" {
		return manager{}, false
	}
	runtime := os.Getenv("XDG_RUNTIME_DIR")
	if runtime == "" {
		return manager{}, false
	}
	if _, err := os.Stat(filepath.Join(runtime, "systemd", "private")); err != nil {
		return manager{}, false
	}
	return findManager()
}

func findManager() (manager, bool) {
	run, err := exec.LookPath("systemd-run")
	if err != nil {
		return manager{}, false
	}
	control, err := exec.LookPath("systemctl")
	return manager{run, control}, err == nil
}

// start has the manager start the command, and waits until it runs. It returns
// false where the manager refused and nothing was started.
func (m manager) start(program string, cmd Command, env []string) (*Process, bool, error) {
	if err := checkInterpreter(program); err != nil {
		return nil, false, err
	}
	client := m.client(program, cmd, env)
	var words bytes.Buffer
	client.Stderr = &words
	if err := client.Start(); err != nil {
		return nil, false, fmt.Errorf("start %s: %w", filepath.Base(m.run), err)
	}
	exited := make(chan error, 1)
	go func() { exited <- client.Wait() }()
	// Until its main process is known, the unit is known by its client.
	p := &Process{
		Process: resume.Process{PID: client.Process.Pid},
		cmd:     cmd,
		started: time.Now(),
		ended:   make(chan struct{}),
	}
	over, err := p.begin(exited)
	if over && strings.HasPrefix(words.String(), "Failed to ") { // the client's own words: there is no unit
		return nil, false, nil
	}
	go func() {
		if !over {
			err = <-exited
		}
		p.exitErr, p.exitCode = err, client.ProcessState.ExitCode()
		if p.exitCode < 0 || alive(p.Process) { // it died before its time: that says nothing of the command
			p.exitErr, p.exitCode, p.unknown = nil, -1, true
		}
		for alive(p.Process) {
			time.Sleep(lookEvery)
		}
		close(p.ended)
	}()
	return p, true, nil
}

// begin waits until the unit's main process is there. It returns true, and how
// the client ended, where all is over before.
func (p *Process) begin(exited <-chan error) (over bool, err error) {
	for deadline := time.Now().Add(beginPatience); time.Now().Before(deadline); {
		if found, ok := Find(p.cmd.Mark); ok {
			p.Process = found.Process
			return false, nil
		}
		select {
		case err := <-exited:
			return true, err
		case <-time.After(beginLook):
		}
	}
	return false, nil
}

// checkInterpreter returns an error for a script whose interpreter is not
// there. A manager would only say that the unit failed.
func checkInterpreter(program string) error {
	f, err := os.Open(program)
	if err != nil {
		return nil // what cannot be read can still be run
	}
	defer f.Close()
	head := make([]byte, 256)
	n, _ := io.ReadFull(f, head) // most programs are longer; what is there counts
	line, _, _ := strings.Cut(string(head[:n]), "\n")
	script, ok := strings.CutPrefix(line, "#!")
	if !ok {
		return nil
	}
	fields := strings.Fields(script)
	if len(fields) == 0 {
		return nil
	}
	if err := executable(fields[0]); err != nil {
		return missingInterpreter(program, err)
	}
	return nil
}

// client returns the program that orders the unit and lives as long as it does.
// Values of variables may be secret, so they are not among its arguments.
func (m manager) client(program string, cmd Command, env []string) *exec.Cmd {
	grace := cmd.Grace
	if grace == 0 {
		grace = DefaultGrace
	}
	args := []string{
		"--user", "--quiet", "--wait", "--collect", "--service-type=exec",
		"--unit=" + unitName(cmd.Mark),
		"--description=A session that resumed continues",
		"--working-directory=" + cmd.Dir,
		fmt.Sprintf("--property=TimeoutStopSec=%dms", max(1, grace.Milliseconds())),
		"--property=KillMode=control-group",
		"--setenv=" + resume.MarkVariable + "=" + cmd.Mark,
	}
	if cmd.Output != "" {
		args = append(args, "--property=StandardOutput=append:"+cmd.Output, "--property=StandardError=append:"+cmd.Output)
	}
	own := make([]string, 0, len(env))
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		if name == resume.MarkVariable {
			continue // the client is not the command
		}
		own = append(own, entry)
		if passes(name, value) {
			args = append(args, "--setenv="+name)
		}
	}
	args = append(args, "--", program)
	for _, arg := range cmd.Argv[1:] {
		args = append(args, strings.ReplaceAll(arg, "$", "$$")) // the manager would put variables in
	}
	return &exec.Cmd{Path: m.run, Args: append([]string{m.run}, args...), Dir: cmd.Dir, Env: own}
}

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// passes reports whether a manager takes the variable. It refuses a unit with
// one that it does not, such as an exported function of a shell.
func passes(name, value string) bool {
	return variableName.MatchString(name) && utf8.ValidString(value) &&
		!strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' && r != '\n' || r == 0x7f })
}

// endUnit ends the command's unit, where it has one, with all that is in it.
// What it leaves is found by the sweep.
func (p *Process) endUnit(ctx context.Context, grace time.Duration) {
	if p.cmd.Mark == "" || !inUnit(p.PID, unitName(p.cmd.Mark)) {
		return
	}
	m, ok := findManager()
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, grace+killPatience)
	defer cancel()
	stop := exec.CommandContext(ctx, m.control, "--user", "--quiet", "stop", unitName(p.cmd.Mark))
	stop.WaitDelay = time.Second
	_ = stop.Run() // a manager that is gone leaves it to the sweep
}

// inUnit reports whether the process lives in the unit's control group.
func inUnit(pid int, unit string) bool {
	groups, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	return err == nil && (bytes.Contains(groups, []byte("/"+unit+"\n")) || bytes.Contains(groups, []byte("/"+unit+"/")))
}
