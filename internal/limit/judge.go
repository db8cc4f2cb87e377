package limit

import "strings"

// mostText is how much of a message is read. Of a longer one its beginning and
// its end are: an error stands in one of them.
const mostText = 16 << 10

func clip(s string) string {
	if len(s) <= mostText {
		return s
	}
	return s[:mostText/2] + "\n" + s[len(s)-mostText/2:]
}

// Text judges words as something the agent itself printed: one line, or a few
// that were its last. A person's prompt, source code, a tool's own output and a
// usage gauge are no refusal.
func (r Reader) Text(s string) Verdict {
	s = clip(s)
	if !isRecord(lastLine(s)) || !strings.Contains(s, "\n") {
		e := r.gather(s, false, 0)
		if v := e.verdict(); v.Class != None || !strings.Contains(s, "\n") {
			return v
		}
	}
	// Records on several lines are none together: each is read by itself.
	for lines := strings.TrimSpace(s); lines != ""; {
		line := lastLine(lines)
		e := r.gather(line, false, 0)
		if v := e.verdict(); v.Class != None {
			return v
		}
		lines = strings.TrimSpace(strings.TrimSuffix(lines, line))
	}
	return Verdict{}
}

// Refusal judges a refusal by its status, its code, its headers, and then its
// text. Text is taken for the agent's own report of the refusal.
func (r Reader) Refusal(f Refusal) Verdict {
	e := evidence{status: f.Status}
	if n := smallInt(f.Code); n >= 400 && n < 600 && e.status == 0 {
		e.status = n
	} else if ru, ok := codeRuling(f.Code); ok {
		e.addCode(ru)
	}
	e.merge(r.gather(clip(f.Text), true, 0))
	h := headers(f.Headers)
	h.addTo(&e)
	if reset, ok := r.headerReset(h, e.class()); ok {
		e.reset = reset
	}
	v := e.verdict()
	switch {
	case e.reset.At.After(r.At) && e.mayLift(v.Class):
		return Verdict{Class: e.liftsAs(r.At), WaitHelps: true, InProgress: e.running, Reset: e.reset}
	case v.Class == None && (f.Status != 0 || f.Code != "" || f.Text != "" || len(f.Headers) > 0):
		return Verdict{Class: Unknown, WaitHelps: true, InProgress: e.running, Reset: e.reset}
	}
	return v
}

// lastLine returns the last line of s that is not blank, without blanks around it.
func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return strings.TrimSpace(s[strings.LastIndexByte(s, '\n')+1:])
}

func isRecord(line string) bool {
	return strings.HasPrefix(line, "{") && strings.HasSuffix(line, "}")
}

// gather reads one message. Where it is trusted, it is known to be a report of
// a refusal; otherwise it has to begin like one.
func (r Reader) gather(s string, trusted bool, depth int) evidence {
	fields, rest := splitFields(s)
	m := message{r: r, src: rest, toks: tokenize(rest)}
	if len(fields) > 0 {
		e, ok := r.record(fields, depth)
		if !ok {
			return evidence{}
		}
		m.record = &e
	}
	if trusted {
		return m.weigh(opening{framed: true})
	}
	for i := len(m.toks) - 1; i >= 0; i-- {
		if !m.toks[i].first {
			continue
		}
		if o, ok := m.open(i); ok {
			return m.weigh(o)
		}
	}
	return evidence{}
}

// message is one message, cut up.
type message struct {
	r      Reader
	src    string
	toks   []token
	record *evidence // of its structured part, where it has one
}

