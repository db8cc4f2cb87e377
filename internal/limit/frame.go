package limit

import "strings"

// frames says how words before the refusal itself frame it.
type frames uint8

const (
	plainFrame    frames = 1 << iota // may stand in a frame
	errorFrame                       // makes it a report
	providerFrame                    // makes it a report of a provider's answer
	nameFrame                        // names an agent or a provider
	actFrame                         // names what was tried
)

func (f frames) has(kind frames) bool { return f&kind != 0 }

// anyones reports a frame as any program prints it: "failed to parse response"
// is about a provider only where one is named.
func (f frames) anyones() bool { return f.has(actFrame) && !f.has(nameFrame) }

// frameWords may stand between the beginning of a line and the refusal: names
// of agents and of what can fail. One word that is not here makes it prose.
var frameWords = map[string]frames{}

func init() {
	for kind, words := range map[frames]string{
		nameFrame: `claude ai codex gemini qwen kimi opencode copilot cursor grok pi aider goose amp kiro amazon q antigravity
			anthropic openai openrouter chatgpt google azure bedrock vertex litellm github xai deepseek mistral groq moonshot
			cerebras fireworks minimax zai glm nvidia nim sambanova ollama huggingface generative compact`,
		plainFrame: `agent subagent call execution completion turn goal needs from with due to an early during
			compaction repeated last attempt non retryable retriable transient fatal final caused by
			message received got upstream inference s sdk after retries attempts cli code exit type retry limit in occurred while
			responses returned streaming xx remote task when responded answered replied invalid max maximum ran into detected exhausted coding plan data`,
		errorFrame: `error errors failed failure exception terminated paused warning attention disconnected rejected denied exceeded unexpected sorry oops
			fehler erreur ошибка erro errore 错误 錯誤 エラー 오류`,
		providerFrame: `api provider http status llm model request response stream server code endpoint reconnecting prompt prompting`,
		actFrame: `get getting parse parsing process processing fetch fetching send sending generate generating calling running query querying prompt prompting
			complete completing`,
	} {
		for w := range strings.FieldsSeq(words) {
			frameWords[w] |= kind
			learnGlyphs(w)
		}
	}
}

// numerals count what was tried: "after three retries".
var numerals = wordSet("one two three four five six seven eight nine ten several")

// joiners never begin a report: what begins with one is a sentence.
var joiners = wordSet("from with due to during after in while when by type")

// frame passes over one part of a frame at toks[p], or returns -1.
func (m *message) frame(p int, seen *frames) int {
	t := m.toks[p]
	switch t.kind {
	case word:
		kind := frameWords[t.text]
		switch {
		case kind == 0 && p > 0 && m.toks[p-1].is("after") && numerals[t.text],
			t.is("this") && p > 0 && m.toks[p-1].is("into"),
			t.is("the") && p > 0 && (m.toks[p-1].is("from") || m.toks[p-1].is("by")):
			return p + 1
		case methods[t.text] && t.upper:
			return m.asked(p, seen)
		case kind == 0:
			return m.exception(p, seen)
		}
		*seen |= kind
		return p + 1
	case number:
		if p > 0 && (m.toks[p-1].is("(") || m.toks[p-1].kind == word && frameWords[m.toks[p-1].text] != 0) {
			return p + 1
		}
		return -1
	case mark:
		return m.frameMark(p, *seen)
	case link: // what was asked of whom
		if seen.has(errorFrame) && seen.has(nameFrame) {
			return p + 1
		}
		return -1
	default:
		return -1
	}
}

// methods begin what a client says of a request that failed.
var methods = wordSet("get post put patch")

// asked passes over what was asked of whom: POST "https://…":.
func (m *message) asked(p int, seen *frames) int {
	end := p + 1
	for end < len(m.toks) && m.toks[end].is(`"`) {
		end++
	}
	if end >= len(m.toks) || m.toks[end].kind != link || m.namesThisMachine(p) {
		return -1
	}
	*seen |= providerFrame
	for end++; end < len(m.toks) && m.toks[end].is(`"`); end++ {
	}
	return end
}

// exception passes over the name of an error type, such as ValidationException.
// One that programs throw for their own faults is theirs, unless the agent has
// said before that it reports a provider's answer.
func (m *message) exception(p int, seen *frames) int {
	if ownFaults[m.toks[p].text] && !seen.has(providerFrame) {
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

func (m *message) frameMark(p int, seen frames) int {
	switch t := m.toks[p]; t.text {
	case `"`:
		return m.closing(p, `"`)
	case "(":
		if end := m.closing(p, ")"); end >= 0 && end < len(m.toks) && m.toks[end].is(":") {
			return end + 1
		}
		return p + 1
	case "=": // status_code=429
		if p+1 < len(m.toks) && statusAt(m.toks, p+1) != 0 {
			return p + 1
		}
	case "#": // retry #2
		if seen.has(errorFrame) && p+1 < len(m.toks) && m.toks[p+1].kind == number {
			return p + 2
		}
	case ":", ")", "[", "]", "·", "—", ",", ";", ".", "…", "/", "*":
		if (t.is("—") || t.is(":") && p+1 < len(m.toks) && !m.toks[p+1].glued) && p > 0 && statusAt(m.toks, p-1) != 0 {
			return p + 1
		}
		if t.is(":") && p > 0 && m.toks[p-1].is("data") && p+1 < len(m.toks) && m.opensRecord(p+1) {
			return p + 1 // a line of an event stream
		}
		if t.is("[") && t.glued {
			return -1 // an index: retry[503]
		}
		if seen.has(errorFrame | providerFrame) {
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
