package agenttest

import (
	"encoding/json"
	"net/http"
	"time"
)

// anthropic speaks Anthropic's Messages API.
type anthropic struct{}

func (anthropic) read(_ *http.Request, body []byte) ask {
	var in struct {
		Model    string
		Stream   bool
		Tools    []struct{ Name string }
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
	}
	_ = json.Unmarshal(body, &in) // an unknown body is a side request
	q := ask{model: in.Model, stream: in.Stream, side: len(in.Tools) == 0}
	for _, tool := range in.Tools {
		q.tools = append(q.tools, tool.Name)
	}
	for _, m := range in.Messages {
		if m.Role == "user" {
			q.prompts = append(q.prompts, Texts(m.Content)...)
		}
	}
	return q
}

func (anthropic) refuse(a Answer, now time.Time) (int, http.Header, any) {
	body := func(kind, message string) object {
		return object{"type": "error", "request_id": "req_fake", "error": object{"type": kind, "message": message}}
	}
	switch a.kind {
	case KindRateLimit:
		return http.StatusTooManyRequests, headers("Retry-After", wholeSeconds(a.after)),
			body("rate_limit_error", "This request would exceed your organization's rate limit of 50,000 input tokens per minute.")
	case KindUsageLimit:
		return http.StatusTooManyRequests, unified(a, now, "five_hour", "5h"),
			body("rate_limit_error", "This request would exceed your account's rate limit. Please try again later.")
	case KindWeekly:
		return http.StatusTooManyRequests, unified(a, now, "seven_day", "7d"),
			body("rate_limit_error", "This request would exceed your account's rate limit. Please try again later.")
	case KindOverloaded:
		return 529, nil, body("overloaded_error", "Overloaded")
	case KindAuth:
		return http.StatusUnauthorized, nil, body("authentication_error", "invalid x-api-key")
	case KindTooLong:
		return http.StatusBadRequest, nil, body("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum")
	case KindDown:
		return http.StatusServiceUnavailable, nil, body("api_error", "Service unavailable")
	default:
		return http.StatusInternalServerError, nil, body("api_error", "Internal server error")
	}
}

// unified returns the headers of a subscription with a used up allowance.
func unified(a Answer, now time.Time, claim, window string) http.Header {
	const prefix = "anthropic-ratelimit-unified-"
	reset := epoch(a.resetAt(now))
	return headers(
		"Retry-After", wholeSeconds(a.after),
		prefix+"status", "rejected",
		prefix+"reset", reset,
		prefix+"representative-claim", claim,
		prefix+"fallback", "available",
		prefix+"overage-status", "rejected",
		prefix+"overage-disabled-reason", "org_level_disabled",
		prefix+window+"-status", "rejected",
		prefix+window+"-reset", reset,
		prefix+window+"-utilization", "1.0",
	)
}

func (d anthropic) stream(q ask, a Answer) []string {
	if a.kind != KindTool {
		return append(d.text(q, a.text), d.end("end_turn")...)
	}
	name, input := a.call(q.tools)
	events := append(d.text(q, "I will run a command."),
		event("content_block_start", object{"type": "content_block_start", "index": 1, "content_block": object{
			"type": "tool_use", "id": id("toolu"), "name": name, "input": object{},
		}}),
		event("content_block_delta", object{"type": "content_block_delta", "index": 1, "delta": object{
			"type": "input_json_delta", "partial_json": encode(input),
		}}),
		event("content_block_stop", object{"type": "content_block_stop", "index": 1}),
	)
	return append(events, d.end("tool_use")...)
}

// text returns the start of a message and one complete block of text.
func (d anthropic) text(q ask, text string) []string {
	return append(d.open(q, text), event("content_block_stop", object{"type": "content_block_stop", "index": 0}))
}

func (anthropic) open(q ask, text string) []string {
	return []string{
		event("message_start", object{"type": "message_start", "message": object{
			"id": id("msg"), "type": "message", "role": "assistant", "model": q.model, "content": []any{},
			"stop_reason": nil, "stop_sequence": nil, "usage": object{"input_tokens": 1000, "output_tokens": 1},
		}}),
		event("content_block_start", object{
			"type": "content_block_start", "index": 0, "content_block": object{"type": "text", "text": ""},
		}),
		event("content_block_delta", object{
			"type": "content_block_delta", "index": 0, "delta": object{"type": "text_delta", "text": text},
		}),
	}
}

func (anthropic) end(reason string) []string {
	return []string{
		event("message_delta", object{
			"type": "message_delta", "delta": object{"stop_reason": reason, "stop_sequence": nil},
			"usage": object{"output_tokens": 20},
		}),
		event("message_stop", object{"type": "message_stop"}),
	}
}

func (d anthropic) begin(q ask) []string { return d.open(q, "A beginning without") }

func (anthropic) trouble() string {
	return event("error", object{"type": "error", "error": object{"type": "overloaded_error", "message": "Overloaded"}})
}

func (anthropic) whole(q ask, a Answer) any {
	content, reason := []any{object{"type": "text", "text": a.text}}, "end_turn"
	if a.kind == KindTool {
		name, input := a.call(q.tools)
		content, reason = []any{object{"type": "tool_use", "id": id("toolu"), "name": name, "input": input}}, "tool_use"
	}
	return object{
		"id": id("msg"), "type": "message", "role": "assistant", "model": q.model, "content": content,
		"stop_reason": reason, "stop_sequence": nil, "usage": object{"input_tokens": 1000, "output_tokens": 20},
	}
}
