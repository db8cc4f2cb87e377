package agenttest

import (
	"encoding/json"
	"net/http"
	"time"
)

// chat speaks OpenAI's chat completions, which most other providers use too.
type chat struct{}

func (chat) read(_ *http.Request, body []byte) ask {
	var in struct {
		Model  string
		Stream bool
		Tools  []struct {
			Function struct{ Name string }
		}
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
	}
	_ = json.Unmarshal(body, &in) // an unknown body is a side request
	q := ask{model: in.Model, stream: in.Stream, side: len(in.Tools) == 0}
	for _, tool := range in.Tools {
		q.tools = append(q.tools, tool.Function.Name)
	}
	for _, m := range in.Messages {
		if m.Role == "user" {
			q.prompts = append(q.prompts, Texts(m.Content)...)
		}
	}
	return q
}

func (chat) refuse(a Answer, now time.Time) (int, http.Header, any) {
	switch a.kind {
	case KindUsageLimit, KindWeekly:
		return http.StatusTooManyRequests, nil, object{"error": object{
			"type": "usage_limit_reached", "message": "Your usage quota has been exhausted. It will reset at " + a.resetAt(now).UTC().Format(time.RFC3339) + ".",
			"plan_type": "plus", "resets_at": a.resetAt(now).Unix(), "resets_in_seconds": int(a.after.Seconds()),
		}}
	case KindAllowance:
		return http.StatusForbidden, nil, openAIError("You have reached your usage limit for this billing cycle. Your quota will be refreshed in the next cycle.", "access_terminated_error", "access_terminated_error")
	case KindOverloaded:
		return 529, nil, openAIError("The engine is currently overloaded, please try again later", "service_unavailable", "overloaded")
	default:
		return openAIRefusal(a)
	}
}

func (d chat) stream(q ask, a Answer) []string {
	delta, reason := object{"role": "assistant", "content": a.text}, "stop"
	if a.kind == KindTool {
		call := toolCall(q, a)
		call["index"] = 0
		delta, reason = object{"role": "assistant", "content": nil, "tool_calls": []any{call}}, "tool_calls"
	}
	return []string{
		event("", d.chunk(q, delta, nil)),
		event("", d.chunk(q, object{}, reason)),
		"data: [DONE]\n\n",
	}
}

func toolCall(q ask, a Answer) object {
	name, arguments := shell(q.tools, a.text)
	return object{"id": id("call"), "type": "function", "function": object{"name": name, "arguments": encode(arguments)}}
}

func (chat) chunk(q ask, delta object, reason any) object {
	chunk := object{
		"id": "chatcmpl-fake", "object": "chat.completion.chunk", "created": time.Now().Unix(), "model": q.model,
		"choices": []any{object{"index": 0, "delta": delta, "finish_reason": reason}},
	}
	if reason != nil {
		chunk["usage"] = chatUsage()
	}
	return chunk
}

func chatUsage() object {
	return object{"prompt_tokens": 1000, "completion_tokens": 20, "total_tokens": 1020}
}

func (d chat) begin(q ask) []string {
	return []string{event("", d.chunk(q, object{"role": "assistant", "content": "A beginning without"}, nil))}
}

func (chat) trouble() string {
	return event("", openAIError("The server is overloaded, try again", "server_error", "overloaded"))
}

func (chat) whole(q ask, a Answer) any {
	message, reason := object{"role": "assistant", "content": a.text}, "stop"
	if a.kind == KindTool {
		message, reason = object{"role": "assistant", "content": nil, "tool_calls": []any{toolCall(q, a)}}, "tool_calls"
	}
	return object{
		"id": "chatcmpl-fake", "object": "chat.completion", "created": time.Now().Unix(), "model": q.model,
		"choices": []any{object{"index": 0, "message": message, "finish_reason": reason}}, "usage": chatUsage(),
	}
}
