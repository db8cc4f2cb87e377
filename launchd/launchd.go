// Package launchd holds the property list with which `resumed install` runs the daemon on macOS.
package launchd

import (
	_ "embed"
	"encoding/xml"
	"strings"
	"text/template"
)

//go:embed resumed.plist.tmpl
var text string

var plist = template.Must(template.New("plist").Funcs(template.FuncMap{"xml": escaped, "split": split}).Parse(text))

// Agent is a launchd agent.
type Agent struct {
	Label     string
	Argv      []string
	Variables []string // KEY=value
	Log       string   // path of its output
}

// Plist returns the property list.
func (a Agent) Plist() (string, error) {
	var b strings.Builder
	err := plist.Execute(&b, a)
	return b.String(), err
}

func split(pair string) []string { return strings.SplitN(pair, "=", 2) }

func escaped(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a Builder never fails
	return b.String()
}

// Ours reports whether install wrote a property list.
func Ours(text string) bool { return strings.Contains(text, "<!-- Written by `resumed install`") }
