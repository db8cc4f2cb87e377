//go:build !windows

package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"resumed/internal/config"
	"resumed/internal/dirs"
	"resumed/internal/hub"
)

func (c *cli) hubCommand() *cobra.Command {
	dir := ""
	cmd := &cobra.Command{
		Use:   "hub",
		Short: "Run the server that connects the machines of a fleet",
		Long: "Serves what `hub init` made, until SIGTERM or Ctrl-C. It knows the state of the accounts, the\n" +
			"machines and the waiting sessions. It starts nothing, and machines work alone while it is down.",
		Example: "  resumed hub init\n  resumed hub",
		RunE: func(cmd *cobra.Command, _ []string) error {
			place, err := hubDir(dir)
			if err != nil {
				return err
			}
			_, log := c.logger(config.Default())
			return hub.Serve(cmd.Context(), hub.Options{
				Dir: place, Log: log,
				Ready: func(address string) { log.Info("ready", "listen", address, "dir", place) },
			})
		},
	}
	cmd.PersistentFlags().StringVar(&dir, "dir", "", "the hub's `DIRECTORY`")
	listen, renew := "", false
	first := &cobra.Command{
		Use:   "init",
		Short: "Create a hub and print the line that machines join with",
		Long: "Makes a directory with the hub's certificates, keys and settings, and prints one line for all\n" +
			"machines to join with. Anyone who has the line can join, so keep it secret. If you run it again,\n" +
			"it prints the same line. --new-line makes another one, and the old line stops working.",
		Example: "  resumed hub init\n  resumed hub init --listen 192.168.1.10:4222",
		RunE: func(*cobra.Command, []string) error {
			place, err := hubDir(dir)
			if err != nil {
				return err
			}
			invitation, err := hub.Init(place, listen)
			if err == nil && renew {
				invitation, err = hub.Renew(place)
			}
			if err != nil {
				return err
			}
			fmt.Fprintf(c.err, "The hub is in %s. Start it with `resumed hub`, then run this line on each of your machines, including this one:\n", place)
			_, err = fmt.Fprintln(c.out, "resumed fleet join", invitation.Line())
			return err
		},
	}
	first.Flags().StringVar(&listen, "listen", "", "`ADDRESS` to listen on, by which machines reach it (default \""+hub.DefaultListen+"\")")
	first.Flags().BoolVar(&renew, "new-line", false, "make a new line, because the old one has leaked")
	remove := &cobra.Command{
		Use:   "remove NAME",
		Short: "Remove a machine from the fleet",
		Long: "Removes a machine; a running hub disconnects it at once. It could join again with the line that it\n" +
			"has, so a new line is made and printed. The other machines stay.",
		Example: "  resumed hub remove old-laptop",
		RunE: func(_ *cobra.Command, args []string) error {
			place, err := hubDir(dir)
			if err != nil {
				return err
			}
			invitation, err := hub.Remove(place, args[0])
			if err != nil {
				return err
			}
			fmt.Fprintf(c.err, "%s is removed, and the line that it joined with no longer works. The other machines stay. New machines join with this line:\n", args[0])
			_, err = fmt.Fprintln(c.out, "resumed fleet join", invitation.Line())
			return err
		},
	}
	cmd.AddCommand(first, remove)
	return cmd
}

// hubDir returns where a hub is: as said, where systemd made a place for the service, else
// beside the state of the user's daemon.
func hubDir(said string) (string, error) {
	if said != "" {
		return filepath.Abs(said)
	}
	dir, err := dirs.State(os.Getenv)
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "hub"), nil
}
