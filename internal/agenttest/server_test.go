package agenttest

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// provider is one dialect as an agent uses it.
type provider struct {
	path    string
	body    string // asks for a stream, with a shell tool
	whole   string // the same without a stream
	side    string // without tools
	said    func(events []object) string
	command func(events []object) string
}

var providers = map[string]provider{
	"anthropic": {
		path:  "/v1/messages?beta=true",
		body:  `{"model":"m","stream":true,"tools":[{"name":"Bash"}],"messages":[{"role":"user","content":"go"},{"role":"assistant","content":[]},{"role":"user","content":[{"type":"text","text":"continue"}]}]}`,
		whole: `{"model":"m","tools":[{"name":"Bash"}],"messages":[{"role":"user","content":"go"}]}`,
		side:  `{"model":"m","messages":[{"role":"user","content":"a title"}]}`,
		said: func(events []object) string {
			return join(events, func(e object) string { return at[string](e, "delta", "text") })
		},
		command: func(events []object) string {
			return at[string](decode(join(events, func(e object) string { return at[string](e, "delta", "partial_json") })), "command")
		},
	},
	"responses": {
		path:  "/v1/responses",
		body:  `{"model":"m","stream":true,"tools":[{"type":"function","name":"exec_command"}],"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"go"}]},{"type":"message","role":"user","content":[{"type":"input_text","text":"continue"}]}]}`,
		whole: `{"model":"m","tools":[{"name":"exec_command"}],"input":[]}`,
		side:  `{"model":"m","input":[]}`,
		said: func(events []object) string {
			return join(events, func(e object) string { return at[string](e, "delta") })
		},
		command: func(events []object) string {
			return at[string](decode(join(events, func(e object) string { return at[string](e, "item", "arguments") })), "cmd")
		},
	},
	"chat": {
		path:  "/v1/chat/completions",
		body:  `{"model":"m","stream":true,"tools":[{"function":{"name":"bash"}}],"messages":[{"role":"system","content":"s"},{"role":"user","content":"go"},{"role":"user","content":"continue"}]}`,
		whole: `{"model":"m","tools":[{"function":{"name":"bash"}}],"messages":[]}`,
		side:  `{"model":"m","messages":[]}`,
		said: func(events []object) string {
			return join(events, func(e object) string { return at[string](e, "choices", 0, "delta", "content") })
		},
		command: func(events []object) string {
			return at[string](decode(join(events, func(e object) string {
				return at[string](e, "choices", 0, "delta", "tool_calls", 0, "function", "arguments")
			})), "command")
		},
	},
	"gemini": {
		path:  "/v1beta/models/m:streamGenerateContent?alt=sse",
		body:  `{"tools":[{"functionDeclarations":[{"name":"run_shell_command"}]}],"contents":[{"role":"user","parts":[{"text":"go"}]},{"role":"user","parts":[{"text":"continue"}]}]}`,
		whole: "",
		side:  `{"contents":[]}`,
		said: func(events []object) string {
			return join(events, func(e object) string { return at[string](e, "candidates", 0, "content", "parts", 0, "text") })
		},
		command: func(events []object) string {
			return join(events, func(e object) string {
				return at[string](e, "candidates", 0, "content", "parts", 0, "functionCall", "args", "command")
			})
		},
	},
}

// each runs a test in every dialect.
func each(t *testing.T, test func(t *testing.T, p provider)) {
	for name, p := range providers {
		t.Run(name, func(t *testing.T) { test(t, p) })
	}
}

func post(t *testing.T, s *Server, p provider, body string) (*http.Response, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+p.path, strings.NewReader(body))
	require.NoError(t, err)
	return http.DefaultClient.Do(req)
}

// events reads a stream to its end.
func events(t *testing.T, s *Server, p provider) []object {
	t.Helper()
	resp, err := post(t, s, p, p.body)
	require.NoError(t, err)
	defer resp.Body.Close()
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.Equal(t, "text/event-stream", resp.Header.Get("Content-Type"))
	var all []object
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok && data != "[DONE]" {
			all = append(all, decode(data))
		}
	}
	return all
}

func decode(text string) object {
	var o object
	if json.Unmarshal([]byte(text), &o) != nil {
		return nil
	}
	return o
}

// at returns the value at a path of keys and indexes, or zero.
func at[T any](o any, path ...any) T {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			m, _ := o.(object)
			o = m[step]
		case int:
			list, _ := o.([]any)
			if step >= len(list) {
				return *new(T)
			}
			o = list[step]
		}
	}
	found, _ := o.(T)
	return found
}

func join(events []object, part func(object) string) string {
	var text strings.Builder
	for _, e := range events {
		text.WriteString(part(e))
	}
	return text.String()
}

func TestScriptIsFollowedAndItsLastAnswerRepeats(t *testing.T) {
	each(t, func(t *testing.T, p provider) {
		s := NewServer(t, Tool("echo one"), Text("Done."))
		require.Equal(t, "echo one", p.command(events(t, s, p)))
		require.Equal(t, "Done.", p.said(events(t, s, p)))
		require.Equal(t, "Done.", p.said(events(t, s, p)))
		s.Script(Text("Again."))
		require.Equal(t, "Again.", p.said(events(t, s, p)))

		requests := s.Requests()
		require.Len(t, requests, 4)
		require.Equal(t, KindTool, requests[0].Answer)
		require.Equal(t, []string{"go", "continue"}, requests[0].Prompts)
	})
}

