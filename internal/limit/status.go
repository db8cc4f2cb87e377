package limit

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"
	"time"

	"resumed/internal/limit/token"
)

var before = token.Set(`error errors failed failure exception code status http api provider llm model request response server upstream endpoint stream
	got received returned responded answered replied with from type retry attempt last fatal unexpected exceeded rejected paused claude openai anthropic gemini
	codex proxy gateway url is was fehler erreur ошибка erro errore 错误 錯誤 エラー 오류`)

var errors = token.Set("error exception fehler erreur ошибка erro errore 错误 錯誤 エラー 오류")

func statusAt(toks []token.Token, i int) int {
	t := toks[i]
	if t.Kind != token.Number || len(t.Text) != 3 || t.Text[0] != '4' && t.Text[0] != '5' || isPort(toks, i) || isAmount(toks, i) {
		return 0
	}
	if i+1 < len(toks) && toks[i+1].Glued && toks[i+1].Kind != token.Mark {
		return 0 // 500ms
	}
	if i > 0 && !t.First {
		switch prev := toks[i-1]; {
		case prev.Kind == token.Word && !before[prev.Text],
			prev.Kind == token.Number, prev.Kind == token.Link, prev.Is("=") && !(prev.Glued && t.Glued),
			prev.Kind == token.Mark && !strings.Contains("([:·—=", prev.Text):
			return 0
		}
	}
	n, _ := strconv.Atoi(t.Text)
	return n
}

// "status:503" names a status, "10.0.0.1:503" a port.
func isPort(toks []token.Token, i int) bool {
	if i < 2 || !toks[i].Glued || !toks[i-1].Is(":") || !toks[i-1].Glued {
		return false
	}
	host := toks[i-2]
	return host.Kind == token.Number || host.Is(":") || host.Is("]") || host.Kind == token.Word && !before[host.Text]
}

// "after 402 seconds", "500 requests" and "Retry-After: 403" count something.
func isAmount(toks []token.Token, i int) bool {
	if i+1 < len(toks) && !toks[i+1].First && !toks[i+1].Upper && countables[toks[i+1].Text] {
		return true
	}
	at := i - 1
	for at >= 0 && !toks[at+1].First && (toks[at].Is(":") || toks[at].Is("=") || toks[at].Is("~")) {
		at--
	}
	return at >= 0 && !toks[at+1].First && waits[toks[at].Text]
}

var (
	countables = token.Set(`ms s sec secs second seconds m min mins minute minutes h hr hrs hour hours d day days
	tokens token requests request messages message prompts calls credits characters bytes kb mb gb files images steps tests errors retries
	attempts times items lines words percent usd dollars cents rpm tpm k`)

	// waits come before a duration, never before a status.
	waits = token.Set("after in within wait waiting for limit")
)

var sdks = token.Set("openai anthropic litellm groq mistralai cohere ollama genai")

var clients = token.Set("httpx requests aiohttp urllib3 botocore google")

// throws: the last line of an agent that crashed with an exception of its client has a dotted name.
func throws(src string, toks []token.Token) bool {
	root := toks[0].Text
	if len(toks) < 2 || toks[0].Upper || !sdks[root] && !clients[root] || src[toks[0].End:toks[1].Start] != "." {
		return false
	}
	end, failed := 1, false
	for ; end < len(toks) && !toks[end].First && toks[end].Kind == token.Word && src[toks[end-1].End:toks[end].Start] != " "; end++ {
		failed = failed || toks[end].Is("error") || toks[end].Is("errors") || toks[end].Is("exceptions") || toks[end].Is("timeout")
	}
	return failed && (sdks[root] || end == len(toks) || toks[end].First || toks[end].Is(":"))
}

// addThrown adds the name of an exception, as an SDK prints it: openai.RateLimitError: ….
func (f *facts) addThrown(toks []token.Token, i int) {
	if !toks[i].Upper || i > 0 && toks[i].Glued {
		return
	}
	end := i + 1
	for end < len(toks) && toks[end].Kind == token.Word && toks[end].Start == toks[end-1].End {
		end++
	}
	if end == i+1 || end < len(toks) && !toks[end].First && !toks[end].Is(":") && !toks[end].Is(")") && !toks[end].Is("(") && !toks[end].Is(",") {
		return
	}
	name := toks[i:end]
	for _, names := range [...]*token.Lexicon[phrase]{&codes().others, &codes().phrases} {
		for h := range names.Hits(name, 0) {
			if h.Open || h.End == len(name) || name[h.End].Is("error") || name[h.End].Is("exception") {
				f.name(h.Means)
				return
			}
		}
	}
}

//go:embed codes.tsv
var codesFile string

