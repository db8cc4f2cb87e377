package hooks

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
)

// node is a value of a JSON text, with its position.
type node struct {
	kind       byte // '{', '[', '"', or anything else
	start, end int
	keys       []string // of an object
	from       []int    // offsets of the members of an object, or of the elements of a list
	values     []*node
}

// parseText parses JSON with comments. Positions are those in the original text.
func parseText(text []byte) (*node, error) {
	plain := blank(text)
	if !json.Valid(plain) {
		return nil, errors.New("it is not valid JSON")
	}
	p := textParser{plain, 0}
	return p.value(), nil
}

// blank returns the text with its comments replaced by spaces.
func blank(text []byte) []byte {
	plain := bytes.Clone(text)
	for i := 0; i < len(plain); i++ {
		rest := plain[i:]
		end := -1
		switch {
		case rest[0] == '"':
			i += quoted(rest) - 1
			continue
		case bytes.HasPrefix(rest, []byte("//")):
			if end = bytes.IndexByte(rest, '\n'); end < 0 {
				end = len(rest)
			}
		case bytes.HasPrefix(rest, []byte("/*")):
			if end = bytes.Index(rest[2:], []byte("*/")); end >= 0 {
				end += 4
			}
		}
		for j := 0; j < end; j++ {
			if rest[j] != '\n' {
				rest[j] = ' '
			}
		}
	}
	return plain
}

// quoted returns the length of the string at the beginning of a text.
func quoted(text []byte) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

// textParser parses a text that is known to be valid.
type textParser struct {
	text []byte
	at   int
}

func (p *textParser) value() *node {
	p.space()
	n := &node{kind: p.text[p.at], start: p.at}
	switch n.kind {
	case '{', '[':
		p.at++
		for p.more() {
			n.from = append(n.from, p.at)
			if n.kind == '{' {
				n.keys = append(n.keys, p.key())
			}
			n.values = append(n.values, p.value())
		}
	case '"':
		p.at += quoted(p.text[p.at:])
	default:
		for p.at < len(p.text) && !strings.ContainsRune(",]} \t\r\n", rune(p.text[p.at])) {
			p.at++
		}
	}
	n.end = p.at
	return n
}

// more advances to the next member, or past the end of the list or object.
func (p *textParser) more() bool {
	for p.space(); ; p.space() {
		switch p.text[p.at] {
		case ',':
			p.at++
		case '}', ']':
			p.at++
			return false
		default:
			return true
		}
	}
}

func (p *textParser) key() string {
	length := quoted(p.text[p.at:])
	var name string
	_ = json.Unmarshal(p.text[p.at:p.at+length], &name) // it is valid
	p.at += length
	p.space()
	p.at++ // the colon
	return name
}

func (p *textParser) space() {
	for p.at < len(p.text) && isSpace(p.text[p.at]) {
		p.at++
	}
}

func isSpace(b byte) bool { return b == ' ' || b == '\t' || b == '\r' || b == '\n' }

// member returns the value of a key; nil: there is none. The last of duplicate keys counts, as in
// other JSON parsers.
func (n *node) member(key string) *node {
	for i, name := range slices.Backward(n.keys) {
		if name == key {
			return n.values[i]
		}
	}
	return nil
}

// insert appends a member to an object or an element to a list, formatted like the others.
func (n *node) insert(text []byte, what string) []byte {
	if count := len(n.from); count > 0 {
		lead := n.from[0] - len(spaceBefore(text[:n.from[0]]))
		return slices.Insert(text, n.values[count-1].end, []byte(","+string(text[lead:n.from[0]])+what)...)
	}
	line := text[bytes.LastIndexByte(text[:n.start], '\n')+1 : n.start]
	indent := string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
	unit := "  "
	if strings.HasPrefix(indent, "\t") {
		unit = "\t"
	}
	if bytes.ContainsRune(bytes.TrimSpace(text), '\n') || string(bytes.TrimSpace(text)) == "{}" {
		what = "\n" + indent + unit + what + "\n" + indent
	}
	return slices.Insert(text, n.start+1, []byte(what)...)
}

// remove removes a member or element, with its comma.
func (n *node) remove(text []byte, i int) []byte {
	start, end := n.from[i]-len(spaceBefore(text[:n.from[i]])), n.values[i].end
	plain := blank(text)
	switch {
	case len(n.from) == 1:
		if rest := text[end : n.end-1]; len(bytes.TrimSpace(rest)) == 0 {
			end = n.end - 1
		}
		return slices.Delete(text, start, end)
	case i > 0:
		comma := n.values[i-1].end + bytes.IndexByte(plain[n.values[i-1].end:], ',')
		if comma >= start { // only space is between them
			return slices.Delete(text, comma, end)
		}
		return slices.Delete(slices.Delete(text, start, end), comma, comma+1)
	default:
		comma := end + bytes.IndexByte(plain[end:], ',')
		return slices.Delete(slices.Delete(text, comma, comma+1), start, end)
	}
}

// spaceBefore returns the white space at the end of a text.
func spaceBefore(text []byte) []byte { return text[len(bytes.TrimRight(text, " \t\r\n")):] }
