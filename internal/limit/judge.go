package limit

import (
	"iter"
	"slices"
	"strings"
	"time"

	"resumed/internal/lazy"
	"resumed/internal/limit/token"
	"resumed/internal/limit/when"
)

// Text judges what the agent itself printed. A prompt, code, output of a tool or of usage is no refusal.
func (r Reader) Text(s string) Verdict {
	if s = token.Clip(s); usageBars(s) > 1 {
		return Verdict{} // a panel of usage; one gauge may be a status line
	}
	if single := !strings.Contains(s, "\n"); single || pageAt(s) >= 0 || !hasRecords(s) {
		e := r.gather(s, false, 0)
		if v := e.verdict(); single || v.Class != None {
			return v
		}
		if _, rest, refusal := splitRecord(s); !refusal && strings.TrimSpace(rest) == "{}" {
			return Verdict{} // one record on several lines
		}
	}
	// Several records do not form one message: each line is read alone.
	for _, line := range slices.Backward(strings.Split(s, "\n")) {
		e := r.gather(strings.TrimSpace(line), false, 0)
		if v := e.verdict(); v.Class != None {
			return v
		}
	}
	return Verdict{}
}

// Refusal judges by status, code and headers, and then by the text, which is the agent's own report.
func (r Reader) Refusal(f Refusal) Verdict {
	if f.Status == 0 && f.Code == "" && f.Text == "" && len(f.Headers) == 0 {
		return Verdict{}
	}
	var e evidence
	e.status = f.Status
	e.addCode(f.Code)
	e.merge(r.gather(token.Clip(f.Text), true, 0))
	h := lowerHeaders(f.Headers)
	h.addTo(&e.facts)
	if reset, ok := r.headerReset(h, e.class()); ok {
		e.reset = reset
	}
	v := e.verdict()
	switch {
	case !e.reset.At.After(r.At) || !e.mayLift(v.Class):
		if v.Class != None {
			return v
		}
		v.Class = Unknown
	case e.reset.Rough || e.reset.At.Sub(r.At) >= longWait: // only the time when it lifts is known
		v.Class = UsageLimit
	default:
		v.Class = RateLimit
	}
	return Verdict{Class: v.Class, WaitHelps: true, InProgress: e.is(running), Reset: e.reset}
}

// Because returns the words of a text that are evidence for a class, the strongest first.
func Because(text string, c Class) []string {
	record, rest, ok := splitRecord(token.Clip(text))
	if !ok {
		return nil
	}
	said := reasons(rest, c)
	if record != nil {
		for _, inner := range record.texts {
			if len(said) == 0 {
				said = reasons(inner, c)
			}
		}
	}
	return said
}

// Retry-After is about this refusal; the headers about windows are in every response.
func (r Reader) headerReset(h headers, c Class) (Reset, bool) {
	retry := []statedTime{{value: h["retry-after-ms"], unit: time.Millisecond}, {value: h["retry-after"], unit: time.Second}}
	if at, ok := r.first(retry); ok {
		return Reset{At: at.At, Source: Header, Counted: at.Counted}, true
	}
	if c != RateLimit && c != UsageLimit && c != Billing {
		return Reset{}, false
	}
	var last when.Found
	for _, window := range h.gauges() {
		if at, ok := r.first([]statedTime{window}); ok && at.At.After(last.At) {
			last = at
		}
	}
	return Reset{At: last.At, Source: Header, Counted: last.Counted}, !last.At.IsZero()
}

func (r Reader) first(times []statedTime) (when.Found, bool) {
	for _, t := range times {
		if at, ok := when.Reader(r).Value(t.value, t.unit, t.mixed); ok {
			return at, true
		}
	}
	return when.Found{}, false
}

func hasRecords(s string) bool {
	return slices.ContainsFunc(strings.Split(s, "\n"), func(line string) bool {
		return strings.Contains(line, "{") && strings.HasSuffix(strings.TrimSpace(line), "}")
	})
}

func begins(toks []token.Token, i int) bool {
	return i == 0 || toks[i].First || toks[i-1].Kind >= token.Mark || statusAt(toks, i-1) != 0
}

