package buildinfo

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Command is how a person calls the program resumed from where they are: by its name if the shell finds
// it, by go run if that started this process, else by its path.
func Command() string {
	program, err := os.Executable()
	if _, missing := exec.LookPath("resumed"); missing == nil || err != nil {
		return "resumed"
	}
	if strings.Contains(program, "/go-build") || strings.HasSuffix(filepath.Dir(program), "-d") { // where go run puts what it builds
		return "go run ./cmd/resumed"
	}
	if strings.ContainsAny(program, " \t'\"\\$`") {
		return "'" + strings.ReplaceAll(program, "'", `'\''`) + "'"
	}
	return program
}