func TestScriptChangesUponAPrompt(t *testing.T) {
	each(t, func(t *testing.T, p provider) {
		s := NewServer(t, Text("First."))
		s.Upon("never said", Text("Wrong."))
		require.Equal(t, "First.", p.said(events(t, s, p)))
		s.Upon("continue", Text("Second."), Text("Third."))
		require.Equal(t, "Second.", p.said(events(t, s, p)))
		require.Equal(t, "Third.", p.said(events(t, s, p)))
	})
}

func TestPromptsAreCountedHoweverTheyAreWrapped(t *testing.T) {
	prompts := []string{"continue", "\"continue\"\n", "a hint\ncontinue\n", "continue with care", "discontinue"}
	require.Equal(t, 3, Says(prompts, "continue"))
}

func TestSideRequestsTakeNoAnswerFromTheScript(t *testing.T) {
	each(t, func(t *testing.T, p provider) {
		s := NewServer(t, Unauthorized())
		resp, err := post(t, s, p, p.side)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, http.StatusOK, resp.StatusCode)
		require.Empty(t, s.Requests())
		require.Len(t, s.Heard(), 1)
	})
}

func TestAnswersInOnePiece(t *testing.T) {
	each(t, func(t *testing.T, p provider) {
		if p.whole == "" {
			p.path, p.whole = "/v1beta/models/m:generateContent", p.body
		}
		s := NewServer(t, Text("Done."), Tool("echo one"), BrokenStream())
		for _, want := range []string{"Done.", "echo one"} {
			resp, err := post(t, s, p, p.whole)
			require.NoError(t, err)
			data, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			require.NotNil(t, decode(string(data)))
			require.Contains(t, string(data), want)
		}
		resp, err := post(t, s, p, p.whole)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.GreaterOrEqual(t, resp.StatusCode, 500)
	})
}

func TestRefusals(t *testing.T) {
	tests := map[string]struct {
		answer Answer
		status int
		says   map[string]string // in each dialect's body
	}{
		"rate limit": {RateLimit(0), 429, map[string]string{
			"anthropic": "rate_limit_error", "responses": "rate_limit_exceeded", "chat": "rate_limit_exceeded", "gemini": "RESOURCE_EXHAUSTED",
		}},
		"usage limit": {UsageLimit(time.Minute), 429, map[string]string{
			"anthropic": "rate_limit_error", "responses": "usage_limit_reached", "chat": "usage_limit_reached", "gemini": `"retryDelay":"60s"`,
		}},
		"weekly limit": {WeeklyLimit(time.Hour), 429, map[string]string{
			"anthropic": "rate_limit_error", "responses": "usage_limit_reached", "chat": "usage_limit_reached", "gemini": `"retryDelay":"3600s"`,
		}},
		"overloaded": {Overloaded(), 529, map[string]string{
			"anthropic": "overloaded_error", "responses": "server_is_overloaded", "chat": "overloaded", "gemini": "UNAVAILABLE",
		}},
		"server error": {ServerError(), 500, map[string]string{
			"anthropic": "api_error", "responses": "server_error", "chat": "server_error", "gemini": "INTERNAL",
		}},
		"unavailable": {Unavailable(), 503, map[string]string{
			"anthropic": "api_error", "responses": "server_error", "chat": "server_error", "gemini": "UNAVAILABLE",
		}},
		"unauthorized": {Unauthorized(), 401, map[string]string{
			"anthropic": "authentication_error", "responses": "invalid_api_key", "chat": "invalid_api_key", "gemini": "UNAUTHENTICATED",
		}},
		"too long": {TooLong(), 400, map[string]string{
			"anthropic": "prompt is too long", "responses": "context_length_exceeded", "chat": "context_length_exceeded", "gemini": "token count",
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for dialect, p := range providers {
				s := NewServer(t, test.answer)
				resp, err := post(t, s, p, p.body)
				require.NoError(t, err)
				body, err := io.ReadAll(resp.Body)
				require.NoError(t, err)
				require.NoError(t, resp.Body.Close())
				status := test.status
				if status == 529 && (dialect == "responses" || dialect == "gemini") {
					status = 503
				}
				require.Equal(t, status, resp.StatusCode, dialect)
				require.Contains(t, string(body), test.says[dialect], dialect)
				require.NotNil(t, decode(string(body)), dialect)
			}
		})
	}
}

func TestRetryAfterIsStatedOnlyWhereItIsAsked(t *testing.T) {
	for _, name := range []string{"anthropic", "responses", "chat"} {
		for after, want := range map[time.Duration]string{0: "", 7 * time.Second: "7"} {
			resp, err := post(t, NewServer(t, RateLimit(after)), providers[name], providers[name].body)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			require.Equal(t, want, resp.Header.Get("Retry-After"), name)
		}
	}
}

