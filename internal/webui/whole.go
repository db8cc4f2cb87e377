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

// The page is written in many files and sent as one document: a browser that just started
// has six connections and needs longer for a dozen requests than for all that is in them. What
// stands in the document is let run by its hash, and nothing else is.

// whole is the document, and the policy that lets its own parts run.
type whole struct {
	html, policy string
}

// put together once, when the first page is made.
var assembled = sync.OnceValue(func() whole { return assemble(files) })

// How page.html names its parts.
const (
	startTag  = `<script src="/start.js"></script>`
	styleTag  = `<link rel="stylesheet" href="/page.css">`
	moduleTag = `<script type="module" src="/page.js"></script>`
)

// assemble puts the parts into the page.
func assemble(from fs.ReadFileFS) whole {
	html := text(from, "page.html")
	parts := []struct{ tag, open, body, end string }{
		{startTag, "<script>", text(from, "start.js"), "</script>"},
		{styleTag, "<style>", text(from, "page.css"), "</style>"},
		{moduleTag, `<script type="module">`, join(from), "</script>"},
	}
	var hashes []any
	for _, p := range parts {
		if strings.Count(html, p.tag) != 1 || strings.Contains(p.body, "</") || strings.Contains(p.body, "<!--") {
			panic("a part cannot stand in the page: " + p.tag) // all of it is part of the program
		}
		html = strings.Replace(html, p.tag, p.open+p.body+p.end, 1)
		hash := sha256.Sum256([]byte(p.body))
		hashes = append(hashes, "'sha256-"+base64.StdEncoding.EncodeToString(hash[:])+"'")
	}
	return whole{html, fmt.Sprintf(policy, hashes[0], hashes[2], hashes[1])}
}

func text(from fs.ReadFileFS, name string) string {
	data, err := from.ReadFile("files/" + name)
	if err != nil {
		panic(err) // it is part of the program
	}
	return string(data)
}

// What the page's modules say of each other, always on a line of its own.
var (
	imports = regexp.MustCompile(`(?m)^import (\{[^}]*\}) from '\./(\w+)\.js';$`)
	exports = regexp.MustCompile(`(?m)^export ((?:async )?function|class|const) (\w+)`)
	others  = regexp.MustCompile(`(?m)^(import|export)\b.*$`)
)

// join makes one module of page.js and all that it needs. Each is a function that returns
// what it exports, so that names of two modules do not meet, and those that others need come first.
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
			panic(name + ".js: cannot be joined: " + left) // it is part of the program
		}
		fmt.Fprintf(&all, "\n// %s.js\nconst %s_js = (() => {\n%s\nreturn {%s};\n})();\n", name, name, body, strings.Join(names, ", "))
	}
	add("page")
	return all.String()
}
