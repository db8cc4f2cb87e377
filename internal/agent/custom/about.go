package custom

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// maxFirstLine bounds how much of a session's file is read to find its directory.
const maxFirstLine = 64 << 10

// told returns the directory in the first line of the session's own file, or "". An unsafe id is
// rejected: it might be a pattern, or another path.
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
		return "" // opening a pipe may block forever
	}
	file, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer file.Close()
	line, err := bufio.NewReader(io.LimitReader(file, maxFirstLine)).ReadBytes('\n')
	if err != nil {
		return "" // it is half written, or has no lines
	}
	if dir := find(a.session, line)[groupCwd]; filepath.IsAbs(dir) {
		return dir
	}
	return ""
}