const nesting = 3

// gather reads one message. If it is not trusted, one of its lines has to read like a refusal.
func (r Reader) gather(s string, trusted bool, depth int) evidence {
	record, rest, ok := splitRecord(s)
	if !ok {
		return evidence{}
	}
	toks := token.Cut(rest)
	if trusted {
		return r.weigh(message{rest, toks, record, nil}, true, depth)
	}
	var byWords *message // the last line that the weights alone take for a report
	for end, i := len(toks), len(toks)-1; i >= 0; i-- {
		if !toks[i].First {
			continue
		}
		score, backed, ok := reports(rest, toks[i:end], record)
		switch {
		case ok && backed:
			return r.weigh(message{rest, toks[i:], record, score}, false, depth)
		case ok && byWords == nil:
			byWords = &message{rest, toks[i:], record, score}
		}
		end = i
	}
	if byWords != nil {
		return r.weigh(*byWords, false, depth)
	}
	var e evidence
	if at := strings.Index(rest, "{}"); record != nil && record.failed && depth < nesting && (at <= 0 || !strings.Contains("`'\"", rest[at-1:at])) {
		r.gatherInner(&e, record, false, depth+1) // whatever another program says around it
	}
	return e
}

// little is the score that a line needs if a phrase, a known code or a status is evidence too.
const little = -20

// reports: the line reads like the agent's own report of a refusal. It returns its score if it was computed, and whether
// more than that says so.
func reports(src string, line []token.Token, record *facts) (score *scores, backed, ok bool) {
	words := slices.ContainsFunc(line, func(t token.Token) bool { return t.Kind <= token.Number })
	if record != nil && !words {
		return nil, true, true
	}
	row := strings.TrimSpace(src[line[0].Start:line[len(line)-1].End])
	if table := strings.HasPrefix(row, "|") && strings.Count(row, "|") > 2; table || usageBars(row) > 0 {
		return nil, false, false
	}
	status, own := false, unquoted(src, line)
	for i := range own {
		heads := i == 0 && len(own) > 1 && own[1].Upper // 401 Unauthorized
		status = status || (i > 0 || heads) && statusAt(own, i) != 0
	}
	code := record != nil && record.known() && opensRecord(line)
	named := leadsWithCode(src, line)
	if line[0].Upper && (code && status || named && !strings.Contains(src[line[0].Start:line[len(line)-1].End], " ")) || code && answers(line) {
		return nil, true, true
	}
	score = new(trained().score(src, line))
	_, over, _ := score.best()
	if over < little {
		return nil, false, false
	}
	backed = code || status || named || throws(src, line) || phrased(own)
	return score, backed, (backed || over >= enough && len(line) > 2 && len(own) == len(line)) && !written().MatchString(row)
}

// Such a line was written for a case that may come: a template, a comment, a condition, a text in code.
var written = lazy.Regexp(`\{\{|\$\{|%[sd]\b|\{0\}|^(?://|/\*|(?i:if|when|whenever|unless)\b)|['"],$`)

// unquoted returns a line without the words that it quotes in the middle of a sentence.
func unquoted(src string, line []token.Token) (own []token.Token) {
	if !strings.ContainsAny(src[line[0].Start:], "`\"") {
		return line
	}
	for i := 0; i < len(line); i++ {
		if opens := &line[i]; i > 0 && (opens.Is("`") || opens.Is(`"`)) && !opens.Glued && line[i-1].Kind == token.Word {
			closes := slices.IndexFunc(line[i+1:], func(t token.Token) bool { return t.Is(opens.Text) }) + i + 1
			if closes > i && strings.Contains(src[opens.End:line[closes].Start], " ") { // else it is a name
				i = closes
				continue
			}
		}
		own = append(own, line[i])
	}
	return own
}

// usageBars counts the gauges that a text draws.
func usageBars(s string) int {
	if !strings.ContainsAny(s, "█▓▒░") {
		return 0
	}
	return strings.Count(s, "% used") + strings.Count(s, "% left")
}

