//go:build !windows

package main

import (
	"io"
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
	helpPlainBash(root)
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

// plainBash lets the script of bash work also without the package
// bash-completion, which many machines do not have.
const plainBash = `
if ! declare -F _get_comp_words_by_ref >/dev/null; then
    __resumed_init_completion()
    {
        COMPREPLY=()
        words=("${COMP_WORDS[@]}") cword=$COMP_CWORD
        cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
    }
fi
`

// helpPlainBash adds it to cobra's script.
func helpPlainBash(root *cobra.Command) {
	bash, _, err := root.Find([]string{"completion", "bash"})
	if err != nil || bash.RunE == nil {
		return // this version of cobra has none
	}
	script := bash.RunE
	bash.RunE = func(cmd *cobra.Command, args []string) error {
		if err := script(cmd, args); err != nil {
			return err
		}
		_, err := io.WriteString(cmd.OutOrStdout(), plainBash)
		return err
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
