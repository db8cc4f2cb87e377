package main

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"resumed/internal/control"
	"resumed/internal/hint"
)

// openLimit is how long a desktop without a browser may take to fail.
const openLimit = 3 * time.Second

func (c *cli) openCommand() *cobra.Command {
	onlyPrint, newKey := false, false
	cmd := &cobra.Command{
		Use:   "open",
		Short: "Open the web page of the daemon",
		Long: "Opens the web page in your browser, or prints its link if there is no desktop. Anybody who\n" +
			"has the printed link can use it for 15 minutes. The browser is remembered for 30 days after its\n" +
			"last visit: bookmark the page. http.listen sets the address of the page.",
		Example: "  resumed open\n  resumed open --print\n  resumed open --new-key",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if newKey {
				if err := c.client().NewPageKey(cmd.Context()); err != nil {
					return err
				}
			}
			url, err := c.client().PageURL(cmd.Context(), false)
			if _, remote := errors.AsType[*control.RemoteError](err); remote && !errors.Is(err, control.ErrRefused) {
				return hint.With(err, c.pageHint(cmd.Context(), err))
			}
			if err != nil {
				return err
			}
			if !onlyPrint && c.browse(cmd.Context()) == nil {
				return c.say("opened in your browser")
			}
			return c.show(url + "\n")
		},
	}
	cmd.Flags().BoolVar(&newKey, "new-key", false, "first lock out every browser and every link")
	cmd.Flags().BoolVar(&onlyPrint, "print", false, "only print the link")
	return cmd
}

// browse opens the page in a browser. Other users can see the arguments of a process, so the link works
// only once. Some desktops return only when the browser ends: if one has not failed in time, it works.
func (c *cli) browse(ctx context.Context) error {
	opener := "xdg-open"
	if runtime.GOOS == "darwin" {
		opener = "open"
	} else if os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
		return errors.New("there is no desktop")
	}
	url, err := c.client().PageURL(ctx, true)
	if err != nil {
		return err
	}
	cmd := exec.Command(opener, url)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // it outlives this terminal
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		return err
	case <-time.After(openLimit):
		return nil
	}
}

func (c *cli) pageHint(ctx context.Context, why error) string {
	change := "change listen"
	if strings.Contains(why.Error(), "is empty") {
		change = `set listen = "127.0.0.1:7733"`
	}
	status, _ := c.client().Status(ctx, false)
	return change + " under [http] in " + cmp.Or(status.Daemon.Config.Path, "the file that resumed config init writes") + ", then resumed open"
}
