package limit

import "testing"

func TestPagesOfProxies(t *testing.T) {
	judged{
		ServerError: {
			"<!DOCTYPE html>\n<html lang=\"en-US\">\n<head>\n<title>api.example.com | 521: Web server is down</title>\n<script>if (a) { b() }</script>\n</head>\n<body></body>\n</html>",
			"API Error: 524 <!DOCTYPE html>\n<html><head><title>api.example.com | 524: A timeout occurred</title>",
			"unexpected status 502 Bad Gateway: <html>\n<head><title>502 Bad Gateway</title></head>\n</html>\n, request id: 9bcf",
		},
		RateLimit: {"Provider error: <HTML><head><title>429 Too Many Requests</title></head></html>"},
		Auth:      {"API Error: 403 <!DOCTYPE html><html><head><title>Just a moment...</title>"},
		None: {
			"<html>\n<head><title>404 Not Found</title></head>\n</html>",
			"<!DOCTYPE html>\n<html><head><title>Pricing | 500 credits for free</title></head></html>",
			"<html><head><title>Rate limits of the API</title></head><body>Too many requests: 429</body></html>",
		},
	}.check(t)
}

func TestWhatProgramsSayAroundAnAnswer(t *testing.T) {
	judged{
		RateLimit: {
			`23:27:08 - agent:ERROR: controller.py:228 - Error while running: litellm.RateLimitError: AnthropicException - {"type":"error","error":{"type":"rate_limit_error","message":"Slow down"}}. Traceback:`,
			`{"error":{"message":"Provider returned error","metadata":{"raw":"{\"error\":{\"code\":429,\"message\":\"Quota exceeded for requests per minute\"}}"}}}`,
			"⏱️ Rate limited. Waiting 60.0s (attempt 2/3)...",
		},
		UsageLimit: {`{"error":{"code":"model_cooldown","message":"All credentials are cooling down","reset_time":"156h0m34s"}}`},
		Network:    {"Error: unable to verify the first certificate", "EAI_AGAIN", `{"code":"UND_ERR_SOCKET"}`},
		None: {
			`{"type":"rate_limit_event","rate_limit_info":{"status":"allowed","resetsAt":1784079000,"rateLimitType":"five_hour"}}`,
			"{\n  \"type\": \"rate_limit_event\",\n  \"rate_limit_info\": {\"status\": \"allowed_warning\",\n  \"rateLimitType\": \"seven_day\"}}",
			"| OpenRouter | `{\"error\":{\"message\":\"Insufficient credits\",\"code\":402}}` |",
		},
	}.check(t)
}