func answers(line []token.Token) bool {
	return slices.ContainsFunc(slices.Collect(clauses(line)), func(at int) bool { return at > 1 && line[at].Is("{") })
}

// phrased reports whether a clause begins with a phrase that tells the class, or that the agent goes on.
func phrased(line []token.Token) bool {
	for at := range clauses(line) {
		if h, ok := phrases().phrases.At(line, at); ok && (!h.Means.is(weak) || h.Means.is(running)) {
			return true
		}
	}
	return false
}

// clauses yields where the words of a provider may begin in a line: at its first word, and after the name
// of an error and each colon that follows. Marks of lists, quotations and tables are none of a provider's.
func clauses(line []token.Token) iter.Seq[int] {
	return func(yield func(int) bool) {
		fresh, labelled := true, false
		for i := range line {
			switch t := &line[i]; {
			case t.Is(":") || t.Is("—"):
				labelled = labelled || i > 0 && errors[line[i-1].Text]
				fresh = labelled
			case t.Kind == token.Sign || t.Kind == token.Mark && strings.Contains("·\"([", t.Text):
			default:
				if fresh && !yield(i) {
					return
				}
				fresh = false
			}
		}
	}
}

func opensRecord(line []token.Token) bool {
	for i, t := range line {
		if t.Is("{") && i+1 < len(line) && line[i+1].Is("}") {
			return true
		}
	}
	return false
}

// shortGrace: a limit of a day or more is met long after its window began, so a past time means tomorrow.
const shortGrace = 10 * time.Minute

func (r Reader) clock(e *evidence, period Class) when.Reader {
	if period == UsageLimit {
		r.Grace = min(r.Grace, shortGrace)
	}
	if e.is(beijing) {
		r.Zone = when.Beijing
	}
	return when.Reader(r)
}

// If one text of a record reports a refusal, the others are about it too.
func (r Reader) gatherInner(e *evidence, record *facts, trusted bool, depth int) {
	if record.is(beijing) {
		r.Zone = when.Beijing
	}
	for _, text := range record.texts {
		if trusted {
			break
		}
		inner := r.gather(text, false, depth)
		trusted = inner.class() != None
	}
	for _, text := range record.texts {
		e.merge(r.gather(text, trusted, depth))
	}
}

type message struct {
	src    string
	toks   []token.Token
	record *facts  // its structured part, if any
	score  *scores // of the line that reports the refusal; nil: not computed
}

func (r Reader) weigh(m message, trusted bool, depth int) evidence {
	var e evidence
	src, toks, record := m.src, m.toks, m.record
	period := periodIn(toks)
	for i := range toks {
		if e.status == 0 {
			e.status = statusAt(toks, i)
		}
		e.addThrown(toks, i)
		if h, ok := phrases().phrases.At(toks, i); ok && (!h.Means.is(first) || begins(toks, i)) {
			e.addPhrase(h.Means, period)
		}
	}
	if record != nil {
		e.addFacts(record)
		if at, ok := r.first(record.times); ok {
			e.addReset(Reset{At: at.At, Source: Words, Counted: at.Counted})
			e.pause = at.Exact
		}
		if depth < nesting {
			r.gatherInner(&e, record, trusted || record.failed || record.known(), depth+1)
		}
	}
	if (e.code == None || e.code == Auth) && e.strong.class == None && e.scored == None {
		if m.score == nil {
			m.score = new(trained().score(src, toks))
		}
		e.scores = m.score
		e.scored, e.sure = m.score.judge(src, toks, trusted)
	}
	if f, ok := r.clock(&e, period).Announced(src, toks, e.is(running)); ok {
		e.addReset(Reset{At: f.At, Source: Words, Rough: f.Rough, Counted: f.Counted})
		if f.Counted {
			e.wait = max(f.Exact, 1) // "0s" is a wait too
		}
	}
	if e.is(alone) && e.strong.class == None && e.status == 0 {
		e.traits |= running
	}
	if e.is(lifted) {
		e.addReset(Reset{At: r.At, Source: Words, Counted: true})
	}
	return e
}
