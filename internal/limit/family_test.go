package limit

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// judged are messages by the class that they mean.
type judged map[Class][]string

func (all judged) check(t *testing.T) {
	t.Helper()
	for class, lines := range all {
		for _, line := range lines {
			t.Run(class.String()+"/"+line[:min(len(line), 60)], func(t *testing.T) {
				v := noon.Text(line)
				require.Equal(t, class, v.Class, line)
				require.Equal(t, class.Transient(), v.WaitHelps)
			})
		}
	}
}

func TestExceptionsByTheirDottedNames(t *testing.T) {
	judged{
		RateLimit: {
			`google.api_core.exceptions.ResourceExhausted: 429 Resource exhausted.`,
			`google.api_core.exceptions.TooManyRequests: 429 POST https://x.example.com/v1`,
			`google.genai.errors.ClientError: 429 RESOURCE_EXHAUSTED. {'error': {'code': 429, 'status': 'RESOURCE_EXHAUSTED'}}`,
			`openai.RateLimitError: Error code: 429 - {'error': {'message': 'Rate limit reached for gpt-4o', 'code': 'rate_limit_exceeded'}}`,
			`openai.RateLimitError`,
			`botocore.errorfactory.ThrottlingException: An error occurred (ThrottlingException) when calling the InvokeModel operation: Rate exceeded`,
			`botocore.exceptions.ClientError: An error occurred (ThrottlingException) when calling the InvokeModel operation: Rate exceeded`,
			`httpx.HTTPStatusError: Client error '429 Too Many Requests' for url 'https://api.example.com/v1/messages'`,
			`com.openai.errors.RateLimitException: 429: slow down`,
			"Traceback (most recent call last):\n  File \"cli.py\", line 3, in <module>\nopenai.RateLimitError: Error code: 429",
		},
		UsageLimit: {
			`openai.RateLimitError: You've hit your usage limit. Try again in 5 hours.`,
		},
		Overloaded: {
			`anthropic.APIStatusError: {'type': 'error', 'error': {'type': 'overloaded_error', 'message': 'Overloaded'}}`,
			`anthropic._exceptions.OverloadedError: Error code: 529 - {'type': 'error'}`,
			`google.api_core.exceptions.ServiceUnavailable: 503 The model is overloaded. Please try again later.`,
		},
		ServerError: {
			`openai.InternalServerError: Error code: 500`,
			`google.genai.errors.ServerError: 500 INTERNAL`,
		},
		Network: {
			`requests.exceptions.ConnectionError: HTTPSConnectionPool(host='api.example.com', port=443): Max retries exceeded`,
			`requests.exceptions.ReadTimeout: HTTPSConnectionPool(host='api.example.com', port=443): Read timed out. (read timeout=60)`,
			`urllib3.exceptions.MaxRetryError: HTTPSConnectionPool(host='api.example.com', port=443)`,
			`httpx.ConnectError: [Errno 111] Connection refused`,
			`httpx.ReadTimeout: The read operation timed out`,
			`httpx.RemoteProtocolError: peer closed connection without sending complete message body`,
			`httpx.ConnectTimeout`,
			`LLM error: requests.exceptions.ConnectionError: HTTPSConnectionPool(host='api.example.com', port=443): Max retries exceeded`,
			`aiohttp.client_exceptions.ClientConnectorError: Cannot connect to host api.example.com:443 ssl:default`,
			`botocore.exceptions.EndpointConnectionError: Could not connect to the endpoint URL: "https://bedrock.example.com"`,
			`openai.APITimeoutError: Request timed out.`,
			`API Error: httpx.ReadTimeout: The read operation timed out`,
		},
		Auth: {
			`openai.AuthenticationError: Error code: 401 - {'error': {'message': 'Incorrect API key provided'}}`,
			`anthropic.AuthenticationError: no key was accepted`,
		},
		Billing: {
			`openai.RateLimitError: Error code: 429 - {'error': {'message': 'You exceeded your current quota', 'code': 'insufficient_quota'}}`,
		},
		BadRequest: {
			`openai.BadRequestError: Error code: 400 - {'error': {'message': 'x'}}`,
		},
		None: {
			`requests.exceptions.ConnectionError: HTTPConnectionPool(host='localhost', port=8080): Max retries exceeded`,
			`httpx.ConnectError: http://127.0.0.1:3000 refused the connection`,
			`     requests.exceptions.ConnectionError: HTTPSConnectionPool(host='api.example.com', port=443)`,
			`  ⎿  httpx.ReadTimeout: The read operation timed out`,
			`E   httpx.ReadTimeout: The read operation timed out`,
			`FAILED tests/test_api.py::test_get - httpx.ReadTimeout: The read operation timed out`,
			`except requests.exceptions.ConnectionError:`,
			`raise httpx.ReadTimeout("The read operation timed out")`,
			`httpx.ReadTimeout is raised after 5 seconds`,
			`httpx.ReadTimeout: raised when the server is slow`,
			`httpx.ReadTimeout("timed out")`,
			`requests.exceptions.ConnectionError handling is in place now.`,
			`redis.exceptions.ConnectionError: Error 111 connecting to cache:6379. Connection refused.`,
			`psycopg2.OperationalError: connection to server failed: Connection refused`,
			`myapp.errors.RateLimitError: 429 Too Many Requests`,
			`google.protobuf.message.DecodeError: Error parsing message`,
			`requests.get: Connection refused`,
			`httpx.`,
			`httpx.: Connection refused`,
		},
	}.check(t)
}

