package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"resumed/internal/agents"
	"resumed/internal/caller"
	"resumed/internal/control"
	"resumed/internal/dirs"
	"resumed/internal/hint"
	"resumed/internal/humanize"
	"resumed/internal/procfs"
	"resumed/internal/queue"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
	"resumed/internal/sanitize"
	"resumed/internal/service"
	"resumed/internal/state"
	"resumed/internal/termui"
)

func (c *cli) queueCommand() *cobra.Command {
	cmd := c.jsonFlag(&cobra.Command{
		Use:   "queue",
		Short: "Show and change the tasks that wait for room",
		Long: "A task is work that has no session yet. It starts when its account has room, and then it is\n" +
			"a session like any other. What holds back a resume holds back a task too: limits, pause,\n" +
			"resume.hours, max_concurrent, stagger, priority and weekly_reserve. A task starts once,\n" +
			"even if the daemon crashes, and you are told if it fails.\n\n" +
			"Without a command, queue lists the tasks. Started ones stay in the list for a day.",
		Example: "  resumed queue\n  resumed queue add --after reset -- \"fix the tests and commit\"\n" +
			"  resumed queue --json | jq '.tasks[] | {n, state, session}'",
		RunE: func(cmd *cobra.Command, _ []string) error { return c.listTasks(cmd.Context()) },
	})
	cmd.AddCommand(c.queueAddCommand(), c.queueEditCommand(), c.queueDropCommand(), c.queueMoveCommand())
	return cmd
}

type taskFlags struct {
	view.TaskOrder
	file string
}

func (c *cli) addTaskFlags(cmd *cobra.Command, w *taskFlags) {
	flags := cmd.Flags()
	flags.StringVar(&w.Dir, "dir", "", "`DIRECTORY` to work in (default: this one)")
	flags.StringVar(&w.Agent, "agent", "", "`NAME` of the agent (default: the first that is installed)")
	flags.StringVar(&w.After, "after", "", "do not start before `WHEN`: reset, a time such as 22:00, 90m, a session or a task")
	flags.StringVar(&w.Model, "model", "", "`NAME` of the model (default: the agent's own choice)")
	flags.StringVar(&w.Mode, "mode", "", "permission `MODE`, in the agent's words (default: the agent's own)")
	complete(cmd, "after", agents.AfterReset)
}

const whenAfter = "--after takes: reset, the account's next window if that is known; a time such as 22:00 or\n" +
	"2026-11-16T08:00:00Z; 90m, from now; or a SESSION or the number of a task, until that has\n" +
	"nothing left to do."

func (c *cli) queueAddCommand() *cobra.Command {
	var w taskFlags
	cmd := c.jsonFlag(&cobra.Command{
		Use:   "add [flags] -- [PROMPT…]",
		Short: "Add a task that starts when there is room",
		Long: "The agent gets the prompt as you write it. It runs without a terminal, with the permissions\n" +
			"that its own settings give such a run, unless --mode says otherwise.\n\n" + whenAfter + "\n\n" +
			"-f reads prompts from a file, or from standard input (-): one per line, or with lines of ---\n" +
			"between prompts of several lines. Without a daemon, the task waits for the next one.",
		Example: "  resumed queue add -- \"fix the flaky test\"\n" +
			"  resumed queue add --dir app --agent codex --after 22:00 -- \"update the tests\"\n" +
			"  resumed queue add -f tonight.txt",
		RunE: func(cmd *cobra.Command, args []string) error { return c.addTasks(cmd, w, args) },
	})
	c.addTaskFlags(cmd, &w)
	cmd.Flags().StringVarP(&w.file, "file", "f", "", "read the prompts from a `FILE`; - is standard input")
	return cmd
}