// weigh collects all that the message says from its opening on.
func (m *message) weigh(o opening) evidence {
	e := evidence{status: o.status}
	toks := m.toks[o.at:]
	if o.byMenu {
		e.strong = UsageLimit
	}
	lifted, alone := false, false
	counted := period(toks)
	for i := range toks {
		if n := statusAt(toks, i); n != 0 && e.status == 0 {
			e.status = n
		}
		if clauseBegins(toks, i) {
			if inner, ok := m.thrown(opening{at: o.at + i, framed: true}, o.at+i); ok && o.named.class == None {
				o.named = inner.named
			}
			if h, ok := statements.at(toks, i); ok && h.means.class != None {
				e.addWords(h.means.counted(counted))
				lifted = lifted || h.means.lifted
				alone = alone || h.means.alone
			}
		}
		if h, ok := asides.at(toks, i); ok {
			e.addWords(h.means.counted(counted))
		}
	}
	if m.record != nil {
		e.merge(*m.record)
	}
	if o.named.class != None {
		e.addCode(o.named)
	}
	scan := timeScan{r: m.r, src: m.src, toks: toks}
	if f, ok := scan.anchored(e.running); ok {
		e.addReset(f.reset())
		e.wait = f.exact
	}
	e.running = e.running || alone && e.strong == None && e.status == 0
	if lifted {
		e.addReset(Reset{At: m.r.At, Source: Words})
	}
	if !e.reset.Stated() && (o.timed || o.told && !e.running && e.status == 0) {
		return evidence{}
	}
	return e
}

// period returns the class of the first period that is named, or None.
func period(toks []token) Class {
	for i := range toks {
		if h, ok := periods.at(toks, i); ok {
			return h.means
		}
	}
	return None
}

// clauseBegins reports whether a clause may begin at toks[i].
func clauseBegins(toks []token, i int) bool {
	if i == 0 || toks[i].first {
		return true
	}
	prev := toks[i-1]
	switch prev.kind {
	case mark:
		return strings.Contains(`.!;:,()[]{}·—…|"*`, prev.text)
	case sign:
		return true
	case word:
		return frameWords[prev.text] != 0
	default:
		return statusAt(toks, i-1) != 0
	}
}

// statusAt reads an HTTP status that stands where one is expected.
func statusAt(toks []token, i int) int {
	t := toks[i]
	if t.kind != number || len(t.text) != 3 || t.text < "400" || t.text > "599" {
		return 0
	}
	if i+1 < len(toks) && toks[i+1].glued && toks[i+1].kind != mark {
		return 0 // 500ms
	}
	if isPort(toks, i) || isAmount(toks, i) {
		return 0
	}
	if i > 0 && !t.first && !headsPage(toks, i) {
		switch prev := toks[i-1]; {
		case prev.kind == word && frameWords[prev.text] == 0,
			prev.kind == number, prev.kind == link, prev.is("=") && !(prev.glued && t.glued),
			prev.kind == mark && !strings.Contains("([:·—=", prev.text):
			return 0
		}
	}
	return smallInt(t.text)
}

// isAmount reports a number that counts something: "after 402 seconds", "500
// requests", "Retry-After: 403".
func isAmount(toks []token, i int) bool {
	if i+1 < len(toks) && !toks[i+1].first && toks[i+1].kind == word && !toks[i+1].upper {
		if next := toks[i+1].text; units[next] != 0 || countables[next] {
			return true
		}
	}
	before := i - 1
	for before >= 0 && !toks[before+1].first && (toks[before].is(":") || toks[before].is("=") || toks[before].is("~")) {
		before--
	}
	return before >= 0 && !toks[before+1].first && waitWords[toks[before].text]
}

// countables are what limits are counted in.
var countables = wordSet(`tokens token requests request messages message prompts calls credits characters bytes kb mb gb files images steps tests errors retries
	attempts times items lines words percent usd dollars cents rpm tpm k m`)

// waitWords stand before a length, never before a status.
var waitWords = wordSet("after in within wait waiting for limit")

// headsPage reports whether toks[i] begins the title of a page
// of HTML, as proxies send it: <title>502 Bad Gateway</title>.
func headsPage(toks []token, i int) bool {
	return i >= 3 && toks[i-1].is(">") && toks[i-2].is("title") && toks[i-3].is("<")
}

// isPort reports a number that is the port of an address before it, such as
// 443: "status:503" names a status, "10.0.0.1:503" does not.
func isPort(toks []token, i int) bool {
	if i < 2 || !toks[i].glued || !toks[i-1].is(":") || !toks[i-1].glued {
		return false
	}
	host := toks[i-2]
	return host.kind == number || host.is(":") || host.is("]") || host.kind == word && frameWords[host.text] == 0
}
