package limit

import (
	"strings"

	"resumed/internal/limit/token"
)

// pageAt returns where an HTML page begins in a message, or -1.
func pageAt(s string) int {
	if !strings.Contains(s, "<") {
		return -1
	}
	for _, tag := range [...]string{"<!DOCTYPE", "<!doctype", "<html", "<HTML"} {
		if at := strings.Index(s, tag); at >= 0 {
			return at
		}
	}
	return -1
}

// splitPage removes the error page of a proxy and returns what its title says, and the message with "{}"
// in its place. A page alone counts only if it says that the server failed: tools print pages too.
func splitPage(s string) (f *facts, rest string, ok bool) {
	start := pageAt(s)
	if start < 0 {
		return nil, s, false
	}
	f = &facts{}
	page, after := s[start:], ""
	if end := strings.LastIndex(page, "</html>"); end >= 0 {
		page, after = page[:end], page[end+len("</html>"):]
	}
	if _, title, titled := strings.Cut(page, "<title>"); titled {
		title, _, _ = strings.Cut(title, "</title>")
		title = title[strings.LastIndexByte(title, '|')+1:] // after the name of the host
		toks := token.Cut(title)
		for i := range toks {
			if n := statusAt(toks, i); n >= 500 || n == 429 {
				f.status, f.texts = n, []string{title}
			}
		}
	}
	before := strings.TrimSpace(s[:start])
	return f, before + " {} " + after, f.status != 0 || before != ""
}
