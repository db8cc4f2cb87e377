package limit

// longestLead is how many tokens a lead may have; the name of a file is some of them.
const longestLead = 64

// behind looks behind a lead. A report that stands there has to show by itself
// whose it is: what a program that the agent ran says of its own troubles
// begins in the same way.
func (m *message) behind(i int) (opening, bool) {
	stamp := m.stamped(i)
	p := m.tagged(stamp)
	if p == i {
		return m.behindFailure(i)
	}
	o, said := m.report(p)
	if said != refused {
		return o, false
	}
	e := m.weigh(o)
	plain := stamp > i && (e.plain == UsageLimit || e.plain == ContextOverflow)
	return o, plain || o.sure || e.shows()
}

// behindFailure looks behind what failed, in words of any program, and a colon:
// "Error while running the agent: openai.RateLimitError: …".
func (m *message) behindFailure(i int) (opening, bool) {
	line := m.line(i)
	failed, theirs := false, false
	for k, t := range line[:min(len(line), longestLead)] {
		switch {
		case t.kind == number && k == 0, t.kind == link, t.is(`"`), t.is("|"), tellers[t.text], prompts[t.text]:
			return opening{}, false
		case t.kind == word:
			failed = failed || frameWords[t.text].has(errorFrame)
			theirs = theirs || frameWords[t.text].has(providerFrame|nameFrame) || t.is("agent") || t.is("turn")
		case t.is(":") && failed && k+1 < len(line) && !line[k+1].glued && line[k+1].kind != sign:
			o, said := m.report(i + k + 1)
			shows := o.sure || o.plain != None && theirs || m.record != nil && m.record.shows()
			if said == refused && shows && !m.asks(line, i+len(line)) {
				o.framed = true
				return o, true
			}
		}
	}
	return opening{}, false
}

// stamped passes over the time that programs put before each line of a log.
func (m *message) stamped(i int) int {
	p := i
	for p < len(m.toks) && (m.toks[p].kind == number || contains(stampMarks, m.toks[p].text) || p == i && m.toks[p].is("[")) {
		p++
	}
	if p-i < len("12:00") || p == len(m.toks) {
		return i
	}
	return p
}

// tagged passes over the name, in brackets, of who writes.
func (m *message) tagged(p int) int {
	if p+1 < len(m.toks) && m.toks[p].is("[") && m.toks[p+1].kind == word && !frameWords[m.toks[p+1].text].has(errorFrame|providerFrame) {
		if end := m.closing(p, "]"); end > 0 && end < len(m.toks) && end-p < 8 {
			return end
		}
	}
	return p
}

var stampMarks = []string{":", ".", ",", "—", "t", "z", "+", "]", "/"}

// tellers are words of those who tell what happened or list what can, and of
// what is built and tested.
var tellers = wordSet(`i we my our me us he they it says said say shows show showed saying quotes quote quoted
	expected expect want wanted instead always sometimes often should would log logs
	errors failures codes case cases mode modes known examples handling
	test tests testing build panic assert assertion spec suite compile lint`)
