package webui

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"sync"
)

// assembledPage is the page as one document, and its content security policy. The page is written
// in many files but sent as one: a browser needs longer for a dozen requests than for
// everything in them.
type assembledPage struct {
	html, policy string
}

// assembled is made once, for the first request.
var assembled = sync.OnceValue(func() assembledPage { return assemble(files) })

// The tags of page.html that are replaced.
const (
	startTag  = `<script src="/start.js"></script>`
	styleTag  = `<link rel="stylesheet" href="/page.css">`
	moduleTag = `<script type="module" src="/page.js"></script>`
)

// assemble puts the parts into the page.
func assemble(from fs.ReadFileFS) assembledPage {
	html := text(from, "page.html")
	parts := []struct{ tag, open, body, end string }{
		{startTag, "<script>", text(from, "start.js"), "</script>"},
		{styleTag, "<style>", text(from, "page.css"), "</style>"},
		{moduleTag, `<script type="module">`, join(from), "</script>"},
	}
	var hashes []any
	for _, p := range parts {
		if strings.Count(html, p.tag) != 1 || strings.Contains(p.body, "</") || strings.Contains(p.body, "<!--") {
			panic("a part cannot stand in the page: " + p.tag) // the files are part of the program
		}
		html = strings.Replace(html, p.tag, p.open+p.body+p.end, 1)
		hash := sha256.Sum256([]byte(p.body))
		hashes = append(hashes, "'sha256-"+base64.StdEncoding.EncodeToString(hash[:])+"'")
	}
	return assembledPage{html, fmt.Sprintf(policy, hashes[0], hashes[2], hashes[1])}
}

func text(from fs.ReadFileFS, name string) string {
	data, err := from.ReadFile("files/" + name)
	if err != nil {
		panic(err) // the file is part of the program
	}
	return string(data)
}

// Import and export lines of the page's modules.
var (
	imports = regexp.MustCompile(`(?m)^import (\{[^}]*\}) from '\./(\w+)\.js';$`)
	exports = regexp.MustCompile(`(?m)^export ((?:async )?function|class|const) (\w+)`)
	others  = regexp.MustCompile(`(?m)^(import|export)\b.*$`)
)

// join makes one module of page.js and the modules that it imports. Each becomes a function that
// returns its exports, so that equal names of two modules do not collide. Imported modules come
// first.
func join(from fs.ReadFileFS) string {
	var all strings.Builder
	begun := map[string]bool{}
	var add func(name string)
	add = func(name string) {
		if begun[name] {
			return
		}
		begun[name] = true
		body := text(from, name+".js")
		for _, needed := range imports.FindAllStringSubmatch(body, -1) {
			add(needed[2])
		}
		var names []string
		for _, export := range exports.FindAllStringSubmatch(body, -1) {
			names = append(names, export[2])
		}
		body = imports.ReplaceAllString(body, "const $1 = ${2}_js;")
		body = exports.ReplaceAllString(body, "$1 $2")
		if left := others.FindString(body); left != "" {
			panic(name + ".js: cannot be joined: " + left) // the file is part of the program
		}
		fmt.Fprintf(&all, "\n// %s.js\nconst %s_js = (() => {\n%s\nreturn {%s};\n})();\n", name, name, body, strings.Join(names, ", "))
	}
	add("page")
	return all.String()
}
