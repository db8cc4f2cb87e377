// Package commandline gives all commands of a program the same help, completion scripts and argument
// checks.
package commandline

import (
	"fmt"
	"strings"
	"text/template"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpTemplate shows examples before the explanation.
const helpTemplate = `{{.Short}}.
{{if .HasExample}}
Examples:
{{.Example}}
{{end}}{{if .Long}}
{{fill .Long}}
{{end}}
{{.UsageString}}`

const usageTemplate = `Usage:{{if .Runnable}}
  {{.UseLine}}{{end}}{{if .HasAvailableSubCommands}}
  {{.CommandPath}} COMMAND{{end}}
{{- $cmd := .}}{{range .Groups}}

{{.Title}}:{{$group := .ID}}{{range $cmd.Commands}}{{if and (eq .GroupID $group) .IsAvailableCommand}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{end}}
{{- if and .HasAvailableSubCommands (not .AllChildCommandsHaveGroup)}}

Commands:{{range .Commands}}{{if and (eq .GroupID "") .IsAvailableCommand}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{end}}
{{- if .HasAvailableLocalFlags}}

Flags:
{{flags .LocalFlags}}{{end}}
{{- if .HasAvailableInheritedFlags}}

Everywhere:
{{flags .InheritedFlags}}{{end}}
{{- if .HasAvailableSubCommands}}

More: {{.CommandPath}} COMMAND --help{{end}}
`

// Prepare must be called after all commands of a program were added. known is what people try who know
// other programs.
func Prepare(root *cobra.Command, known []Meant) {
	annotate(root, known)
	root.SetFlagErrorFunc(flagError)
	root.SetVersionTemplate("{{.Version}}\n")
	addHelp(root)
	checkArguments(root)
}

// width is how long a line of help is at most: that of the narrowest usual terminal.
const width = 80

// fill breaks paragraphs into lines. One that begins with a space is an example and stays as it is.
func fill(text string) string {
	paragraphs := strings.Split(strings.TrimSpace(text), "\n\n")
	for i, p := range paragraphs {
		if strings.HasPrefix(p, " ") {
			continue
		}
		var lines []string
		for word := range strings.FieldsSeq(p) { // a flag is not broken at its hyphens
			last := len(lines) - 1
			if last < 0 || utf8.RuneCountInString(lines[last]+" "+word) > width {
				lines = append(lines, word)
			} else {
				lines[last] += " " + word
			}
		}
		paragraphs[i] = strings.Join(lines, "\n")
	}
	return strings.Join(paragraphs, "\n\n")
}

// addHelp gives every command the same help, also those that cobra adds.
func addHelp(root *cobra.Command) {
	cobra.EnableCommandSorting = false // the ones that are used most come first
	flags := func(set *pflag.FlagSet) string { return strings.TrimRight(set.FlagUsagesWrapped(width), "\n") }
	cobra.AddTemplateFuncs(template.FuncMap{"fill": fill, "flags": flags})
	root.SetHelpTemplate(helpTemplate)
	root.SetUsageTemplate(usageTemplate)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	explainCommands(root)
	workInPlainBash(root)
	describe(root, "help", "Explain a command", "  "+root.CommandPath()+" help "+root.Commands()[0].Name())
	for shell, example := range map[string]string{
		"bash":       "  source <(NAME completion bash)\n  NAME completion bash > \\\n    ~/.local/share/bash-completion/completions/NAME",
		"zsh":        "  source <(NAME completion zsh)\n  NAME completion zsh > \"${fpath[1]}/_NAME\"",
		"fish":       "  NAME completion fish | source\n  NAME completion fish > ~/.config/fish/completions/NAME.fish",
		"powershell": "  NAME completion powershell | Out-String | Invoke-Expression",
	} {
		describe(root, "completion "+shell, "Print the completion script of "+shell, example)
	}
	describe(root, "completion", "Print the completion script of a shell",
		"  source <(NAME completion bash)\n  NAME completion fish > ~/.config/fish/completions/NAME.fish")
}

// plainBash makes the bash script work without the package bash-completion, which many machines lack.
// %s is the name of the program in cobra's functions.
const plainBash = `
if ! declare -F _get_comp_words_by_ref >/dev/null; then
    __%s_init_completion()
    {
        COMPREPLY=()
        words=("${COMP_WORDS[@]}") cword=$COMP_CWORD
        cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
    }
fi
`

// workInPlainBash adds plainBash to cobra's script.
func workInPlainBash(root *cobra.Command) {
	bash, _, err := root.Find([]string{"completion", "bash"})
	if err != nil || bash.RunE == nil {
		return // this version of cobra has none
	}
	script := bash.RunE
	bash.RunE = func(cmd *cobra.Command, args []string) error {
		if err := script(cmd, args); err != nil {
			return err
		}
		_, err := fmt.Fprintf(cmd.OutOrStdout(), plainBash, root.Name())
		return err
	}
}

// OtherProgram marks a command that another program runs and explains.
const OtherProgram = "other program"

// explainCommands makes help refuse an unknown command.
func explainCommands(root *cobra.Command) {
	help, _, err := root.Find([]string{"help"})
	if err != nil {
		return // this version of cobra has none
	}
	help.Use = "help [COMMAND…]"
	help.Run = nil
	help.RunE = func(_ *cobra.Command, args []string) error {
		cmd, rest, err := root.Find(args)
		if err != nil {
			return err
		}
		if cmd.Annotations[OtherProgram] != "" {
			return cmd.RunE(cmd, append(rest, "--help"))
		}
		if err := knowsCommand(cmd, rest); err != nil {
			return err
		}
		return cmd.Help()
	}
}

// describe sets the texts of a command that cobra adds. NAME in the example is the program.
func describe(root *cobra.Command, path, short, example string) {
	cmd, rest, err := root.Find(strings.Fields(path))
	if err != nil || len(rest) > 0 {
		return // this version of cobra has none
	}
	cmd.Short, cmd.Long, cmd.Example, cmd.Args = short, "", strings.ReplaceAll(example, "NAME", root.Name()), nil
}
