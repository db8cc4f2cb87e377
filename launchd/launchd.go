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

var plist = template.Must(template.New("plist").Parse(text))

// Agent is a launchd agent.
type Agent struct {
	Label     string
	Argv      []string
	Variables []string // KEY=value
	Log       string   // path of its output
}

// Plist returns the property list.
func (a Agent) Plist() (string, error) {
	type variable struct{ Name, Value string }
	data := struct {
		Label, Log string
		Argv       []string
		Variables  []variable
	}{Label: escaped(a.Label), Log: escaped(a.Log)}
	for _, arg := range a.Argv {
		data.Argv = append(data.Argv, escaped(arg))
	}
	for _, pair := range a.Variables {
		name, value, _ := strings.Cut(pair, "=")
		data.Variables = append(data.Variables, variable{escaped(name), escaped(value)})
	}
	var b strings.Builder
	err := plist.Execute(&b, data)
	return b.String(), err
}

func escaped(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a Builder never fails
	return b.String()
}

// Ours reports whether install wrote a property list.
func Ours(text string) bool { return strings.Contains(text, "<!-- Written by `resumed install`") }
