package words

import (
	"slices"
	"strings"

	"resumed/internal/limit/token"
)

// feature is what is counted of a line: a word, two words side by side, or how
// the line looks. It is known by the hash of its name.
type feature = token.Hash

// pair is the feature of two words side by side.
func pair(first, second feature) feature { return (first*31 ^ second) * 1099511628211 }

// named returns the feature of that name.
func named(name string) feature {
	first, second, two := strings.Cut(name, " ")
	if !two {
		return token.Hashed(name)
	}
	return pair(token.Hashed(first), token.Hashed(second))
}

// mostTokens is how much of a line is counted: who refuses says so early.
const mostTokens = 96

// stem is how much of a longer word is counted too: expire, expired, expires.
const stem = 5

// begin and end stand for the two ends of a line.
const begin, end = "^", "$"

// eachFeature tells every feature of the tokens; first and second are the words
// that it is made of, for people.
func eachFeature(src string, toks []token.Token, count func(f feature, first, second string)) {
	toks = toks[:min(len(toks), mostTokens)]
	if len(toks) == 0 {
		return
	}
	// What is said twice counts once.
	var seen [512]feature
	tell := func(f feature, first, second string) {
		at := f % feature(len(seen))
		for seen[at] != 0 && seen[at] != f {
			at = (at + 1) % feature(len(seen))
		}
		if seen[at] == 0 {
			seen[at] = f
			count(f, first, second)
		}
	}
	before, last := token.Hashed(begin), begin
	for i := range toks {
		text, f := toks[i].Text, toks[i].Hash
		if k := toks[i].Kind; k == token.Number || k == token.Link {
			text = spelling(toks[i])
			f = token.Hashed(text)
		}
		if k := toks[i].Kind; k != token.Mark && k != token.Sign {
			tell(f, text, "")
			if len(text) > stem && k == token.Word {
				tell(token.Hashed(text[:stem]).With("~"), text[:stem], "~")
			}
		}
		tell(pair(before, f), last, text)
		before, last = f, text
	}
	tell(pair(before, token.Hashed(end)), last, end)
	looks(src, toks, func(name string) { tell(token.Hashed(name), name, "") })
}

// nameOf is the name of a feature that eachFeature told.
func nameOf(first, second string) string {
	switch second {
	case "", "~":
		return first + second
	default:
		return first + " " + second
	}
}

// spelling is how a number or an address is counted: any number is like any
// other, but for those that are statuses.
func spelling(t token.Token) string {
	switch {
	case t.Kind == token.Link:
		return "<url>"
	case len(t.Text) == 3 && (t.Text[0] == '4' || t.Text[0] == '5'):
		return t.Text
	default:
		return "#"
	}
}

var (
	suffixes = token.Set("ts js py go rs java rb tsx jsx php yaml yml json toml conf md txt sh css html c cpp h vue lock log")
	here     = []string{"localhost", "127.0.0.1", "0.0.0.0", "::1"}
	inner    = []string{" 10.", "/10.", "192.168.", ".local", ".internal"}
	lengths  = [...]string{"!words<4", "!words<8", "!words<14", "!words<22", "!words<32", "!long"}
)

// codeIndent is how far in the least of source code stands.
const codeIndent = 4

// looks tells how a line looks: whether as programs, lists, logs and people
// write, or as agents report.
func looks(src string, toks []token.Token, tell func(name string)) {
	first, last := toks[0], toks[len(toks)-1]
	line := src[first.Start:last.End]
	words, code, calls, camel, file := 0, 0, false, false, false
	for i, t := range toks {
		switch {
		case t.Kind == token.Word:
			words++
			camel = camel || t.Upper && t.Glued && i > 0
			file = file || i > 0 && suffixes[t.Text] && t.Start == toks[i-1].End+1 && src[t.Start-1] == '.'
		case t.Kind == token.Mark && strings.Contains("={};<>", t.Text):
			code++
		case t.Is("(") && t.Glued && i > 0 && toks[i-1].Kind == token.Word:
			calls = true
		}
	}
	stamp := 0
	for stamp < len(toks) && (toks[stamp].Kind == token.Number || toks[stamp].Glued && toks[stamp].Kind == token.Mark || toks[stamp].Is("t") || toks[stamp].Is("[")) {
		stamp++
	}
	size := 0
	for size < len(lengths)-1 && words >= [...]int{4, 8, 14, 22, 32}[size] {
		size++
	}
	tell(lengths[size])
	for _, look := range [...]struct {
		is   bool
		name string
	}{
		{first.Spaces >= codeIndent, "!indented"},
		{last.Is("?"), "!asks"},
		{camel, "!camel"},
		{file, "!file"},
		{calls, "!call"},
		{code > 0, "!code"},
		{code > 2, "!codes"},
		{stamp > 4, "!stamp"},
		{first.Kind == token.Word && !first.Upper, "!small"},
		{first.Kind == token.Mark || first.Kind == token.Number && len(toks) > 1 && toks[1].Glued && toks[1].Kind == token.Mark, "!listed"},
	} {
		if look.is {
			tell(look.name)
		}
	}
	for _, hosts := range [...]struct {
		names []string
		name  string
	}{{here, "!here"}, {inner, "!inner"}} {
		if slices.ContainsFunc(hosts.names, func(host string) bool { return strings.Contains(line, host) }) {
			tell(hosts.name)
		}
	}
}