func TestStatusesOfAProxyBeforeTheProvider(t *testing.T) {
	judged{
		ServerError: {
			`Error: 520 Web server returned an unknown error`,
			`API Error: 520 Web server is returning an unknown error`,
			`Error: 521 Web server is down`,
			`521 Web server is down`,
			`522 Connection timed out`,
			`HTTP 523 Origin is unreachable`,
			`524 A timeout occurred`,
			`Error: 525 SSL handshake failed`,
			`526 Invalid SSL certificate`,
			`Error code: 530`,
		},
		None: {
			`Web server is down`,
			`A timeout occurred`,
			`Invalid SSL certificate`,
			`524 A timeout occurred when I deployed it`,
			`521 Web server is down, can you fix it?`,
			`| 524 | A timeout occurred |`,
			`524: A timeout occurred`, // a line that grep found
			`520 tests passed`,
			`Error: 520 files could not be read`,
			`404 A timeout occurred`,
			`line 522: connection timed out`,
			`The proxy answers 524 A timeout occurred`,
		},
	}.check(t)
}

// A program that ends with nothing but a status was refused.
func TestAStatusAndItsNameAlone(t *testing.T) {
	judged{
		ServerError: {`503 Service Unavailable`, `504 Gateway Timeout`, `500 Internal Server Error`, `502 Bad Gateway`},
		Overloaded:  {`529 Overloaded`},
		RateLimit:   {`429 Too Many Requests`},
		Auth:        {`401 Unauthorized`},
		UsageLimit:  {`您已达到使用上限，请在 2 小时后重试。`},
	}.check(t)
}

func TestSentencesThatOnlyAProviderSays(t *testing.T) {
	judged{
		Billing: {
			`Your plan does not include access to Opus`,
			`Your plan doesn't include access to this model.`,
			`Your current plan doesn't include Opus. Upgrade to continue.`,
			`Your Pro subscription does not support the requested model.`,
		},
		Auth: {
			`Your authentication token has been invalidated. Please try signing in again.`,
			`Your API key has been revoked.`,
		},
		Network: {
			`request to https://api.example.com/v1/messages failed, reason: connect ETIMEDOUT 1.2.3.4:443`,
			`request to https://api.example.com/v1/messages failed, reason: socket hang up`,
			`FetchError: request to https://api.example.com/v1/messages failed, reason: getaddrinfo ENOTFOUND api.example.com`,
		},
		None: {
			`Your plan does not include tests for the parser`,
			`Your plan does not include access to the database, so I left it out.`,
			`Your plan doesn't cover the migration of old rows.`,
			`Your plan does include access to Opus`,
			`Your token parser has been rewritten.`,
			`Your test for the API key has been disabled.`,
			`Your session token was invalidated in the middleware.`,
			`The token has been invalidated when the user logs out`,
			`request to http://localhost:3000/health failed, reason: connect ECONNREFUSED 127.0.0.1:3000`,
			`The request to https://api.example.com/ failed, reason: unknown`,
			`npm error request to https://registry.example.com/x failed, reason: socket hang up`,
		},
	}.check(t)
}

func TestACapOfTheAccountLiftsWhenItSays(t *testing.T) {
	for _, line := range []string{
		`You've reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC.`,
		`API Error: 400 {"type":"error","error":{"type":"invalid_request_error","message":"You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC."}}`,
	} {
		v := noon.Text(line)
		require.Equal(t, UsageLimit, v.Class)
		require.True(t, v.WaitHelps)
		require.WithinDuration(t, instant(t, "2026-12-01T00:00:00Z"), v.Reset.At, 0)
	}
}