// codes are those of providers and agents, split into words, and exceptions, which are no provider's code.
var codes = sync.OnceValue(func() *table {
	var t table
	for columns := range token.Rows(codesFile) {
		means, err := ParseClass(columns[1])
		if err != nil {
			panic(err)
		}
		switch columns[2] {
		case "exception":
			t.others.Add(phrase{class: means}, columns[0])
		case "weak":
			t.phrases.Add(phrase{means, weak}, columns[0])
		default:
			t.phrases.Add(phrase{class: means}, columns[0])
		}
	}
	return &t
})

var statusClasses = map[int]Class{
	401: Auth, 402: Billing, 403: Auth, 407: Auth, 408: Network, 413: ContextOverflow, 429: RateLimit, 499: Cancelled, 529: Overloaded,
}

func classOfStatus(status int) Class {
	if c, known := statusClasses[status]; known {
		return c
	}
	return map[int]Class{4: BadRequest, 5: ServerError}[status/100]
}

// admits reports whether a refusal with that status can be of that class, if words or codes say so.
func admits(status int, c Class) bool {
	switch {
	case c == None:
		return false
	case c == classOfStatus(status) || status < 400 || status >= 600:
		return true
	case status == 402 || status == 529:
		return false
	case c == Billing || c == ContextOverflow || c == UsageLimit:
		return true
	case status == 429 || status == 503:
		return c == Overloaded || c == RateLimit
	case status >= 500:
		return c == RateLimit
	case status == 401 || status == 403:
		return c == RateLimit || c == BadRequest
	default:
		return c == Auth || c == RateLimit || c == Overloaded || c == Network
	}
}

type headers map[string]string

func lowerHeaders(h map[string]string) headers {
	set := make(headers, len(h))
	for name, value := range h {
		set[strings.ToLower(strings.TrimSpace(name))] = strings.TrimSpace(value)
	}
	return set
}

func (h headers) addTo(f *facts) {
	f.addCode(h["x-codex-rate-limit-reached-type"])
	if h["anthropic-ratelimit-unified-status"] != "rejected" {
		return
	}
	f.rejected = true
	if h["anthropic-ratelimit-unified-representative-claim"] == "overage" {
		f.name(phrase{class: Billing})
	}
}

// unifiedReset is when Anthropic's window that refused is refilled.
const unifiedReset = "anthropic-ratelimit-unified-reset"

// gauges returns when the used-up windows are refilled: only the one that refused, if the headers name it, otherwise the
// last of them counts. Windows with room left did not refuse. These headers are in every response, so they count only
// for a refusal about a limit.
func (h headers) gauges() (windows []statedTime) {
	for name, value := range h {
		limits := strings.Contains(name, "ratelimit") || strings.Contains(name, "rate-limit") || strings.HasPrefix(name, "x-codex-")
		if !limits || !strings.Contains(name, "reset") || value == "" || h.hasRoom(name) {
			continue
		}
		window := statedTime{value: value, unit: time.Second, mixed: true}
		if name == unifiedReset {
			return []statedTime{window}
		}
		windows = append(windows, window)
	}
	return windows
}

func (h headers) hasRoom(reset string) bool {
	if left, ok := h[strings.Replace(reset, "reset", "remaining", 1)]; ok {
		n, err := strconv.ParseFloat(left, 64)
		return err == nil && n > 0
	}
	if window, ok := strings.CutSuffix(reset, "-reset-at"); ok {
		n, err := strconv.ParseFloat(h[window+"-used-percent"], 64)
		return err == nil && n < 100
	}
	if window, ok := strings.CutSuffix(reset, "-reset"); ok {
		status, known := h[window+"-status"]
		return known && status != "rejected"
	}
	return false
}

func pageAt(s string) int {
	if !strings.Contains(s, "<") {
		return -1
	}
	for _, tag := range [...]string{"<!DOCTYPE", "<!doctype", "<html", "<HTML"} {
		if at := strings.Index(s, tag); at >= 0 {
			return at
		}
	}
	return -1
}

// splitPage removes the error page of a proxy. A page alone counts only if it says that the server failed.
func splitPage(s string) (f *facts, rest string, ok bool) {
	start := pageAt(s)
	if start < 0 {
		return nil, s, false
	}
	f = &facts{}
	page, after := s[start:], ""
	if end := strings.LastIndex(page, "</html>"); end >= 0 {
		page, after = page[:end], page[end+len("</html>"):]
	}
	if _, title, titled := strings.Cut(page, "<title>"); titled {
		title, _, _ = strings.Cut(title, "</title>")
		title = title[strings.LastIndexByte(title, '|')+1:] // after the name of the host
		toks := token.Cut(title)
		for i := range toks {
			if n := statusAt(toks, i); n >= 500 || n == 429 {
				f.status, f.texts = n, []string{title}
			}
		}
	}
	before := strings.TrimSpace(s[:start])
	return f, before + " {} " + after, f.status != 0 || before != ""
}
