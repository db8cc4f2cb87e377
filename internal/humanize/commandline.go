package humanize

import "strings"

// CommandLine returns a command as a person would type it into a shell.
func CommandLine(argv ...string) string {
	words := make([]string, len(argv))
	for i, arg := range argv {
		words[i] = arg
		if arg == "" || strings.ContainsAny(arg, " \t\n\r\"'\\$`*?[](){}<>|&;#!~") {
			words[i] = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}
