package limit

import (
	_ "embed"
	"math"
	"strings"
	"sync"

	"resumed/internal/limit/token"
)

// feature is the hash of a word, two adjacent words, a concept, or the look of a line: it has a weight.
type feature = token.Hash

func pair(first, second feature) feature { return (first*31 ^ second) * 1099511628211 }

func named(name string) feature {
	first, second, two := strings.Cut(name, " ")
	if !two {
		return token.Hashed(name)
	}
	return pair(token.Hashed(first), token.Hashed(second))
}

func nameOf(first, second string) string {
	if second != "" && second != "~" {
		second = " " + second
	}
	return first + second
}

// mostTokens is how much of a line is used: a refusal says early what it is.
const mostTokens = 96

// stem is the length of the prefix of a longer word that is a feature too: expire, expired, expires.
const stem = 5

// begin and end stand for the two ends of a line.
const begin, end = "^", "$"

var beginning, ending = token.Hashed(begin), token.Hashed(end)

type gathered struct {
	features []feature
	names    []string
	named    bool
}

func (g *gathered) tell(f feature, first, second string) {
	g.features = append(g.features, f)
	if g.named {
		g.names = append(g.names, nameOf(first, second))
	}
}

func (g *gathered) gather(src string, toks []token.Token) {
	toks = toks[:min(len(toks), mostTokens)]
	if len(toks) == 0 {
		return
	}
	before, last := beginning, begin
	var meant *concept // the last one
	for i := range toks {
		t := &toks[i]
		text, f := t.Text, t.Hash
		if t.Kind == token.Number || t.Kind == token.Link {
			text = spelling(toks[i:])
			f = token.Hashed(text)
		}
		if t.Kind != token.Mark && t.Kind != token.Sign {
			g.tell(f, text, "")
			means := concepts()[f]
			if len(text) > stem && t.Kind == token.Word {
				root := token.Hashed(text[:stem]).With("~")
				g.tell(root, text[:stem], "~")
				if means == nil {
					means = concepts()[root]
				}
			}
			for _, c := range means {
				if c == meant {
					continue
				}
				g.tell(c.feature, c.name, "")
				if meant != nil {
					g.tell(pair(meant.feature, c.feature), meant.name, c.name)
				}
				meant = c
			}
		}
		g.tell(pair(before, f), last, text)
		before, last = f, text
	}
	g.tell(pair(before, ending), last, end)
	g.looks(src, toks)
}

var lengthWords = token.Set("s sec secs second seconds ms milliseconds m min minutes h hours days")

// spelling returns the word for a number or an address: all numbers are alike, except statuses.
func spelling(toks []token.Token) string {
	t := &toks[0]
	switch {
	case t.Kind == token.Link:
		return "<url>"
	case len(t.Text) == 3 && (t.Text[0] == '4' || t.Text[0] == '5') && (len(toks) == 1 || !lengthWords[toks[1].Text]):
		return t.Text
	default:
		return "#"
	}
}

var (
	sizes = [...]struct {
		below int
		name  string
	}{{4, "!words<4"}, {8, "!words<8"}, {14, "!words<14"}, {22, "!words<22"}, {32, "!words<32"}, {math.MaxInt, "!long"}}

	commits  = token.Set("fix feat docs chore refactor test tests build ci perf style revert")
	suffixes = token.Set("ts js py go rs java rb tsx jsx php yaml yml json toml conf md txt sh css html c cpp h vue lock log")
)

// codeIndent is the indentation from which on a line looks like source code.
const codeIndent = 4

func (g *gathered) tellIf(is bool, name string) {
	if is {
		g.tell(token.Hashed(name), name, "")
	}
}

