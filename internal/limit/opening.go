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
	named  ruling // what the name of an exception means that it begins with
}

// How words before the refusal itself frame it.
const (
	plainFrame    = 1 << iota // may stand in a frame
	errorFrame                // makes it a report
	providerFrame             // makes it a report of a provider's answer
)

// frameWords may stand between the beginning of a line and the refusal: names
// of agents and of what can fail. One word that is not here makes it prose.
var frameWords = map[string]uint8{}

func init() {
	for kind, words := range map[uint8]string{
		plainFrame: `claude ai codex gemini qwen kimi opencode copilot cursor grok pi aider goose amp kiro amazon q antigravity
			anthropic openai openrouter google azure bedrock vertex litellm github xai deepseek mistral groq moonshot
			agent subagent call execution completion turn goal needs from with due to an early during
			compaction repeated last attempt non retryable retriable transient fatal final caused by
			message received got upstream inference ai s sdk after retries attempts cli code exit type retry limit in occurred while`,
		errorFrame:    `error errors failed failure exception terminated paused warning attention disconnected rejected exceeded unexpected sorry oops`,
		providerFrame: `api provider http status llm model request response stream server code endpoint reconnecting`,
	} {
		for w := range strings.FieldsSeq(words) {
			frameWords[w] |= kind
		}
	}
}

// longestFrame is how many tokens may stand before the refusal itself.
const longestFrame = 48

// open reports whether a refusal begins with the line that begins at toks[i].
func (m *message) open(i int) (opening, bool) {
	o := opening{at: i}
	if m.choice(i) {
		o.byMenu = true
		return o, true
	}
	var seen uint8
	told := false // by its status alone
	for p, steps := m.skipSigns(i), 0; steps < longestFrame; steps++ {
		o.framed = seen&errorFrame != 0
		if p >= len(m.toks) {
			return o, seen&providerFrame != 0 && told
		}
		t := m.toks[p]
		if p > i && t.spaces >= 3 && m.toks[p-1].kind != sign {
			return o, false // a column of a table
		}
		if t.is("{") && m.record != nil {
			return o, true
		}
		if o, ok := m.thrown(o, p); ok {
			return o, true
		}
		if o, said := m.statement(o, p); said != unsaid {
			return o, said == refused
		}
		if n := statusAt(m.toks, p); n != 0 {
			if o.status == 0 {
				o.status = n
			}
			p++
			told = o.framed || p == len(m.toks) || m.toks[p].kind != word
			continue
		}
		next := m.frame(p, &seen)
		if next < 0 {
			return o, seen&providerFrame != 0 && told || m.retries(i)
		}
		p = next
	}
	return o, false
}

// skipSigns passes over what agents draw before a message: bullets, emoji,
// frames. A mark that people write with is no such thing.
func (m *message) skipSigns(i int) int {
	for i < len(m.toks) {
		t := m.toks[i]
		drawn := t.kind == sign && utf8.RuneLen(firstRune(t.text)) > 1 && !prompts[t.text]
		if !drawn && !t.is("[") && !t.is("·") {
			break
		}
		i++
	}
	return i
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

// frame passes over one part of a frame at toks[p], or returns -1.
func (m *message) frame(p int, seen *uint8) int {
	t := m.toks[p]
	switch t.kind {
	case word:
		kind := frameWords[t.text]
		if kind == 0 {
			return m.exception(p, seen)
		}
		*seen |= kind
		return p + 1
	case number:
		if p > 0 && m.toks[p-1].kind == word && frameWords[m.toks[p-1].text] != 0 {
			return p + 1
		}
		return -1
	case mark:
		return m.frameMark(p, *seen)
	default:
		return -1
	}
}

// exception passes over the name of an error type, such as ValidationException.
// One that programs throw for their own faults is theirs, unless the agent has
// said before that it reports a provider's answer.
func (m *message) exception(p int, seen *uint8) int {
	if ownFaults[m.toks[p].text] && *seen&providerFrame == 0 {
		return -1
	}
	for p++; p < len(m.toks) && m.toks[p].glued && m.toks[p].kind == word; p++ {
		if m.toks[p].is("error") || m.toks[p].is("exception") {
			*seen |= errorFrame
			return p + 1
		}
	}
	return -1
}

var ownFaults = wordSet("assertion type value key syntax reference index attribute import runtime name range lookup os")

func (m *message) frameMark(p int, seen uint8) int {
	switch t := m.toks[p]; t.text {
	case `"`:
		return m.closing(p, `"`)
	case "(":
		if end := m.closing(p, ")"); end >= 0 && end < len(m.toks) && m.toks[end].is(":") {
			return end + 1
		}
		return p + 1
	case ":", ")", "[", "]", "·", "—", ",", ";", ".", "…", "/":
		if seen&(errorFrame|providerFrame) != 0 {
			return p + 1
		}
	}
	return -1
}

// closing returns the position after the mark that closes what opens at p.
func (m *message) closing(p int, closer string) int {
	for i := p + 1; i < len(m.toks) && i < p+30; i++ {
		if m.toks[i].is(closer) {
			return i + 1
		}
	}
	return -1
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
	if isEdgeStatus(o.status) && m.toks[p-1].kind != word {
		if h, ok := edgeReasons.at(m.toks, p); ok && (o.framed || m.stands(o, h)) {
			return o, refused
		}
	}
	verdict := unsaid
	for h := range statements.hits(m.toks, p) {
		if h.means.class == None {
			return o, talked
		}
		if o.framed {
			return o, refused
		}
		verdict = talked
		if !m.stands(o, h) || h.means.remote && m.namesThisMachine(o.at) {
			continue
		}
		fragment := h.end == len(m.toks) && !m.toks[p].upper
		o.timed = h.means.weak && (h.means.banner || h.means.byWait) ||
			h.means.banner && (fragment || m.bare(p, h.end))
		return o, refused
	}
	return o, verdict
}

// stands reports whether the phrase is a statement of its own, not part of
// what a person says about it.
func (m *message) stands(o opening, h hit[ruling]) bool {
	line := m.line(o.at)
	return (h.open || m.tailFits(h.end)) && !isTableRow(line) && !m.asks(line, h.end)
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
var tails = wordSet(`for on in by at or and to of please try resets reset retrying retry error exception you your
		this it we until after from with because due as`)

func (m *message) tailFits(end int) bool {
	if end >= len(m.toks) || m.toks[end].first {
		return true
	}
	t := m.toks[end]
	switch t.kind {
	case word:
		return tails[t.text]
	case mark:
		return !strings.Contains(`"=+/*<>#$@&%?`, t.text)
	default:
		return true
	}
}

// isTableRow reports cells between spaced bars.
func isTableRow(line []token) bool {
	for i, t := range line {
		if t.is("|") && (t.spaces > 0 || i == 0) {
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
