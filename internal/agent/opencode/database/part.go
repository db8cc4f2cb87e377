package database

import (
	"slices"
	"strings"

	"resumed/internal/lines"
)

// part contains the used fields of a part of a message.
type part struct {
	Type      string `json:"type"`
	Auto      bool   `json:"auto"` // of a compaction: not requested by a person
	Text      string `json:"text"`
	Synthetic bool   `json:"synthetic"` // of a text: written by opencode

	Tool  string `json:"tool"` // the called tool, with its result
	State struct {
		Status string         `json:"status"`
		Error  string         `json:"error"`
		Input  map[string]any `json:"input"`
	} `json:"state"`
}

// compacts reports whether the part is an automatic compaction.
func (p part) compacts() bool { return p.Type == "compaction" && p.Auto }

// own reports whether opencode itself created this part of a prompt, to compact the session or to continue
// after that.
func (p part) own() bool { return p.compacts() || p.Type == "text" && p.Synthetic }

// denialWords are how opencode reports that a tool was not allowed: no person answered, or a rule of the
// user forbids it.
var denialWords = []string{"rejected permission to use this specific tool call", "specified a rule which prevents you from using", "The user declined this tool call"}

// denied reports whether the part is a tool that was not allowed.
func (p part) denied() bool {
	return p.Type == "tool" && p.State.Status == "error" && slices.ContainsFunc(denialWords, func(words string) bool {
		return strings.Contains(p.State.Error, words)
	})
}

// Compacts reports whether a part of a message is an automatic compaction.
func Compacts(data []byte) bool { return readPart(data).compacts() }

func readPart(data []byte) part {
	p, ok := lines.Parse[part](data)
	if !ok {
		return part{}
	}
	return p
}