func (c *cli) queueEditCommand() *cobra.Command {
	var w taskFlags
	cmd := c.jsonFlag(&cobra.Command{
		Use:   "edit [flags] TASK -- [PROMPT…]",
		Short: "Change a task that has not started",
		Long: "TASK is a number that queue shows, or an id. Only what you name is changed. Without flags and\n" +
			"prompt, the prompt opens in $VISUAL or $EDITOR. --after \"\" waits only for room.\n\n" + whenAfter,
		Example: "  resumed queue edit 3\n  resumed queue edit 3 -- \"fix the flaky test in ./watch\"\n  resumed queue edit --after 22:00 3",
		RunE:    func(cmd *cobra.Command, args []string) error { return c.editTask(cmd, w, args[0], args[1:]) },
	})
	c.addTaskFlags(cmd, &w)
	return cmd
}

func (c *cli) queueDropCommand() *cobra.Command {
	return c.jsonFlag(&cobra.Command{
		Use:     "drop TASK",
		Short:   "Remove a task from the queue",
		Long:    "A task that is being started cannot be dropped: resumed cancel --stop ends its session. A\nstarted task only disappears from the list.",
		Example: "  resumed queue drop 3",
		RunE: func(cmd *cobra.Command, args []string) error {
			task, err := queueClient().Drop(cmd.Context(), args[0])
			if err != nil {
				return noTask(err)
			}
			return c.changedTask(task, "dropped")
		},
	})
}

func (c *cli) queueMoveCommand() *cobra.Command {
	return c.jsonFlag(&cobra.Command{
		Use:     "move TASK PLACE",
		Short:   "Move a task to another place in the queue",
		Long:    "PLACE is FIRST, LAST, or the number of the task whose place it takes.",
		Example: "  resumed queue move 3 FIRST\n  resumed queue move 3 1",
		RunE: func(cmd *cobra.Command, args []string) error {
			tasks, err := queueClient().Move(cmd.Context(), args[0], args[1])
			if err != nil {
				return noTask(err)
			}
			return c.showTasks(tasks)
		},
	})
}

// queueClient returns a client of the real daemon: a dry run starts and stores no tasks.
func queueClient() *control.Client {
	return control.NewClient(control.DaemonDir(os.Getenv))
}

// noTask explains why a task was not changed. A daemon that ended before it answered may have done it.
func noTask(err error) error {
	_, answered := errors.AsType[*control.RemoteError](err)
	switch {
	case errors.Is(err, control.ErrNoTask):
		return hint.With(err, "resumed queue")
	case err == nil || answered || errors.Is(err, control.ErrNoDaemon):
		return err
	default:
		return hint.With(fmt.Errorf("it is not known whether the queue was changed: %w", err), "resumed queue")
	}
}

func (c *cli) addTasks(cmd *cobra.Command, w taskFlags, args []string) error {
	var err error
	if w.Dir, err = filepath.Abs(cmp.Or(w.Dir, ".")); err != nil {
		return err
	}
	prompts := []string{strings.Join(args, " ")}
	switch {
	case w.file != "" && len(args) > 0:
		return usageError(errors.New("give either a prompt or a file of prompts, not both"))
	case w.file != "":
		if prompts, err = readPrompts(cmd.InOrStdin(), w.file); err != nil {
			return err
		}
	case len(args) == 0:
		return usageError(errors.New("PROMPT is missing"))
	}
	var orders []view.TaskOrder
	for _, prompt := range prompts {
		if err := resume.CheckPrompt(prompt); err != nil {
			return err // before the first task is added
		}
		order := w.TaskOrder
		order.Prompt = prompt
		orders = append(orders, order)
	}
	added, err := c.enqueue(cmd.Context(), orders)
	if len(added) == 0 {
		return err
	}
	return errors.Join(c.printTasks(added, func(p *termui.Printer) {
		for _, task := range added {
			printTask(p, task, queued(task))
		}
	}), err)
}