// looks adds whether a line looks like code, a list, a log, a person's text, or an agent's report.
func (g *gathered) looks(src string, toks []token.Token) {
	words, marks := 0, 0
	var isCamel, isFile, isCall, isHere, isInner, isGauge bool
	for i := range toks {
		t := &toks[i]
		switch t.Kind {
		case token.Word:
			words++
			isCamel = isCamel || t.Upper && t.Glued && i > 0
			joined := i > 0 && t.Start == toks[i-1].End+1 && src[t.Start-1] == '.'
			isFile = isFile || joined && suffixes[t.Text]
			isInner = isInner || joined && (t.Is("local") || t.Is("internal"))
			isHere = isHere || t.Is("localhost")
		case token.Number:
			rest := src[t.Start:]
			isGauge = isGauge || gauges(toks[i:])
			isHere = isHere || strings.HasPrefix(rest, "127.0.0.1") || strings.HasPrefix(rest, "0.0.0.0")
			isInner = isInner || strings.HasPrefix(rest, "10.") && !t.Glued || strings.HasPrefix(rest, "192.168.")
		case token.Mark:
			if strings.Contains("={};<>", t.Text) {
				marks++
			}
			isCall = isCall || t.Is("(") && t.Glued && i > 0 && toks[i-1].Kind == token.Word
			isHere = isHere || t.Is(":") && strings.HasPrefix(src[t.Start:], "::1")
		case token.Link:
			address := src[t.Start:t.End]
			isHere = isHere || strings.Contains(address, "//localhost") || strings.Contains(address, "//127.0.0.1")
		case token.Sign:
		}
	}
	size := 0
	for words >= sizes[size].below {
		size++
	}
	g.tellIf(true, sizes[size].name)
	first, last := &toks[0], &toks[len(toks)-1]
	g.tellIf(first.Spaces >= codeIndent, "!indented")
	g.tellIf(last.Is("?"), "!asks")
	g.tellIf(isCamel, "!camel")
	g.tellIf(isFile, "!file")
	g.tellIf(isCall, "!call")
	g.tellIf(marks > 0, "!code")
	g.tellIf(marks > 2, "!codes")
	g.tellIf(stamped(toks) > 4, "!stamp")
	g.tellIf(first.Kind == token.Word && !first.Upper, "!small")
	g.tellIf(first.Kind == token.Mark || first.Kind == token.Number && len(toks) > 1 && toks[1].Glued && toks[1].Kind == token.Mark, "!listed")
	g.tellIf(isHere, "!here")
	g.tellIf(isInner, "!inner")
	g.tellIf(isGauge, "!gauge")
	g.tellIf(first.Is("#"), "!heading")
	g.tellIf(last.Is(";"), "!statement")
	g.tellIf(len(toks) > 2 && commits[first.Text] && (toks[1].Is(":") || toks[1].Is("(") && toks[1].Glued), "!commit")
}

// gauges reports whether the tokens are a share of less than all: 74 %, or 912 of 1,000.
func gauges(toks []token.Token) bool {
	switch {
	case len(toks) > 1 && (toks[1].Is("%") || toks[1].Is("percent")):
		return !strings.HasPrefix(toks[0].Text, "100")
	case len(toks) > 2 && (toks[1].Is("of") || toks[1].Is("/")) && toks[2].Kind == token.Number:
		some, all := toks[0].Text, toks[2].Text
		return len(some) < len(all) || len(some) == len(all) && some < all
	default:
		return false
	}
}

func stamped(toks []token.Token) int {
	for i := range toks {
		t := &toks[i]
		if t.Kind != token.Number && !(t.Glued && t.Kind == token.Mark) && !t.Is("t") && !t.Is("[") {
			return i
		}
	}
	return len(toks)
}

// concept is the common meaning of several words: exhausted, depleted, spent and gone all mean that an
// allowance is used up. A weight that is learned for a concept also applies to words that no example
// contains.
type concept struct {
	feature
	name string
}

//go:embed concepts.tsv
var conceptsFile string

var concepts = sync.OnceValue(func() map[feature][]*concept {
	byWord := map[feature][]*concept{}
	for columns := range token.Rows(conceptsFile) {
		c := &concept{token.Hashed("@" + columns[0]), "@" + columns[0]}
		for w := range strings.FieldsSeq(columns[1]) {
			byWord[token.Hashed(w)] = append(byWord[token.Hashed(w)], c)
		}
	}
	return byWord
})
