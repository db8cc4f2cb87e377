package agent

import (
	"encoding/json"
	"slices"
	"strings"

	"resumed/internal/lines"
)

// Part is a part of a message, as clients of Google's models write it, or pi.
type Part struct {
	Text     string          `json:"text"`
	Call     json.RawMessage `json:"functionCall"`
	Response json.RawMessage `json:"functionResponse"`
	Inline   json.RawMessage `json:"inlineData"`
	File     json.RawMessage `json:"fileData"`

	// of pi
	Type      string         `json:"type"`
	ID        string         `json:"id"` // of a call
	Name      string         `json:"name"`
	Arguments map[string]any `json:"arguments"`
}

// Parts is the content of a message: a text, a part, or a list of both.
type Parts []Part

// UnmarshalJSON parses a content. What is neither a text nor a part is skipped.
func (parts *Parts) UnmarshalJSON(content []byte) error {
	var list []json.RawMessage
	if json.Unmarshal(content, &list) != nil {
		list = []json.RawMessage{content}
	}
	*parts = nil
	for _, piece := range list {
		var p Part
		if json.Unmarshal(piece, &p.Text) == nil || lines.Decode(piece, &p) {
			*parts = append(*parts, p)
		}
	}
	return nil
}

// Text returns the non-empty texts, one per line.
func (parts Parts) Text() string {
	return JoinedTexts(parts, func(p Part) string { return p.Text })
}

// JoinedTexts returns the non-empty texts of parts, one per line.
func JoinedTexts[P any](parts []P, text func(P) string) string {
	var texts []string
	for _, part := range parts {
		if t := text(part); t != "" {
			texts = append(texts, t)
		}
	}
	return strings.Join(texts, "\n")
}

// Attached reports whether the content has more than texts, such as a picture.
func (parts Parts) Attached() bool {
	return slices.ContainsFunc(parts, func(p Part) bool { return len(p.Inline) > 0 || len(p.File) > 0 })
}

// IsPrompt reports whether the content can be a prompt: it says something, and is no result of a tool.
func (parts Parts) IsPrompt() bool {
	answers := slices.ContainsFunc(parts, func(p Part) bool { return len(p.Response) > 0 })
	return !answers && (strings.TrimSpace(parts.Text()) != "" || parts.Attached())
}
