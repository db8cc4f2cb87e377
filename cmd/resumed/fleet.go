package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"resumed/internal/agents"
	"resumed/internal/atomicfile"
	"resumed/internal/commandline"
	"resumed/internal/config"
	"resumed/internal/config/edit"
	"resumed/internal/control"
	"resumed/internal/fleet/member"
	"resumed/internal/fleet/natskv"
	"resumed/internal/hint"
	"resumed/internal/plain"
)

func (c *cli) fleetCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "fleet",
		Short:   "Connect machines that share an account",
		Example: "  resumed fleet join -\n  resumed status --fleet\n  resumed fleet forget claude-code:default",
	}
	name := ""
	join := &cobra.Command{
		Use:   "join LINE…",
		Short: "Join a fleet with the line that `hub init` printed",
		Long: "Makes a key for this machine, asks the hub for access and writes [fleet] to the configuration.\n" +
			"A running daemon uses it at once. You can run it again to change something.\n\n" +
			"The line is a secret. If it is -, the line is read from standard input, so that it is neither in the\nhistory of your shell nor in the list of processes.",
		Example: "  resumed fleet join -\n  ssh hub resumed hub init | resumed fleet join --name laptop -",
		RunE: func(cmd *cobra.Command, args []string) error {
			line := strings.Join(args, " ")
			if line == "-" {
				text, err := io.ReadAll(io.LimitReader(os.Stdin, longestLine))
				if err != nil {
					return fmt.Errorf("read the line: %w", err)
				}
				line = string(text)
			}
			return c.joinFleet(cmd, line, name)
		},
	}
	leave := &cobra.Command{
		Use:     "leave",
		Short:   "Leave the fleet",
		Long:    "Removes [fleet] from the configuration, and the keys that `fleet join` wrote. A running daemon goes\non alone at once. On the hub's machine `resumed hub remove NAME` takes this machine's access away.",
		Example: "  resumed fleet leave",
		RunE:    func(*cobra.Command, []string) error { return c.leaveFleet() },
	}
	join.Flags().StringVar(&name, "name", "", "what this machine is `CALLED` in the fleet (default: its own name)")
	cmd.AddCommand(join, leave, &cobra.Command{
		Use:   "forget ACCOUNT",
		Short: "Treat an account as free again on all machines",
		Long: "Use this if the fleet waits for a limit that is not real, because a machine was told something wrong. Each\n" +
			"machine still waits for what its own sessions were told.",
		Example: "  resumed status --fleet\n  resumed fleet forget claude-code:default",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.client().ForgetAccount(cmd.Context(), args[0]); err != nil {
				return err
			}
			return c.say("The fleet forgot the limit of %s.", args[0])
		},
	})
	return cmd
}

func (c *cli) joinFleet(cmd *cobra.Command, line, name string) error {
	invitation, err := natskv.ParseLine(line)
	if err != nil {
		return usageError(err)
	}
	if _, _, err := c.load(); err != nil { // a file that was named must exist
		return err
	}
	path, err := c.ownConfig(cmd)
	if err != nil {
		return err
	}
	dir := filepath.Dir(path)
	wanted := keyFiles(dir)
	wanted.URL, wanted.Name = invitation.URL, name
	wanted.Name = member.HostName(wanted)
	credentials, err := keysFor(wanted.CredentialsFile, invitation)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the configuration directory: %w", err)
	}
	putBack := asNow(wanted.CAFile, wanted.CredentialsFile)
	err = errors.Join(
		atomicfile.Write(wanted.CAFile, invitation.CAText(), 0o600),
		atomicfile.Write(wanted.CredentialsFile, credentials.Text(), 0o600),
	)
	if err != nil {
		return fmt.Errorf("write the credentials of the fleet: %w", err)
	}
	err = natskv.Register(cmd.Context(), natskv.Options{URL: wanted.URL, Credentials: credentials, CAFile: wanted.CAFile, Host: wanted.Name})
	if _, refused := errors.AsType[*natskv.RefusedError](err); refused {
		return errors.Join(err, putBack())
	}
	if err != nil {
		fmt.Fprintf(c.err, "The hub does not answer yet (%s). This machine joins as soon as it does.\n", plain.Text(err))
	}
	if err := edit.SetFleet(path, wanted, agents.Known()); err != nil {
		return err
	}
	return c.say("This machine is %s in the fleet at %s; [fleet] is in %s.", wanted.Name, wanted.URL, path)
}

// longestLine is far more bytes than a join line has.
const longestLine = 64 << 10

// keyFiles returns the paths of the fleet's keys, next to a configuration.
func keyFiles(dir string) config.Fleet {
	return config.Fleet{CredentialsFile: filepath.Join(dir, "fleet.credentials"), CAFile: filepath.Join(dir, "fleet-ca.pem")}
}

