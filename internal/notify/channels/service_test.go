package channels

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agents"
	"resumed/internal/config"
	"resumed/internal/notify"
	"resumed/internal/notify/notifytest"
)

func channel(t *testing.T, url string) *notify.Channel {
	t.Helper()
	s, err := newService(serviceOptions{Common: notify.Common{Name: "phone"}, URL: url})
	require.NoError(t, err)
	return s
}

func TestServiceIsAChannel(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer server.Close()
	defer close(release)
	notifytest.Conform(t, func(c notify.Common) (*notify.Channel, error) {
		return newService(serviceOptions{Common: c, URL: "ntfy://" + strings.TrimPrefix(server.URL, "http://") + "/topic?scheme=http"})
	})
}

func TestAServiceThatHangsEndsWithTheTimeoutAsCause(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer server.Close()
	defer close(release)
	s, err := newService(serviceOptions{Common: notify.Common{Name: "phone", Timeout: 50 * time.Millisecond}, URL: "ntfy://" + strings.TrimPrefix(server.URL, "http://") + "/topic?scheme=http"})
	require.NoError(t, err)
	err = s.Send(t.Context(), notifytest.Notice(notify.GaveUp, 1)).Err
	require.ErrorContains(t, err, "ntfy: no answer within 50ms")
	permanent := notify.IsFinal(err)
	require.False(t, permanent)
}

func TestSecretsOfAServiceNeverShow(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = io.WriteString(w, `{"code":1,"error":"asked for `+r.URL.Path+" "+r.Header.Get("X-Gotify-Key")+`"}`)
	}))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	secrets := []string{"us3rname", "passw0rd", "t0picname", "AT0kenT0kenT0k", "s3nder", "rec3iver"}
	for _, u := range []string{
		"ntfy://us3rname:passw0rd@" + host + "/t0picname?scheme=http",
		"gotify://" + host + "/AT0kenT0kenT0k?disabletls=yes",
		"ntfy://us3rname:passw0rd@127.0.0.1:1/t0picname?scheme=http",
		"gotify://127.0.0.1:1/AT0kenT0kenT0k?disabletls=yes",
		"smtp://us3rname:passw0rd@127.0.0.1:1/?from=s3nder@example.com&to=rec3iver@example.com",
	} {
		s := channel(t, u)
		err := s.Send(t.Context(), notifytest.Notice(notify.GaveUp, 1)).Err
		require.Error(t, err)
		for _, secret := range secrets {
			require.NotContains(t, err.Error(), secret, u)
			require.NotContains(t, s.To, secret)
		}
	}
	for _, bad := range []string{
		"", "passw0rd", "nosuch://passw0rd@host/p4thtoken", "discord://passw0rd", "ntfy://us3rname:passw0rd@host", "slack://passw0rd", "telegram://passw0rd@telegram",
		"discord://passw0rd@1?color=p4thtoken", "gotify://passw0rd", "pushover://passw0rd@p4thtoken", "smtp://me:passw0rd@host/?from=p4thtoken", "ntfy://h/p4thtoken?cache=passw0rd", "ntfy://h/p4thtoken?%zz=passw0rd",
	} {
		_, err := newService(serviceOptions{Common: notify.Common{Name: "x"}, URL: bad})
		require.Error(t, err, bad)
		require.NotContains(t, err.Error(), "passw0rd", bad)
		require.NotContains(t, err.Error(), "p4thtoken", bad)
	}
}

// The examples of the document work when they are copied, with what their comments say in the files.
func TestExamplesOfTheDocumentAreValid(t *testing.T) {
	text, err := os.ReadFile("../../../docs/notify.md")
	require.NoError(t, err)
	examples := regexp.MustCompile("(?s)```toml\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	require.NotEmpty(t, examples)
	urls := map[string]string{"phone.url": "ntfy://ntfy.sh/topic"}
	for _, found := range regexp.MustCompile(`url_file = "(\S+)" +# (\S+://\S+)`).FindAllStringSubmatch(string(text), -1) {
		urls[found[1]] = found[2]
	}
	require.Contains(t, urls, "slack.url")
	for _, example := range examples {
		dir := t.TempDir()
		for name, u := range urls {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(u+"\n"), 0o600))
		}
		path := filepath.Join(dir, "resumed.toml")
		require.NoError(t, os.WriteFile(path, []byte(example[1]), 0o600))
		cfg, err := config.Load(path, agents.Known())
		require.NoError(t, err, example[1])
		_, err = Build(path, cfg, nil, nil)
		require.NoError(t, err, example[1])
	}
}

// Wrong URLs are all reported, with their lines, and a webhook of a service is named as one.
func TestAllWrongURLsAreReportedTogether(t *testing.T) {
	path := filepath.Join(t.TempDir(), "resumed.toml")
	require.NoError(t, os.WriteFile(path, []byte(`[[notify.service]]
name = "a"
url = "nfty://ntfy.sh/secret-topic"
[[notify.service]]
name = "b"
url = "secret-topic"
[[notify.service]]
name = "c"
url_file = "none.url"
[[notify.webhook]]
name = "d"
url = "ftp://secret-topic"
[[notify.webhook]]
name = "e"
url = "https://hooks.slack.com/services/secret-topic"
`), 0o600))
	cfg, err := config.Load(path, agents.Known())
	require.NoError(t, err)
	_, err = Build(path, cfg, nil, nil)
	require.Error(t, err)
	said := strings.Split(strings.ReplaceAll(err.Error(), filepath.Dir(path)+"/", ""), "\n")
	require.Len(t, said, 5)
	for i, want := range []string{
		`resumed.toml:3: notify.service[0].url: there is no service "nfty"`,
		`resumed.toml:6: notify.service[1].url: must be a service URL, such as ntfy://ntfy.sh/topic`,
		`resumed.toml:9: notify.service[2].url_file: there is no file none.url`,
		`resumed.toml:12: notify.webhook[0].url: must be an http or https URL`,
		`resumed.toml:15: notify.webhook[1].url: is a webhook of slack, which takes no JSON of resumed: write [[notify.service]] with the same URL`,
	} {
		require.Contains(t, said[i], want)
		require.NotContains(t, said[i], "secret-topic")
	}
}