func TestAQuotaThatIsBackSoonIsAPace(t *testing.T) {
	const quota = "You exceeded your current quota, please check your plan and billing details"
	judged{
		RateLimit: {
			`[API Error: ` + quota + `… Please retry in 36.5s.]`,
			`[API Error: ` + quota + `. Please retry in 12.3s.]`,
			`API Error: 429 ` + quota + `. Please retry in 59m.`,
			`{"error":{"code":429,"message":"` + quota + `. Please retry in 36s."}}`,
			`[API Error: ` + quota + `. Please retry in PT30S.]`,
		},
		UsageLimit: {
			`[API Error: ` + quota + `]`,
			`[API Error: ` + quota + `. Please retry in 7h12m3s.]`,
			`[API Error: ` + quota + `. Please retry in 60m.]`,
			`[API Error: ` + quota + `. Limit: requests per day. Please retry in 36s.]`,
			`{"error":{"code":429,"message":"` + quota + `. Please retry in 36s.","details":[{"quotaId":"GenerateRequestsPerDayPerProject"}]}}`,
			`{"error":{"code":429,"details":[{"quotaId":"GenerateRequestsPerDayPerProject"}],"message":"` + quota + `. Please retry in 36s."}}`,
		},
		Billing: {
			`{"error":{"message":"` + quota + `. Please retry in 36s.","code":"insufficient_quota"}}`,
		},
	}.check(t)
}

func TestAReportBehindWhatFailed(t *testing.T) {
	judged{
		RateLimit: {
			`Error while running the agent: litellm.RateLimitError: GroqException - Error code: 429`,
			`Failed to answer: {"type":"error","error":{"type":"rate_limit_error","message":"x"}}`,
		},
		UsageLimit: {
			`Turn in the background failed: You've hit your usage limit. Try again at 6:05 PM.`,
			`Turn in the background failed: "You've hit your usage limit."`,
		},
		BadRequest: {
			`Error: Claude Code spawn failed with exit code 1: API Error: 400 {"type":"error","error":{"type":"invalid_request_error","message":"x"}}`,
		},
		None: {
			`Deploy of the shop failed: You've hit your usage limit. Try again at 6:05 PM.`,
			`Error while running the agent: connection refused`,
			`Error while running the agent: 503 Service Unavailable`,
			`It failed: litellm.RateLimitError: GroqException - Error code: 429`,
			`Error while testing the agent: litellm.RateLimitError: GroqException`,
			`Error while running the agent: litellm.RateLimitError: GroqException - what does it mean?`,
		},
	}.check(t)
}

func TestWhatAnErrorSaysInQuotationMarks(t *testing.T) {
	judged{
		Overloaded: {`Error: "The server is overloaded, try again"`},
		Billing:    {`429 "Your team 16f2151a-40f4-4a80-8ad0-cae00c27e8dd has either used all available credits or reached its monthly spending limit."`},
		None: {
			`Error: "The server is overloaded" was expected`,
			`want: "The server is overloaded"`,
			`FAIL: "The server is overloaded, try again"`,
		},
	}.check(t)
}

func TestRecordsOnSeveralLines(t *testing.T) {
	const refusal = `{"error":{"code":"context_length_exceeded","message":"Your input exceeds the context window of this model."}}`
	require.Equal(t, ContextOverflow, noon.Text("exec\necho one succeeded in 50ms:\n"+
		`ERROR responses: error=http 400 Bad Request: Some("{\"error\":{}}")`+"\nERROR: "+refusal+"\ntokens used\n1,020\n").Class)
	require.Equal(t, None, noon.Text("exec\ncat fixture.json\n  body: '"+refusal+"',\ntokens used\n1,020\n").Class)
}

func TestWhatStandsFarIn(t *testing.T) {
	judged{
		UsageLimit: {"                                   Usage limit reached · resets 3pm"},
		None: {
			"            status: 429,",
			"                error: 'Something went wrong',",
			"                errorMessage: 'Permission denied',",
			"        TimeoutError: If the future did not end in time",
			"        capacity exceeded. To prevent this, flush it.",
			"\t\tcode: 503,",
		},
	}.check(t)
}

