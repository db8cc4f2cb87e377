package agenttest

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// gemini speaks Google's generateContent.
type gemini struct{}

func (gemini) read(r *http.Request, body []byte) ask {
	var in struct {
		Tools []struct {
			FunctionDeclarations []struct{ Name string }
		}
		Contents []struct {
			Role  string
			Parts json.RawMessage
		}
	}
	_ = json.Unmarshal(body, &in) // an unknown body is a side request
	name, method, _ := strings.Cut(r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:], ":")
	q := ask{model: name, stream: method == "streamGenerateContent"}
	for _, tool := range in.Tools {
		for _, function := range tool.FunctionDeclarations {
			q.tools = append(q.tools, function.Name)
		}
	}
	// Gemini CLI asks without a stream which model to use.
	q.side = len(q.tools) == 0
	for _, content := range in.Contents {
		if content.Role == "user" {
			q.prompts = append(q.prompts, Texts(content.Parts)...)
		}
	}
	return q
}

func (gemini) refuse(a Answer, _ time.Time) (int, http.Header, any) {
	const quota = "You exceeded your current quota, please check your plan and billing details."
	switch a.kind {
	case KindRateLimit:
		return googleError(http.StatusTooManyRequests, "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota).", retryInfo(a)...)
	case KindUsageLimit, KindWeekly:
		return googleError(http.StatusTooManyRequests, "RESOURCE_EXHAUSTED", quota, retryInfo(a)...)
	case KindOverloaded, KindDown:
		return googleError(http.StatusServiceUnavailable, "UNAVAILABLE", "The model is overloaded. Please try again later.")
	case KindAuth:
		return googleError(http.StatusUnauthorized, "UNAUTHENTICATED", "Request had invalid authentication credentials.")
	case KindTooLong:
		return googleError(http.StatusBadRequest, "INVALID_ARGUMENT",
			"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).")
	default:
		return googleError(http.StatusInternalServerError, "INTERNAL", "An internal error has occurred.")
	}
}

func retryInfo(a Answer) []any {
	if a.after == 0 {
		return nil
	}
	return []any{object{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": wholeSeconds(a.after) + "s"}}
}

func googleError(code int, status, message string, details ...any) (int, http.Header, any) {
	body := object{"code": code, "message": message, "status": status}
	if len(details) > 0 {
		body["details"] = details
	}
	return code, nil, object{"error": body}
}

func (d gemini) stream(q ask, a Answer) []string { return []string{event("", d.whole(q, a))} }

func (d gemini) begin(ask) []string {
	return []string{event("", d.candidate(object{"text": "A beginning without"}, ""))}
}

func (gemini) trouble() string {
	_, _, body := googleError(http.StatusServiceUnavailable, "UNAVAILABLE", "The model is overloaded. Please try again later.")
	return event("", body)
}

func (d gemini) whole(q ask, a Answer) any {
	if a.kind == KindTool {
		name, arguments := shell(q.tools, a.text)
		delete(arguments, "is_background") // only Qwen Code's tool has it
		return d.candidate(object{"functionCall": object{"name": name, "args": arguments}}, "STOP")
	}
	return d.candidate(object{"text": a.text}, "STOP")
}

func (gemini) candidate(part object, reason string) object {
	candidate := object{"index": 0, "content": object{"role": "model", "parts": []any{part}}}
	if reason != "" {
		candidate["finishReason"] = reason
	}
	return object{
		"candidates": []any{candidate}, "modelVersion": "fake", "responseId": id("r"),
		"usageMetadata": object{"promptTokenCount": 1000, "candidatesTokenCount": 20, "totalTokenCount": 1020},
	}
}