// enqueue gives tasks to the daemon, or stores them for the next one. One that is just starting has the state and does
// not answer yet.
func (c *cli) enqueue(ctx context.Context, orders []view.TaskOrder) (added []view.Task, err error) {
	for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		added, err = c.enqueueNow(ctx, orders)
		if _, starts := errors.AsType[*state.HeldError](err); !starts || time.Since(began) > 20*time.Second {
			return added, err
		}
	}
}

func (c *cli) enqueueNow(ctx context.Context, orders []view.TaskOrder) (added []view.Task, err error) {
	for _, order := range orders {
		task, err := queueClient().Enqueue(ctx, order)
		if errors.Is(err, control.ErrNoDaemon) && len(added) == 0 {
			return c.keepTasks(orders)
		}
		if err != nil {
			return added, noTask(err)
		}
		added = append(added, task)
	}
	return added, nil
}

func (c *cli) keepTasks(orders []view.TaskOrder) ([]view.Task, error) {
	cfg, _, err := c.load()
	if err != nil {
		return nil, err
	}
	made, err := agents.Make(cfg)
	if err != nil {
		return nil, err
	}
	judge := caller.Judge{
		Proc: procfs.Proc, Variables: agents.CommandVariables(),
		Agent:         func(pid int) string { return agents.RunBy(made, pid) },
		TrustConfined: func() bool { return cfg.Control.TrustConfined },
	}
	if err := judge.Self().May(caller.Order); err != nil {
		return nil, err
	}
	dir, err := dirs.State(os.Getenv)
	if err != nil {
		return nil, err
	}
	added, err := queue.EnqueueOffline(cfg, dir, orders, slog.New(slog.DiscardHandler))
	if err == nil {
		fmt.Fprintln(c.err, "No daemon is running: the task starts when one does.\nTry: "+service.HowToStart())
	}
	return added, notWritable(err, dir)
}

func readPrompts(stdin io.Reader, name string) (prompts []string, err error) {
	var data []byte
	if name == "-" {
		data, err = io.ReadAll(stdin)
	} else {
		if data, err = os.ReadFile(name); err != nil {
			err = hint.With(usageError(err), "another file, or -f - for standard input")
		}
	}
	if prompts = queue.Prompts(string(data)); err == nil && len(prompts) == 0 {
		err = fmt.Errorf("there is no prompt in %s", name)
	}
	return prompts, err
}

func (c *cli) editTask(cmd *cobra.Command, w taskFlags, name string, prompt []string) error {
	tasks, err := queueClient().Tasks(cmd.Context())
	if err != nil {
		return err
	}
	at := slices.IndexFunc(tasks, func(t view.Task) bool { return fmt.Sprint(t.N) == name || t.ID == name })
	if at < 0 {
		return noTask(fmt.Errorf("%q: %w", name, control.ErrNoTask))
	}
	order, changed := tasks[at].Order(), len(prompt) > 0
	for flag, field := range map[string][2]*string{
		"agent": {&order.Agent, &w.Agent}, "after": {&order.After, &w.After},
		"model": {&order.Model, &w.Model}, "mode": {&order.Mode, &w.Mode}, "dir": {&order.Dir, &w.Dir},
	} {
		if cmd.Flags().Changed(flag) {
			*field[0], changed = *field[1], true
		}
	}
	if order.Dir, err = filepath.Abs(order.Dir); err != nil {
		return err
	}
	switch {
	case len(prompt) > 0:
		order.Prompt = strings.Join(prompt, " ")
	case !changed:
		if order.Prompt, err = edited(cmd.Context(), order.Prompt); err != nil {
			return err
		}
	}
	task, err := queueClient().Edit(cmd.Context(), name, order)
	if err != nil {
		return noTask(err)
	}
	return c.changedTask(task, "changed; "+queued(task))
}

func queued(task view.Task) string {
	return "queued for " + task.Agent + ": " + taskPhrase(task, time.Now())
}

func (c *cli) changedTask(task view.Task, done string) error {
	return c.printTasks([]view.Task{task}, func(p *termui.Printer) { printTask(p, task, done) })
}

