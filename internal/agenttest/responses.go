package agenttest

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// responses speaks OpenAI's Responses API, with what Codex's own backend adds.
type responses struct{}

// id returns an identifier like those of providers.
func id(prefix string) string { return prefix + "_" + strings.ToLower(rand.Text()[:16]) }

func (responses) read(_ *http.Request, body []byte) ask {
	var in struct {
		Model  string
		Stream bool
		Tools  []struct{ Name, Type string }
		Input  []struct {
			Type, Role string
			Content    json.RawMessage
		}
	}
	_ = json.Unmarshal(body, &in) // an unknown body is a side request
	q := ask{model: in.Model, stream: in.Stream, side: len(in.Tools) == 0}
	for _, tool := range in.Tools {
		if tool.Name == "" {
			tool.Name = tool.Type
		}
		q.tools = append(q.tools, tool.Name)
	}
	for _, item := range in.Input {
		if item.Role == "user" {
			q.prompts = append(q.prompts, Texts(item.Content)...)
		}
	}
	return q
}

func (responses) refuse(a Answer, now time.Time) (int, http.Header, any) {
	switch a.kind {
	case KindUsageLimit, KindWeekly:
		return http.StatusTooManyRequests, codexWindows(a, now), object{"error": object{
			"type": "usage_limit_reached", "message": "The usage limit has been reached", "plan_type": "plus",
			"resets_at": a.resetAt(now).Unix(), "resets_in_seconds": int(a.after.Seconds()),
		}}
	case KindOverloaded:
		return http.StatusServiceUnavailable, nil, openAIError("Our servers are currently overloaded. Please try again later.",
			"service_unavailable_error", "server_is_overloaded")
	default:
		return openAIRefusal(a)
	}
}

// codexWindows returns the headers of a plan with one used up window.
func codexWindows(a Answer, now time.Time) http.Header {
	first, second := "100.0", "61.0"
	firstReset, secondReset := a.resetAt(now), now.Add(72*time.Hour)
	if a.kind == KindWeekly {
		first, second = "42.0", "100.0"
		firstReset, secondReset = now.Add(time.Hour), a.resetAt(now)
	}
	return headers(
		"x-codex-primary-used-percent", first,
		"x-codex-primary-window-minutes", "300",
		"x-codex-primary-reset-at", epoch(firstReset),
		"x-codex-secondary-used-percent", second,
		"x-codex-secondary-window-minutes", "10080",
		"x-codex-secondary-reset-at", epoch(secondReset),
	)
}

// openAIRefusal returns the refusals that both OpenAI dialects share.
func openAIRefusal(a Answer) (int, http.Header, any) {
	switch a.kind {
	case KindRateLimit:
		return http.StatusTooManyRequests, headers("Retry-After", wholeSeconds(a.after)),
			openAIError("Rate limit reached for requests", "requests", "rate_limit_exceeded")
	case KindAuth:
		return http.StatusUnauthorized, nil, openAIError("Incorrect API key provided: dummy.", "invalid_request_error", "invalid_api_key")
	case KindTooLong:
		return http.StatusBadRequest, nil, openAIError("Your input exceeds the context window of this model. Please adjust your input and try again.",
			"invalid_request_error", "context_length_exceeded")
	case KindDown:
		return http.StatusServiceUnavailable, nil, openAIError("Service unavailable", "server_error", nil)
	default:
		return http.StatusInternalServerError, nil,
			openAIError("The server had an error while processing your request. Sorry about that!", "server_error", nil)
	}
}

func openAIError(message, kind string, code any) object {
	return object{"error": object{"message": message, "type": kind, "param": nil, "code": code}}
}

func (d responses) stream(q ask, a Answer) []string {
	response := id("resp")
	events := []string{d.created(response)}
	if a.kind == KindTool {
		name, arguments := shell(q.tools, a.text)
		events = append(events, d.event("response.output_item.done", object{"output_index": 0, "item": object{
			"type": "function_call", "id": id("fc"), "call_id": id("call"), "status": "completed",
			"name": name, "arguments": encode(arguments),
		}}))
	} else {
		message := id("msg")
		events = append(events, d.opening(message, a.text)...)
		events = append(events, d.event("response.output_item.done", object{"output_index": 0, "item": outputText(message, a.text)}))
	}
	return append(events, d.event("response.completed", object{"response": object{
		"id": response, "object": "response", "status": "completed", "output": []any{}, "usage": responseUsage(),
	}}))
}

func (responses) event(kind string, body object) string {
	body["type"] = kind
	return event(kind, body)
}

func (d responses) created(response string) string {
	return d.event("response.created", object{"response": object{"id": response, "object": "response", "status": "in_progress"}})
}

func (d responses) opening(message, text string) []string {
	return []string{
		d.event("response.output_item.added", object{"output_index": 0, "item": object{
			"type": "message", "role": "assistant", "id": message, "content": []any{}, "status": "in_progress",
		}}),
		d.event("response.output_text.delta", object{
			"output_index": 0, "content_index": 0, "item_id": message, "delta": text,
		}),
	}
}

func outputText(message, text string) object {
	return object{
		"type": "message", "role": "assistant", "id": message, "status": "completed",
		"content": []any{object{"type": "output_text", "text": text, "annotations": []any{}}},
	}
}

func responseUsage() object {
	return object{
		"input_tokens": 1000, "input_tokens_details": object{"cached_tokens": 0},
		"output_tokens": 20, "output_tokens_details": object{"reasoning_tokens": 0}, "total_tokens": 1020,
	}
}

func (d responses) begin(ask) []string {
	return append([]string{d.created(id("resp"))}, d.opening(id("msg"), "A beginning without")...)
}

func (d responses) trouble() string {
	return d.event("response.failed", object{"response": object{
		"id": id("resp"), "object": "response", "status": "failed", "usage": nil,
		"error": object{"code": "server_is_overloaded", "message": "Our servers are currently overloaded. Please try again later."},
	}})
}

func (responses) whole(q ask, a Answer) any {
	item := outputText(id("msg"), a.text)
	if a.kind == KindTool {
		name, arguments := shell(q.tools, a.text)
		item = object{
			"type": "function_call", "id": id("fc"), "call_id": id("call"), "status": "completed",
			"name": name, "arguments": encode(arguments),
		}
	}
	return object{
		"id": id("resp"), "object": "response", "status": "completed", "model": q.model,
		"output": []any{item}, "usage": responseUsage(),
	}
}