func TestOtherLanguages(t *testing.T) {
	judged{
		RateLimit: {
			`Превышен лимит запросов. Попробуйте через 5 минут`,
			`Слишком много запросов`,
			`Fehler: Zu viele Anfragen`,
			`Demasiadas solicitudes. Intenta de nuevo en un minuto.`,
			`錯誤：請求過於頻繁`,
			`{"error":{"message":"当前模型已达到平台速率限制"}}`,
		},
		UsageLimit: {
			`Вы достигли лимита использования. Повторите попытку через 2 часа.`,
			`Nutzungslimit erreicht. Wird um 15:00 Uhr zurückgesetzt.`,
			`Vous avez atteint votre limite d'utilisation. Réinitialisation à 15h30.`,
			`Has alcanzado tu límite de uso. Vuelve a intentarlo en 3 horas.`,
			`Você atingiu seu limite de uso. Tente novamente às 15:30.`,
			`已达到 5 小时的使用上限。您的限额将在 2026-11-15 15:41:44 重置。`,
			`今日额度已用完，请明天再试。`,
			`使用量の上限に達しました。15:00にリセットされます。`,
			`사용량 한도에 도달했습니다. 2시간 후에 다시 시도하세요.`,
		},
		Overloaded: {
			`Der Server ist überlastet.`,
			`サーバーが混雑しています`,
		},
		Billing: {
			`账户余额不足`,
			`Недостаточно средств`,
		},
		None: {
			`Zu viele Anfragen führen zu einem Fehler.`,
			`如果请求过于频繁，服务器会返回 429。`,
			`请求过于频繁会返回 429`,
			`额度用完了怎么办？`,
			`上限に達した場合は 429 を返します`,
			`한도에 도달하면 429를 반환합니다`,
			`| 429 | Zu viele Anfragen |`,
			`    // 请求过于频繁时返回 429`,
		},
	}.check(t)
}

func TestStampsAndTags(t *testing.T) {
	judged{
		UsageLimit: {
			`2026-11-15 11:59:58 ERROR API Error: You've hit your usage limit. Try again at 3pm.`,
			`[12:00:01] You've hit your usage limit`,
			`[12:00:01] [agent-1] You've hit your usage limit`,
		},
		RateLimit: {
			`[my-proxy] Request error: Upstream error: 429 Too Many Requests {"error":{"message":"x","type":"rate_limit_error"}}`,
			`**ERROR**: 429 Too Many Requests`,
			`POST "https://api.example.com/v1/messages": 429 Too Many Requests {"error":{"message":"x"}}`,
			`status_code=429, TPM limit of the model x-flash is exceeded.`,
		},
		None: {
			`2026-11-15 11:59:58 ERROR nginx: 429 Too Many Requests`,
			`[TODO] You've hit your usage limit`,
			`**Usage limit reached**`,
			`**Rate limit exceeded.** Add a retry.`,
			`429: Too many requests`,
			`429:You've hit your usage limit`,
			`status = 503;`,
		},
	}.check(t)
}

func TestWhatBeginsAsCodeDoes(t *testing.T) {
	judged{
		None: {
			`    DEADLINE_EXCEEDED: The deadline expired before the operation could`,
			`    TooManyRequests: 429,`,
			`    retrying.`,
			`FAILED_RETRYING_INTERNAL = 3`,
			`  'Context exceeds limit! Use /compress or /clear to reduce.':`,
			`  "error": "rate_limit | billing_error | unknown",`,
			`Overloaded, Busy, Idle`,
			`When the limit is reached it will set the header`,
			`This error indicates that you have exceeded your request limit.`,
		},
		RateLimit: {`    Error: Request failed with status code 429`},
	}.check(t)
}

func TestTheNameOfAStatusYieldsToWhatIsSaidBehindIt(t *testing.T) {
	judged{
		UsageLimit: {`HTTP 429 Too Many Requests: your usage limit has been reached`},
		Overloaded: {`RESOURCE_EXHAUSTED: The service is temporarily out of capacity. Try again later.`},
		RateLimit:  {`Failed to connect to OpenAI API: Rate limit reached for gpt-4.1. Please try again in 11.75s.`},
		Network:    {`API Error: Unable to connect to API: certificate has expired`},
	}.check(t)
}

