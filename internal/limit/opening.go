package limit

import (
	"strings"
	"unicode/utf8"
)

// opening is how a message shows that it is the agent's report of a refusal.
type opening struct {
	at     int    // the token it begins with
	status int    // an HTTP status named on the way
	framed bool   // it says itself that it reports an error
	byMenu bool   // it is a choice that agents offer at a limit
	timed  bool   // it counts only together with a time
	told   bool   // it may be the end of a sentence about it: a time, or that the agent goes on, tells
	sure   bool   // no program but an agent prints it
	plain  Class  // what it says in words that only providers have
	named  ruling // what the name of an exception means that it begins with
}

// longestFrame is how many tokens may stand before the refusal itself.
const longestFrame = 48

// open reports whether a refusal begins with the line that begins at toks[i].
func (m *message) open(i int) (opening, bool) {
	if m.choice(i) {
		return opening{at: i, byMenu: true}, true
	}
	if m.beginsAsCode(i) {
		return opening{}, false
	}
	o, said := m.report(i)
	switch {
	case m.toks[i].spaces >= tabWidth:
		// So far in stand source code and what tools print. An agent sets
		// nothing but a banner there, at the edge of its screen.
		return o, said == refused && o.plain == UsageLimit
	case said == unsaid:
		return m.behind(i)
	case m.isNumbered(i):
		return o, said == refused && o.plain != None
	default:
		return o, said == refused
	}
}

// isNumbered reports a number that a search puts before the lines it found;
// that it looks like a status says nothing.
func (m *message) isNumbered(i int) bool {
	return i+1 < len(m.toks) && statusAt(m.toks, i) != 0 && m.toks[i+1].is(":")
}

// report reads the frame of a refusal from toks[i] on, and what it frames.
func (m *message) report(i int) (opening, said) {
	o := opening{at: i}
	var seen frames
	told := false // by its status alone
	for p, steps := m.skipSigns(i), 0; steps < longestFrame; steps++ {
		theirs := !seen.anyones() || o.status != 0
		o.framed = seen.has(errorFrame) && theirs
		o.sure = seen.has(nameFrame)
		if p >= len(m.toks) {
			return o, refusedIf(told && seen.has(providerFrame))
		}
		t := m.toks[p]
		if p > i && t.spaces >= columnGap && m.toks[p-1].kind != sign {
			return o, talked
		}
		if m.record != nil && m.opensRecord(p) {
			o.sure = o.sure || m.record.shows()
			return o, refused
		}
		if o, ok := m.thrown(o, p); ok {
			return o, refused
		}
		if o, said := m.statement(o, m.quoted(p)); said != unsaid {
			return o, refusedIf(said == refused && (theirs || o.plain != None && seen.has(providerFrame)))
		}
		if n := statusAt(m.toks, p); n != 0 {
			if o.status == 0 {
				o.status = n
			}
			p++
			told = !seen.anyones() && (o.framed || p == len(m.toks) || m.toks[p].kind != word)
			continue
		}
		if steps == 0 && joiners[t.text] {
			return o, talked
		}
		next := m.frame(p, &seen)
		switch {
		case next >= 0:
			p = next
		case told && seen.has(providerFrame) || m.retries(i):
			return o, refused
		default:
			return o, unsaid
		}
	}
	return o, talked
}

func refusedIf(ok bool) said {
	if ok {
		return refused
	}
	return talked
}

// opensRecord reports whether the structured part begins at toks[p].
func (m *message) opensRecord(p int) bool {
	return m.toks[p].is("{") || m.toks[p].is("[") && p+1 < len(m.toks) && m.toks[p+1].is("{")
}

// quoted passes over a quotation mark that opens what an answer's status stands
// before, 429 "Your team has …", or all that an error says: Error: "Overloaded".
func (m *message) quoted(p int) int {
	if p == 0 || p+1 >= len(m.toks) || !m.toks[p].is(`"`) {
		return p
	}
	end := m.closing(p, `"`)
	all := m.toks[p-1].is(":") && end > 0 && (end == len(m.toks) || m.toks[end].first)
	if all || statusAt(m.toks, p-1) != 0 {
		return p + 1
	}
	return p
}

// skipSigns passes over what agents draw before a message: bullets, emoji,
// frames. A mark that people write with is no such thing.
func (m *message) skipSigns(i int) int {
	for i < len(m.toks) {
		t := m.toks[i]
		drawn := t.kind == sign && utf8.RuneLen(firstRune(t.text)) > 1 && !prompts[t.text]
		if !drawn && !t.is("[") && !t.is("·") && !m.emphasis(i) {
			break
		}
		i++
	}
	return i
}

// emphasis reports one of the two asterisks before the label of an error:
// **ERROR**. What else is bold in Markdown is a heading of someone's text.
func (m *message) emphasis(i int) bool {
	word := i
	for word < len(m.toks) && m.toks[word].is("*") {
		word++
	}
	return word > i && word < len(m.toks) && frameWords[m.toks[word].text].has(errorFrame)
}

func firstRune(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}

// prompts stand before what a person typed.
var prompts = map[string]bool{"❯": true, "›": true, ">": true, "➜": true, "λ": true}

