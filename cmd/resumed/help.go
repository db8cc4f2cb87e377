package main

import (
	"strings"

	"github.com/spf13/cobra"
)

// helpTemplate shows how a command is used before it explains anything.
const helpTemplate = `{{.Short}}.
{{if .HasExample}}
Examples:
{{.Example}}
{{end}}{{if .Long}}
{{trimTrailingWhitespaces .Long}}
{{end}}
{{.UsageString}}`

const usageTemplate = `Usage:{{if .Runnable}}
  {{.UseLine}}{{end}}{{if .HasAvailableSubCommands}}
  {{.CommandPath}} COMMAND{{end}}
{{- if .HasAvailableSubCommands}}

Commands:{{range .Commands}}{{if .IsAvailableCommand}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{end}}
{{- if .HasAvailableLocalFlags}}

Flags:
{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}{{end}}
{{- if .HasAvailableInheritedFlags}}

Everywhere:
{{.InheritedFlags.FlagUsages | trimTrailingWhitespaces}}{{end}}
{{- if .HasAvailableSubCommands}}

More: {{.CommandPath}} COMMAND --help{{end}}
`

// addHelp gives every command the same help, also those that cobra brings.
func addHelp(root *cobra.Command) {
	root.SetHelpTemplate(helpTemplate)
	root.SetUsageTemplate(usageTemplate)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	describe(root, "help", "Explain a command", "  resumed help status")
	explainCommands(root)
	describe(root, "completion", "Print the completion script of a shell",
		"  source <(resumed completion bash)\n  resumed completion fish > ~/.config/fish/completions/resumed.fish")
	for shell, example := range map[string]string{
		"bash":       "  source <(resumed completion bash)\n  resumed completion bash > ~/.local/share/bash-completion/completions/resumed",
		"zsh":        "  source <(resumed completion zsh)\n  resumed completion zsh > \"${fpath[1]}/_resumed\"",
		"fish":       "  resumed completion fish | source\n  resumed completion fish > ~/.config/fish/completions/resumed.fish",
		"powershell": "  resumed completion powershell | Out-String | Invoke-Expression",
	} {
		describe(root, "completion "+shell, "Print the completion script of "+shell, example)
	}
}

// explainCommands has help refuse a command that there is not.
func explainCommands(root *cobra.Command) {
	help, _, err := root.Find([]string{"help"})
	if err != nil {
		return // this version of cobra has none
	}
	help.Use = "help [COMMAND…]"
	help.Run = nil
	help.RunE = func(_ *cobra.Command, args []string) error {
		cmd, rest, err := root.Find(args)
		if err == nil {
			err = knowsCommand(cmd, rest)
		}
		if err != nil {
			return usageError{err}
		}
		return cmd.Help()
	}
}

// describe gives a command that cobra brings words of our own.
func describe(root *cobra.Command, path, short, example string) {
	cmd, rest, err := root.Find(strings.Fields(path))
	if err != nil || len(rest) > 0 {
		return // this version of cobra has none
	}
	cmd.Short, cmd.Long, cmd.Example, cmd.Args = short, "", example, nil
}
