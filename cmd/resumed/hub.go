//go:build !windows

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"resumed/internal/commandline"
	"resumed/internal/hint"
)

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

// completeHub asks the hub's program for completions.
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