// choice reports whether the line offers what agents offer at a limit.
func (m *message) choice(i int) bool {
	cursor := prompts[m.toks[i].text]
	if cursor {
		i++
	}
	switch {
	case i+2 < len(m.toks) && m.toks[i].kind == number && m.toks[i+1].is("."):
		i += 2
	case cursor && i+1 < len(m.toks) && m.toks[i].is("/"):
		i++
	default:
		return false
	}
	h, ok := menu.at(m.toks, i)
	return ok && (h.end == len(m.toks) || h.open || m.toks[h.end].first || m.toks[h.end].kind != word)
}

// said is what a place in a message says.
type said uint8

const (
	unsaid  said = iota // nothing about a refusal
	refused             // the agent's own report of one
	talked              // someone's words about one
)

// statement judges whether a refusal that is named at toks[p] is made by the
// agent or talked about.
func (m *message) statement(o opening, p int) (opening, said) {
	if h, ok := m.reason(o, p); ok && (o.framed || m.stands(o, p, h)) {
		return o, refused
	}
	verdict := unsaid
	for h := range statements.hits(m.toks, p) {
		if h.means.class == None {
			return o, talked
		}
		o.plain, o.sure = h.means.providers(), o.sure || h.means.models
		if o.framed {
			return o, refused
		}
		verdict = talked
		if !m.stands(o, p, h) || h.means.remote && m.namesThisMachine(o.at) {
			continue
		}
		if h.means.weak && h.means.banner && !m.toks[p].upper {
			continue // a gauge: "resets on 08/01"
		}
		fragment := h.end == len(m.toks) && !m.toks[p].upper
		o.told = p == o.at && !m.toks[p].upper && !h.open && m.goesOn(h.end)
		o.timed = h.means.weak && (h.means.banner || h.means.byWait) ||
			h.means.banner && (fragment || m.bare(p, h.end))
		return o, refused
	}
	return o, verdict
}

// stands reports whether the phrase is a statement of its own, not part of
// what a person says about it.
func (m *message) stands(o opening, p int, h hit[ruling]) bool {
	line := m.line(o.at)
	return !m.isCode(p, h.end) && (h.open || m.tailFits(h.end)) && !isTableRow(line) && !m.asks(line, h.end)
}

// goesOn reports a comma at toks[i] and more than a request to wait behind it.
func (m *message) goesOn(i int) bool {
	return i < len(m.toks) && m.toks[i].is(",") && (i+1 == len(m.toks) || !m.toks[i+1].is("please"))
}

// bare reports a headline of two words: "Limit reached" says nothing without a time.
func (m *message) bare(p, end int) bool { return end-p < 3 }

// line returns the tokens of the line that begins at toks[i].
func (m *message) line(i int) []token {
	end := i + 1
	for end < len(m.toks) && !m.toks[end].first {
		end++
	}
	return m.toks[i:min(end, len(m.toks))]
}

// tails are words that agents go on with after the refusal itself; other words
// make it the subject of someone's sentence.
var tails = wordSet(`for on in at or and to of please try resets reset retrying retry error exception you your
		this it we until after from with because due as unexpectedly maximum max right now
		von für bitte sie kurz pour depuis veuillez sur dans de du por desde para en tu su intenta vuelve aguarde tente к ко для на от
		了 啦 限制 超限`)

func (m *message) tailFits(end int) bool {
	if end >= len(m.toks) || m.toks[end].first {
		return true
	}
	t := m.toks[end]
	switch t.kind {
	case word:
		return tails[t.text] || t.upper && frameWords[t.text].has(nameFrame) || t.is("by") && m.namesWho(end+1)
	case mark:
		return !strings.Contains(`"=+/*<>#$@&%?`, t.text)
	default:
		return true
	}
}

// namesWho reports that toks[i] names who limits: a name, or what a provider is called.
func (m *message) namesWho(i int) bool {
	return i < len(m.toks) && (m.toks[i].upper || m.toks[i].is("the") || m.toks[i].is("your") || frameWords[m.toks[i].text].has(providerFrame|nameFrame))
}

// columnGap is how many blanks part the columns of a table.
const columnGap = 3

// isTableRow reports cells between spaced bars or tabs.
func isTableRow(line []token) bool {
	for i, t := range line {
		if t.is("|") && (t.spaces > 0 || i == 0) || i > 0 && t.spaces >= tabWidth {
			return true
		}
	}
	return false
}

// asks reports a line that asks for something: a person's. end is where the
// refusal in it ends.
func (m *message) asks(line []token, end int) bool {
	for _, t := range m.toks[min(end, len(m.toks)):] {
		if t.first || t.is(".") || t.is("!") || t.is("·") {
			break
		}
		if t.is("?") {
			return true
		}
	}
	return requests.within(line)
}

// retries reports a line that ends in an agent's own bracketed note that it
// retries, whatever the provider's words before it are.
func (m *message) retries(i int) bool {
	line := m.line(i)
	for k, t := range line {
		if t.is("[") && k+1 < len(line) && line[k+1].is("retrying") {
			return line[len(line)-1].is("]")
		}
	}
	return false
}
