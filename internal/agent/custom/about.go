package custom

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// maxFirstLine bounds how much of a session's file is read to learn where it works.
const maxFirstLine = 64 << 10

// told returns the directory that the first line of the session's own file tells, or
// nothing. An id that is none might be a pattern, or lead elsewhere.
func (a *Agent) told(id string) string {
	if a.about == "" || !safeID.MatchString(id) {
		return ""
	}
	files, _ := filepath.Glob(strings.ReplaceAll(a.about, "{session}", id)) // errs on a bad pattern only
	for _, name := range files {
		if dir := a.toldBy(name); dir != "" {
			return dir
		}
	}
	return ""
}

func (a *Agent) toldBy(name string) string {
	if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
		return "" // to open a pipe may take for ever
	}
	file, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer file.Close()
	line, err := bufio.NewReader(io.LimitReader(file, maxFirstLine)).ReadBytes('\n')
	if err != nil {
		return "" // it is being written, or is none of lines
	}
	if dir := find(a.session, line)[groupCwd]; filepath.IsAbs(dir) {
		return dir
	}
	return ""
}