func TestLimitsOfSubscriptionsStateTheirReset(t *testing.T) {
	tests := map[string]struct {
		dialect string
		answer  Answer
		header  string
		also    map[string]string
	}{
		"five hours of Claude": {
			"anthropic", UsageLimit(time.Minute), "anthropic-ratelimit-unified-reset",
			map[string]string{"anthropic-ratelimit-unified-status": "rejected", "anthropic-ratelimit-unified-representative-claim": "five_hour"},
		},
		"a week of Claude": {
			"anthropic", WeeklyLimit(time.Minute), "anthropic-ratelimit-unified-7d-reset",
			map[string]string{"anthropic-ratelimit-unified-representative-claim": "seven_day"},
		},
		"five hours of Codex": {
			"responses", UsageLimit(time.Minute), "x-codex-primary-reset-at",
			map[string]string{"x-codex-primary-used-percent": "100.0", "x-codex-secondary-used-percent": "61.0"},
		},
		"a week of Codex": {
			"responses", WeeklyLimit(time.Minute), "x-codex-secondary-reset-at",
			map[string]string{"x-codex-primary-used-percent": "42.0", "x-codex-secondary-used-percent": "100.0"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s, p := NewServer(t, test.answer), providers[test.dialect]
			resp, err := post(t, s, p, p.body)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			reset, err := strconv.ParseInt(resp.Header.Get(test.header), 10, 64)
			require.NoError(t, err)
			require.InDelta(t, time.Now().Add(time.Minute).Unix(), reset, 2)
			require.Equal(t, reset, s.Requests()[0].Reset.Unix(), "the request tells what was stated")
			for header, want := range test.also {
				require.Equal(t, want, resp.Header.Get(header))
			}
		})
	}
}

func TestStreamsThatBreak(t *testing.T) {
	each(t, func(t *testing.T, p provider) {
		s := NewServer(t, BrokenStream())
		all := events(t, s, p)
		require.Equal(t, "A beginning without", p.said(all))
		data, err := json.Marshal(all[len(all)-1])
		require.NoError(t, err)
		require.Contains(t, strings.ToLower(string(data)), "overloaded")

		s.Script(CutStream())
		resp, err := post(t, s, p, p.body)
		require.NoError(t, err)
		_, err = io.ReadAll(resp.Body)
		require.ErrorIs(t, err, syscall.ECONNRESET)
		require.NoError(t, resp.Body.Close())

		s.Script(Reset())
		_, err = post(t, s, p, p.body)
		require.ErrorIs(t, err, syscall.ECONNRESET)
	})
}

func TestSilenceLastsUntilTheAgentGoesAway(t *testing.T) {
	each(t, func(t *testing.T, p provider) {
		for _, answer := range []Answer{Hang(), StuckStream()} {
			s := NewServer(t, answer)
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+p.path, strings.NewReader(p.body))
			require.NoError(t, err)
			resp, err := http.DefaultClient.Do(req)
			if err == nil {
				_, err = io.ReadAll(resp.Body)
				require.NoError(t, resp.Body.Close())
			}
			require.ErrorIs(t, err, context.DeadlineExceeded)
		}
	})
}

func TestAThinkerAnswersAfterAWhile(t *testing.T) {
	each(t, func(t *testing.T, p provider) {
		s := NewServer(t, RateLimit(0).Thinking(50*time.Millisecond))
		asked := time.Now()
		resp, err := http.Post(s.URL+p.path, "application/json", strings.NewReader(p.body))
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, http.StatusTooManyRequests, resp.StatusCode)
		require.GreaterOrEqual(t, time.Since(asked), 50*time.Millisecond)
	})
}

// A test that ends while an agent waits must not wait with it.
func TestSilenceEndsWithTheTest(t *testing.T) {
	ended := make(chan error, 1)
	t.Run("inner", func(t *testing.T) {
		s := NewServer(t, Hang())
		go func() {
			resp, err := http.Post(s.URL+"/v1/messages", "application/json", strings.NewReader(providers["anthropic"].body))
			if err == nil {
				resp.Body.Close()
			}
			ended <- err
		}()
		require.Eventually(t, func() bool { return len(s.Requests()) == 1 }, time.Minute, time.Millisecond)
	})
	select {
	case <-ended:
	case <-time.After(5 * time.Second):
		t.Fatal("the request still hangs")
	}
}

func TestServerIsOnTheLoopbackOnly(t *testing.T) {
	u, err := url.Parse(NewServer(t).URL)
	require.NoError(t, err)
	require.True(t, net.ParseIP(u.Hostname()).IsLoopback())
}

func TestWhatAgentsAskBesides(t *testing.T) {
	s := NewServer(t, Unauthorized())
	for path, status := range map[string]int{
		"/v1/messages/count_tokens": 200, "/v1beta/models/m:countTokens": 200, "/v1/models": 200, "/elsewhere": 404,
	} {
		resp, err := http.Post(s.URL+path, "application/json", strings.NewReader("{}"))
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, status, resp.StatusCode, path)
	}
	require.Empty(t, s.Requests())
}