// All URL forms in users' configurations are parsed, without a network.
func TestURLsOfServicesAreReadWithoutANetwork(t *testing.T) {
	for _, u := range []string{
		"ntfy://ntfy.sh/topic",
		"ntfy://:tk_token@ntfy.example.com:8443/topic?Priority=Urgent&tags=warning,skull&cache=no&firebase=no&delay=5m&click=https://x.example/&attach=https://x.example/a.png&filename=a.png&email=a@example.com&icon=https://x.example/i.png&actions=view, Open, https://x.example/;view, B, https://y.example/",
		"ntfy://h/topic?scheme=http", "ntfy://h/topic?disableTLSVerification=yes",
		"slack://hook:AAAAAAAAA-BBBBBBBBB-cccccccccccccccccccccccc@webhook?botname=r&icon=:zap:&color=good&thread_ts=1.2",
		"slack://xoxb:123456789012-1234567890123-abcdefghijklmnopqrstuvwx@C001CHANNEL",
		"discord://token@123456789", "discord://token@123456789/raw", "discord://token@123456789/?splitLines=no&thread_id=9&username=u&avatar=https://x.example/a.png&color=0x00ff00",
		"telegram://123456789:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa@telegram?chats=@channel",
		"telegram://123456789:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa@telegram/?chats=-1001:7,42&parseMode=markdownv2&preview=no&notification=no",
		"https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX", " https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX/?botname=r\n",
		"https://discord.com/api/webhooks/123456789012345678/abc-DEF_ghi", "https://discordapp.com/api/webhooks/1/abc?thread_id=9", "https://canary.discord.com/api/webhooks/1/abc",
		"gotify://gotify.example.com/Aabcdefghijklmn", `gotify://gotify.example.com:8080/sub/path/Aabcdefghijklmn/?priority=5&disabletls=yes&insecureskipverify=no&date=2026-01-01T00:00:00Z&extras={"a":{"b":1}}`,
		"pushover://resumed:apiToken@userKey", "pushover://:apiToken@userKey/?devices=a,b&priority=-1",
		"smtp://user:pass@mail.example.com:587/?from=a@example.com&to=b@example.com",
		"smtp://mail.example.com/?from=a@example.com&fromname=Resumed&to=b+c@example.com,d@example.com&auth=None&encryption=ImplicitTLS&starttls=no&usehtml=yes&clienthost=auto&requirestarttls=no&skiptlsverify=yes",
	} {
		_, err := newService(serviceOptions{Common: notify.Common{Name: "x"}, URL: u})
		require.NoError(t, err, u)
	}
}

func TestWhatIsWrongWithAURLIsTold(t *testing.T) {
	for url, want := range map[string]string{
		"https://ntfy.sh/secret-topic":                             "for ntfy write ntfy://ntfy.sh/TOPIC; a plain https URL is for [[notify.webhook]]",
		"nfty://ntfy.sh/secret-topic":                              `there is no service "nfty"; valid here: discord, gotify, ntfy, `,
		"matrix://user:secret-topic@matrix.example.com":            `use [[notify.command]] with run = ["sh", "-c", 'apprise -t "$RESUMED_TITLE" -b "$RESUMED_TEXT" URL']`,
		"ntfy://ntfy.sh/secret-topic?prio=high":                    `its option "prio" does not exist; there are actions, attach, cache, `,
		"ntfy://ntfy.sh/secret-topic?cache=never":                  "its option cache must be yes or no",
		"ntfy://ntfy.sh/secret-topic?priority=9":                   "its option priority must be one of min, low, default, ",
		"gotify://h/secret-topic?priority=11":                      "its option priority must be a number from -2 to 10",
		"smtp://h/?from=secret-topic@example.com":                  "the address of a receiver",
		"telegram://1:secret-topic@telegram":                       "must be telegram://TOKEN@telegram?chats=CHAT",
		"slack://hook:AAAAAAAAA-BBBBBBBBB,secret-topic@webhook":    "https://hooks.slack.com/services/A/B/C",
		"https://hooks.slack.com/services/AAAAAAAAA/secret-topic":  "must be the URL that Slack shows for a webhook, https://hooks.slack.com/services/A/B/C",
		"https://discord.com/api/webhooks/123/secret-topic/github": "https://discord.com/api/webhooks/WEBHOOK/TOKEN",
		"https://discord.com/channels/secret-topic":                "must begin with the name of a service",
	} {
		_, err := newService(serviceOptions{Common: notify.Common{Name: "x"}, URL: url})
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "secret-topic")
	}
}

func TestOnlyNtfyHasButtons(t *testing.T) {
	for _, c := range []struct{ url, replies, problem string }{
		{"ntfy://ntfy.sh/alerts", "alerts", "must be another topic"},
		{"ntfy://ntfy.sh/alerts", "../x", "must be the name of a topic"},
		{"discord://token@id", "answers", "only ntfy has buttons"},
	} {
		_, err := newService(serviceOptions{Common: notify.Common{Name: "phone"}, URL: c.url, Replies: c.replies})
		require.ErrorContains(t, err, c.problem)
		require.ErrorContains(t, err, "replies")
	}
}
