package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"resumed/internal/logging"
	"resumed/internal/termui"
)

// page returns the layout of the output: the width of the terminal, and colours if it has them.
func (c *cli) page() termui.Renderer {
	p := termui.Renderer{Paint: termui.Paint(logging.Colours(c.out)), Now: time.Now()}
	if logging.IsTerminal(c.out) {
		p.Width = 80
		if width, _, err := term.GetSize(int(c.out.(*os.File).Fd())); err == nil && width > 0 {
			p.Width = width
		}
	}
	return p
}

// print prints a value as JSON with --json, else what forPeople prints.
func (c *cli) print(value any, forPeople func(p *termui.Printer)) error {
	if c.json {
		return c.printJSON(value)
	}
	p := &termui.Printer{Renderer: c.page()}
	forPeople(p)
	return c.show(p.String())
}

func (c *cli) printJSON(value any) error {
	return json.NewEncoder(logging.Escape(c.out)).Encode(value)
}

func (c *cli) say(format string, args ...any) error { return c.show(fmt.Sprintf(format+"\n", args...)) }

func (c *cli) show(text string) error {
	_, err := io.WriteString(c.out, text)
	return err
}

func (c *cli) jsonFlag(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().BoolVar(&c.json, "json", false, "print JSON for programs")
	return cmd
}

func onTerminal() bool { return term.IsTerminal(int(os.Stdin.Fd())) }

// agreed asks the user, and returns false without a terminal.
func (c *cli) agreed(question string) bool {
	if !onTerminal() {
		return false
	}
	fmt.Fprint(c.out, question)
	answer, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if err != nil { // the input ended on the line of the question
		fmt.Fprintln(c.out)
	}
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes"
}