func (c *cli) leaveFleet() error {
	now, path, err := c.load()
	if err != nil {
		return err
	}
	if now.Fleet.URL == "" {
		return errors.New("this machine is in no fleet")
	}
	err = edit.RemoveFleet(path, agents.Known())
	if errors.Is(err, edit.ErrUnchanged) {
		return fmt.Errorf("%s does not set the fleet in a table [fleet]: please remove it there yourself", path)
	}
	if err != nil {
		return err
	}
	said := []string{"This machine has left the fleet at " + now.Fleet.URL + "; [fleet] is no longer in " + path}
	for _, file := range []string{keyFiles(filepath.Dir(path)).CredentialsFile, keyFiles(filepath.Dir(path)).CAFile} {
		if file != now.Fleet.CredentialsFile && file != now.Fleet.CAFile {
			continue // not written by `fleet join`
		}
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove a key of the fleet: %w", err)
		}
		said = append(said, file+" is removed")
	}
	return c.say("%s.\nTo take its access away, run `resumed hub remove %s` on the hub's machine.", strings.Join(said, ", "), member.HostName(now.Fleet))
}

// asNow returns a function that restores the files as they are now.
func asNow(files ...string) (putBack func() error) {
	texts := make([][]byte, len(files))
	for i, file := range files {
		texts[i], _ = os.ReadFile(file) // an unreadable file cannot be restored
	}
	return func() (err error) {
		for i, file := range files {
			if texts[i] == nil {
				err = errors.Join(err, os.Remove(file))
			} else {
				err = errors.Join(err, atomicfile.Write(file, texts[i], 0o600))
			}
		}
		return err
	}
}

// keysFor returns the credentials of this machine. It keeps its key when it joins again.
func keysFor(file string, invitation natskv.Invitation) (natskv.Credentials, error) {
	credentials, err := natskv.ReadCredentials(file)
	if errors.Is(err, fs.ErrNotExist) {
		credentials, err = natskv.NewCredentials()
	}
	credentials.Key, credentials.Invitation = invitation.Key, invitation.Seed
	return credentials, err
}

// rowsOfFleet limits the sessions of a fleet that are printed for people.
const rowsOfFleet = 200

func (c *cli) statusOfFleet(cmd *cobra.Command) error {
	if !c.json {
		page, err := c.client().Fleet(cmd.Context(), "", rowsOfFleet)
		if err != nil {
			return err
		}
		return c.show(c.page().Fleet(page))
	}
	all, err := c.client().Fleet(cmd.Context(), "", 0)
	for err == nil && all.Next != "" {
		var more control.Fleet
		if more, err = c.client().Fleet(cmd.Context(), all.Next, 0); err == nil {
			all.Append(more)
		}
	}
	if err != nil {
		return err
	}
	return c.printJSON(all)
}

// hubName is the program of the hub, which is separate because a daemon does not need the server.
const hubName = "resumed-hub"

func (c *cli) hubCommand() *cobra.Command {
	return &cobra.Command{
		Use:                "hub [COMMAND…]",
		Short:              "Run the server that connects the machines of a fleet",
		Long:               "Starts " + hubName + ", which is beside this program or in PATH, with the same arguments.",
		Example:            "  resumed hub init --listen 192.168.1.10:4222\n  resumed hub",
		Annotations:        map[string]string{commandline.OtherProgram: hubName},
		DisableFlagParsing: true,
		Args:               cobra.ArbitraryArgs,
		ValidArgsFunction:  completeHub,
		RunE: func(_ *cobra.Command, args []string) error {
			program, err := findHub()
			if err != nil {
				return err
			}
			err = syscall.Exec(program, append([]string{program}, args...), os.Environ())
			return fmt.Errorf("start %s: %w", program, err)
		},
	}
}

// findHub returns the hub's program: the one next to this program, else the one in PATH.
func findHub() (string, error) {
	own, err := os.Executable()
	if err != nil {
		return exec.LookPath(hubName)
	}
	beside := filepath.Join(filepath.Dir(own), hubName)
	for _, name := range []string{beside, hubName} {
		if program, err := exec.LookPath(name); err == nil {
			return program, nil
		}
	}
	return "", hint.With(
		fmt.Errorf("the hub is a program of its own, %s, which is neither in %s nor in PATH", hubName, filepath.Dir(own)),
		"install it from the package or archive that has this version, or build it: go build -o "+beside+" ./cmd/"+hubName,
	)
}

func completeHub(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	program, err := findHub()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
	defer cancel()
	request := append(append([]string{cobra.ShellCompRequestCmd}, args...), typed)
	out, err := exec.CommandContext(ctx, program, request...).Output()
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	last := len(lines) - 1
	directive, notNumber := strconv.Atoi(strings.TrimPrefix(lines[last], ":"))
	if err != nil || notNumber != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	offers := slices.DeleteFunc(lines[:last], func(line string) bool {
		name, isFlag := strings.CutPrefix(strings.TrimSpace(line), "--")
		name, _, _ = strings.Cut(name, "\t")
		return isFlag && cmd.Flag(name) != nil // cobra offers the flags of this program itself
	})
	return offers, cobra.ShellCompDirective(directive)
}
