package limit

import "strings"

// Who throws an exception, by the root of its dotted name.
const (
	sdk        = 1 + iota // a provider's own client: it speaks of nothing else
	httpClient            // a client that any program may use
)

var throwers = map[string]uint8{}

func init() {
	for who, roots := range map[uint8]string{
		sdk:        `openai anthropic litellm google botocore groq mistralai cohere ollama`,
		httpClient: `requests httpx httpcore urllib aiohttp`,
	} {
		for root := range strings.FieldsSeq(roots) {
			throwers[root] = who
		}
	}
}

// exceptionNames are the names of exceptions that are no provider's code.
var exceptionNames lexicon[ruling]

func init() {
	exceptionNames.add(ruling{class: Network}, `
		read|write|connect|pool|api|proxy timeout *
		read|write|connect|close|proxy|ssl|transport|network|protocol error
		remote|local protocol error
		max retry error
		new connection error
		name resolution error
		incomplete read
		chunked encoding error
		client connector|connection|payload|os *
		server disconnected|timeout *
		endpoint connection error
		api timeout|connection *
	`)
	exceptionNames.add(ruling{class: RateLimit}, `
		router rate limit *
	`)
}

// glosses begin what is written about an exception rather than by it.
var glosses = wordSet("raised thrown raise when if is are base means indicates occurs for the this an see use inherits subclass")

// thrown reads an exception by its dotted name, as an SDK or the interpreter
// under an agent prints it: openai.RateLimitError: …. What an HTTP client
// throws may be the output of a program that the agent ran, which agents
// indent; only at the very beginning of a line, or behind a frame, is it taken
// for the agent's own, and never where it is about this machine.
func (m *message) thrown(o opening, p int) (opening, bool) {
	t := m.toks[p]
	if t.kind != word || t.upper || throwers[t.text] == 0 && !t.is("com") {
		return o, false
	}
	name, ok := dottedName(m.src[t.start:])
	if !ok {
		return o, false
	}
	switch thrower(name) {
	case 0:
		return o, false
	case httpClient:
		if !o.framed && (p != o.at || t.spaces > 0) || m.namesThisMachine(o.at) {
			return o, false
		}
	}
	end := t.start + len(name)
	own := t.start + strings.LastIndexByte(name, '.') + 1
	for p < len(m.toks) && m.toks[p].start < own {
		p++
	}
	after := p
	for after < len(m.toks) && m.toks[after].start < end {
		after++
	}
	if !m.endsName(after) {
		return o, false
	}
	o.named, _ = exceptionRuling(m.toks[p:after])
	o.at, o.framed, o.sure = after, true, o.sure || thrower(name) == sdk
	return o, true
}

const longestName = 200

// dottedName returns the dotted identifier that s begins with, if the last of
// its parts is named as types are.
func dottedName(s string) (string, bool) {
	n := 0
	for n < min(len(s), longestName) && (isAlnum(s[n]) || s[n] == '_' || s[n] == '.' && n+1 < len(s) && (isAlnum(s[n+1]) || s[n+1] == '_')) {
		n++
	}
	dot := strings.LastIndexByte(s[:n], '.')
	return s[:n], dot > 0 && dot+1 < n && isUpper(s[dot+1])
}

// thrower looks the root of a name up; that of a reversed domain is its
// second part, and a number at its end is a version.
func thrower(name string) uint8 {
	name = strings.TrimPrefix(name, "com.")
	root, _, _ := strings.Cut(name, ".")
	return throwers[strings.TrimRight(root, "0123456789")]
}

// endsName reports whether the name before toks[i] is all of the line, or is
// followed by what the exception says.
func (m *message) endsName(i int) bool {
	if i >= len(m.toks) || m.toks[i].first {
		return true
	}
	return m.toks[i].is(":") && m.toks[i].glued && !m.isGloss(i+1)
}

// isGloss reports that someone explains the exception from toks[i] on: "raised
// when the host is down". What an exception says begins like a sentence.
func (m *message) isGloss(i int) bool {
	return i < len(m.toks) && m.toks[i].kind == word && !m.toks[i].upper && glosses[m.toks[i].text]
}

func exceptionRuling(name []token) (ruling, bool) {
	for _, names := range [...]*lexicon[ruling]{&exceptionNames, &codes} {
		for h := range names.hits(name, 0) {
			if h.open || h.end == len(name) || name[h.end].is("error") || name[h.end].is("exception") {
				return h.means, true
			}
		}
	}
	return ruling{}, false
}

// thisMachine are names of the machine that the agent runs on: what is refused
// there is some program's own affair.
var thisMachine = []string{"localhost", "127.0.0.1", "0.0.0.0", "[::1]"}

func (m *message) namesThisMachine(i int) bool {
	line := m.line(i)
	text := m.src[line[0].start:line[len(line)-1].end]
	for _, host := range thisMachine {
		if strings.Contains(text, host) {
			return true
		}
	}
	return false
}