func printTask(p *termui.Printer, task view.Task, done string) {
	p.Text(fmt.Sprintf("task %d: %s\n", task.N, sanitize.Line(done)))
}

func (c *cli) listTasks(ctx context.Context) error {
	tasks, err := queueClient().Tasks(ctx)
	if !errors.Is(err, control.ErrNoDaemon) {
		if err != nil {
			return err
		}
		return c.showTasks(tasks)
	}
	left, readErr := tasksLeft()
	return errors.Join(readErr, c.showTasks(left), err)
}

func tasksLeft() (tasks []view.Task, err error) {
	err = withState(func(reader *state.Reader) error {
		sessions, err := reader.Sessions()
		sessions = slices.DeleteFunc(sessions, func(s resume.Session) bool { return s.Task == nil })
		resume.SortTasks(sessions)
		for _, s := range sessions {
			tasks = append(tasks, view.OfTask(s))
		}
		return err
	})
	return tasks, err
}

// printTasks prints tasks as JSON with --json, else what forPeople prints.
func (c *cli) printTasks(tasks []view.Task, forPeople func(*termui.Printer)) error {
	return c.print(map[string]any{"version": 1, "tasks": append([]view.Task{}, tasks...)}, forPeople)
}

func (c *cli) showTasks(tasks []view.Task) error {
	return c.printTasks(tasks, func(p *termui.Printer) { printQueue(p, tasks) })
}

func printQueue(p *termui.Printer, tasks []view.Task) {
	if len(tasks) == 0 {
		p.Text("Nothing is queued.\n")
		return
	}
	dir, prompt := 24, 40
	if p.Width > 0 && p.Width < 120 { // what it waits for needs room too
		dir, prompt = 12, 18
	}
	rows := [][]termui.Cell{termui.Head("TASK", "STATE", "AGENT", "DIRECTORY", "PROMPT", "")}
	colours := map[resume.TaskState]termui.Colour{resume.TaskQueued: termui.Yellow, resume.TaskStarting: termui.Blue, resume.TaskStarted: termui.Green, resume.TaskFailed: termui.Red}
	for _, t := range tasks {
		row := termui.Row(fmt.Sprint(t.N), string(t.State), sanitize.Line(t.Agent), sanitize.Short(filepath.Base(t.Dir), dir), sanitize.Short(t.Prompt, prompt), taskPhrase(t, p.Now))
		row[1].Colour = colours[t.State]
		rows = append(rows, row)
	}
	p.Table(rows)
}

func taskPhrase(t view.Task, now time.Time) string {
	reason := humanize.ReasonAt(t.Reason, now)
	switch {
	case t.Paused:
		return "paused"
	case t.State == resume.TaskStarted && t.Session != nil:
		return "session " + sanitize.Line(*t.Session)
	case t.State == resume.TaskQueued && t.NextAt != nil && t.NextAt.After(now):
		return "not before " + humanize.Clock(*t.NextAt, now) + ": " + reason
	default:
		return reason
	}
}

// edited opens a text in the user's editor, and returns the result.
func edited(ctx context.Context, text string) (string, error) {
	editor := cmp.Or(os.Getenv("VISUAL"), os.Getenv("EDITOR"))
	if editor == "" {
		return "", hint.With(errors.New("neither VISUAL nor EDITOR is set"), "resumed queue edit TASK -- PROMPT")
	}
	dir, err := os.MkdirTemp("", "resumed-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "prompt.md")
	if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
		return "", err
	}
	run := exec.CommandContext(ctx, "sh", "-c", editor+` "$1"`, "sh", path) // the editor may have arguments
	run.Stdin, run.Stdout, run.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := run.Run(); err != nil {
		return "", fmt.Errorf("run the editor %s: %w", editor, err)
	}
	after, err := os.ReadFile(path)
	return strings.TrimRight(string(after), "\n"), err
}