func TestNoResetIsReadThatNobodyStates(t *testing.T) {
	for _, tail := range []string{
		"It was reset 3 hours ago.", "Last reset: 10:00.", "The window was last reset at 10:00.", "Limits reset every 5 hours.",
		"The free tier will be discontinued on 2026-12-01.", "Resets on the 1st of next month.", "请稍后再试。当前限制: 每分钟10次，每天200次",
		"Your plan is valid until 2026-12-01.", "This offer is available until Dec 31.", "Rate limited until further notice.",
		"Letzte Zurücksetzung: 10:00 Uhr.", "Последний сброс: 10:00.", "上次重置时间：10:00。", "5分钟前也发生过。", "Window started at 11:00.",
		"Upgrade before Dec 1 to save 20%.", "Used 5h of 5h.", "Retry attempt 3/5.", "Limit: 100 per 15 minutes.",
		"Date: Mon, 16 Nov 2026 11:11:55 GMT", "Try again in a few minutes.", "Try again in -5 seconds.",
	} {
		v := noon.Text("You've hit your usage limit. " + tail)
		require.Equal(t, UsageLimit, v.Class, tail)
		require.False(t, v.Reset.Stated(), "%q was read as %v", tail, v.Reset.At)
	}
}

func TestWaysOfSayingWhenItLifts(t *testing.T) {
	for tail, after := range map[string]time.Duration{
		"Give it 40 seconds.": 40 * time.Second, "Hold on 1 minute.": time.Minute, "Please back off 1.5s.": 1500 * time.Millisecond,
		"A place should free up in 22s.": 22 * time.Second, "Next slot in 2m.": 2 * time.Minute, "Ease up for 90 seconds.": 90 * time.Second,
		"Available once more Monday 09:00.": 21 * time.Hour, "The counter goes back to zero at midnight.": 12 * time.Hour, "It is ready again at 14:00.": 2 * time.Hour,
		"It will be refreshed at 18:00.": 6 * time.Hour,
	} {
		v := noon.Text("You've hit your usage limit. " + tail)
		require.WithinDuration(t, noon.At.Add(after), v.Reset.At, 0, tail)
	}
}

func TestAWaitAsRustPrintsIt(t *testing.T) {
	v := noon.Text(`error: RateLimited { retry_after: Some(12s) }`)
	require.Equal(t, RateLimit, v.Class)
	require.WithinDuration(t, noon.At.Add(12*time.Second), v.Reset.At, 0)
}

func TestWhatAPlanOrItsAdministratorForbids(t *testing.T) {
	judged{
		Billing: {
			`Your seat type doesn't include usage credits`,
			`Your seat type doesn't include usage`,
			`Your usage allocation has been disabled by your admin · run /usage-credits to ask your admin for a higher limit`,
			`Your group's usage limit is set to $0 · ask your admin for a higher limit`,
			`This service is disabled for your org`,
			`Your org is out of usage · add funds to continue`,
			`Fable 5 requires usage credits. Run /usage-credits to turn them on`,
			`API Error: Usage credits required for 1M context · turn on usage credits at claude.ai/settings/usage`,
			`You've hit your team's shared budget · ask your admin to raise it`,
			`API Error: 403 There is an issue with your billing or payment information.`,
			`API Error: 403 Key limit exceeded (daily limit). Manage it using https://openrouter.ai/settings/keys`,
			`API Error: 403 Your newly created team doesn't have any credits yet. You can purchase credits on https://console.x.ai.`,
			`[API Error: You do not have enough G1 credits.]`,
		},
		BadRequest: {
			`API Error: 403 Input was flagged by moderation`,
		},
		None: {
			`You've exceeded the memory budget of this function.`,
			`Your test account doesn't have enough balance for the transfer.`,
			`The service is disabled for your team in staging.yaml.`,
			`Your group's usage limit is shown on the dashboard.`,
			`Opus requires usage of the new encoder.`,
			`Your 5-hour limit resets 3pm`,
			`Key limit exceeded in the map test`,
			`You don't have any credits in the README yet`,
		},
	}.check(t)
}

// Used-up extra usage does not matter if the plan's own allowance is refilled.
func TestAPlanThatComesBackBesideASpendLimit(t *testing.T) {
	for _, line := range []string{
		`You've hit your org's monthly spend limit · ask your admin to raise it at https://claude.ai/admin-settings/usage · your 5-hour limit resets 2:18pm (UTC)`,
		`You've hit your team's shared budget · ask your admin to raise it · your weekly limit resets 2:18pm (UTC)`,
		`You're out of usage credits · resets 2:18pm (UTC)`,
		`You're out of usage credits · resets 2:18pm (UTC) · progress saved`,
	} {
		v := noon.Text(line)
		require.Equal(t, UsageLimit, v.Class, line)
		require.True(t, v.WaitHelps)
		require.Equal(t, noon.At.Add(2*time.Hour+18*time.Minute), v.Reset.At)
	}
	judged{Billing: {`You've hit your org's monthly spend limit · resets Dec 1`}}.check(t)
}
