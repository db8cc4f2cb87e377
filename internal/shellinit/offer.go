package shellinit

import (
	"fmt"
	"io"
	"os"
)

// Offer shows the line for the user's shell, and adds it if the user agrees. There is nothing to offer
// if it is there, if none of the agents' programs is, or if the shell is none of these.
func Offer(out io.Writer, programs []string, agree func(question string) bool) error {
	shell, ok := Find(os.Getenv("SHELL"))
	if !ok || len(programs) == 0 {
		return nil
	}
	file, err := shell.File()
	if err != nil {
		return err
	}
	if has, err := shell.Has(); err != nil || has {
		return err
	}
	fmt.Fprintf(out, "\nWith this line in %s, resumed can type into your agents in every terminal:\n  %s\n", file, shell.Line)
	if !agree("Add it? [y/N] ") {
		return nil
	}
	if err := shell.Add(); err != nil {
		return fmt.Errorf("add it: %w", err)
	}
	_, err = fmt.Fprintln(out, "Added. It counts in shells that you open from now on.")
	return err
}

// Forget takes the line out of every shell's file that has it.
func Forget(out io.Writer, dryRun bool) error {
	changed, err := Remove(dryRun)
	does := "took"
	if dryRun {
		does = "# take"
	}
	for _, file := range changed {
		fmt.Fprintf(out, "%s the line of resumed shell out of %s\n", does, file)
	}
	return err
}
