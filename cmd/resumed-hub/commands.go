package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"resumed/internal/commandline"
	"resumed/internal/fleet/natskv"
	"resumed/internal/hub"
	"resumed/internal/humanize"
	"resumed/internal/logging"
	"resumed/internal/sanitize"
)

func (c *cli) initCommand() *cobra.Command {
	listen, renew, line := "", false, hub.Line{}
	var cmd *cobra.Command
	cmd = &cobra.Command{
		Use:   "init",
		Short: "Create a hub and print the line that machines join with",
		Long: "Makes a directory with the hub's certificates, keys and settings, and prints a line for machines to\n" +
			"join with. The line lets in as many machines as you say, so keep it secret. If you run it again,\n" +
			"it prints the line that still works. --new-line makes another one, and all lines before stop working.",
		Example: "  resumed hub init --listen 192.168.1.10:4222\n  resumed hub init --names laptop,desk",
		RunE: c.inDir(func(_ context.Context, dir string, _ []string) error {
			if cmd.Flags().Changed("uses") && line.Uses < 1 {
				return wrongUses(line.Uses)
			}
			invitation, err := hub.Init(dir, listen, line)
			if err == nil && renew {
				invitation, err = hub.Renew(dir, line)
			}
			if err != nil {
				return err
			}
			known, err := hub.Known(dir)
			if err != nil {
				return err
			}
			fmt.Fprintf(c.err, "The hub is in %s and listens on %s%s. Start it with `%s`.\n", dir, known.Listen, reached(known.Listen), c.start())
			return c.printLine(dir, invitation)
		}),
	}
	cmd.Flags().StringVar(&listen, "listen", "", "`ADDRESS` to listen on, by which machines reach it (default \""+hub.DefaultListen+"\": this machine alone)")
	cmd.Flags().BoolVar(&renew, "new-line", false, "make a new line, because the old one has leaked")
	cmd.Flags().StringSliceVar(&line.Names, "names", nil, "the `NAMES` of the machines that the line lets in, each once")
	cmd.Flags().IntVar(&line.Uses, "uses", 0, fmt.Sprintf("how many machines of any name the line lets in (default %d)", hub.DefaultUses))
	cmd.MarkFlagsMutuallyExclusive("names", "uses")
	return cmd
}

func (c *cli) inviteCommand() *cobra.Command {
	uses := 0
	var cmd *cobra.Command
	cmd = &cobra.Command{
		Use:     "invite [NAME…]",
		Short:   "Print one more line that machines join with",
		Long:    "Makes a line that lets in each of the named machines once, or as many machines of any name as you say.",
		Example: "  resumed hub invite laptop\n  resumed hub invite --uses 3",
		RunE: c.inDir(func(_ context.Context, dir string, names []string) error {
			if len(names) > 0 && uses != 0 {
				return commandline.UsageError{Err: errors.New("write names or --uses, not both: a line lets in each named machine once")}
			}
			if cmd.Flags().Changed("uses") && uses < 1 {
				return wrongUses(uses)
			}
			invitation, err := hub.Invite(dir, hub.Line{Names: names, Uses: uses})
			if err != nil {
				return err
			}
			return c.printLine(dir, invitation)
		}),
	}
	cmd.Flags().IntVar(&uses, "uses", 0, fmt.Sprintf("how many machines of any name the line lets in (default %d)", hub.DefaultUses))
	return cmd
}

func wrongUses(n int) error {
	return commandline.UsageError{Err: fmt.Errorf("--uses %d: must be at least 1", n)}
}

// printLine prints the newest line, and says which machines can join with it.
func (c *cli) printLine(dir string, invitation natskv.Invitation) error {
	known, err := hub.Known(dir)
	if err != nil {
		return err
	}
	fmt.Fprintf(c.err, "This line lets in %s. Keep it secret, and run it there (`resumed fleet join -` reads it from standard input):\n", letsIn(known.Lines[len(known.Lines)-1]))
	_, err = fmt.Fprintln(c.out, "resumed fleet join", invitation.Line())
	return err
}

// start is the command that starts the hub in the directory that was named.
func (c *cli) start() string {
	if c.dirArg == "" {
		return "resumed hub"
	}
	return "resumed hub --dir " + sanitize.ShellWord(c.dirArg)
}

func reached(listen string) string {
	if strings.HasPrefix(listen, "127.") || strings.HasPrefix(listen, "localhost:") || strings.HasPrefix(listen, "[::1]") {
		return ", which only this machine can reach (--listen sets another address)"
	}
	return ""
}

func letsIn(l hub.Line) string {
	switch len(l.Names) {
	case 0:
		return humanize.Count(l.Uses, "machine")
	case 1:
		return l.Names[0] + ", once"
	default:
		return strings.Join(l.Names, ", ") + ", each once"
	}
}

func (c *cli) listCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the machines that have joined, and whom lines still let in",
		Example: "  resumed hub list\n  resumed hub list --json | jq -r '.machines[].name'",
		RunE: c.inDir(func(_ context.Context, dir string, _ []string) error {
			known, err := hub.Known(dir)
			if err != nil {
				return err
			}
			if c.json {
				return json.NewEncoder(logging.Escape(c.out)).Encode(struct {
					Version int `json:"version"`
					hub.List
				}{1, known})
			}
			if len(known.Machines) == 0 {
				fmt.Fprintln(c.out, "No machine has joined yet.")
			}
			for _, m := range known.Machines {
				fmt.Fprintf(c.out, "%-24s joined %s\n", m.Name, m.Since.Local().Format("2006-01-02 15:04"))
			}
			for _, l := range known.Lines {
				fmt.Fprintf(c.out, "A join line still lets in %s.\n", letsIn(l))
			}
			return nil
		}),
	}
	cmd.Flags().BoolVar(&c.json, "json", false, "print JSON for programs")
	return cmd
}

func (c *cli) removeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "remove NAME",
		Short: "Remove a machine from the fleet",
		Long: "Removes a machine; a running hub disconnects it at once. The line that it joined with stops working,\n" +
			"for others too. The other machines stay.",
		Example: "  resumed hub remove old-laptop",
		RunE: c.inDir(func(_ context.Context, dir string, args []string) error {
			if err := hub.Remove(dir, args[0]); err != nil {
				return err
			}
			_, err := fmt.Fprintf(c.out, "%s is removed, and the line that it joined with no longer works. The other machines stay. `resumed hub invite` makes a line for new ones.\n", args[0])
			return err
		}),
	}
}

func (c *cli) streamsCommand() *cobra.Command {
	guard := false
	cmd := &cobra.Command{
		Use:   "streams",
		Short: "Make the streams of the fleet on a stock nats-server",
		Long: "Use this if nats-server runs with the nats-server.conf of the hub's directory, in place of `resumed hub`:\n" +
			"once after each start of the server. With --guard it stays, and bounds what each machine stores, as the hub does.",
		Example: "  nats-server -c /var/lib/resumed-hub/nats-server.conf\n  resumed hub streams --dir /var/lib/resumed-hub --guard",
		RunE: c.inDir(func(ctx context.Context, dir string, args []string) error {
			if guard {
				return c.serve(hub.Guard)(ctx, dir, args)
			}
			if err := hub.MakeStreams(ctx, dir); err != nil {
				return err
			}
			_, err := fmt.Fprintln(c.out, "The streams are there.")
			return err
		}),
	}
	cmd.Flags().BoolVar(&guard, "guard", false, "stay, and bound what each machine stores")
	return cmd
}
