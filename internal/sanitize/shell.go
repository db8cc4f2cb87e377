package sanitize

import (
	"regexp"
	"strings"
)

// plainWord matches a word without special characters. Some shells replace a = at its beginning.
var plainWord = regexp.MustCompile(`^[\pL\pN/._+,:@%-][\pL\pN/._+,:@%=-]*$`)

// ShellWord returns text as one word for a shell: unchanged if no character is special to any shell,
// otherwise quoted.
func ShellWord(s string) string {
	if plainWord.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
