package mail

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/http/httptest"
	netmail "net/mail"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/notify"
	"resumed/internal/notify/notifytest"
	"resumed/internal/notify/remote"
)

// server is an SMTP server that answers each command with 250, or with a given answer.
type server struct {
	net.Listener
	tls     *tls.Config // nil: it has none
	answers map[string]string
	said    chan string // the lines that clients send
}

func newServer(t *testing.T, answers map[string]string) *server {
	web := httptest.NewUnstartedServer(nil)
	web.StartTLS()
	t.Cleanup(web.Close)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &server{l, web.TLS, answers, make(chan string, 1000)}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go s.serve(conn)
		}
	}()
	return s
}

func (s *server) serve(conn net.Conn) {
	defer conn.Close()
	reply := func(command, usual string) {
		if answer, other := s.answers[command]; other {
			usual = answer
		}
		if usual == "silence" {
			_, _ = io.Copy(io.Discard, conn)
		}
		fmt.Fprintf(conn, "%s\r\n", usual)
	}
	reply("", "220 ready")
	lines := bufio.NewReader(conn)
	for data := false; ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.TrimRight(line, "\r\n")
		s.said <- line
		command, _, _ := strings.Cut(line, " ")
		if to, found := strings.CutPrefix(line, "RCPT TO:"); found {
			command = "RCPT " + to
		}
		switch {
		case data:
			if data = line != "."; !data {
				reply(".", "250 queued")
			}
		case command == "EHLO":
			reply(command, "250-box\r\n250-AUTH PLAIN CRAM-MD5 XOAUTH2\r\n250 STARTTLS")
		case command == "STARTTLS" && s.answers[command] == "":
			reply(command, "220 go")
			conn = tls.Server(conn, s.tls)
			lines = bufio.NewReader(conn)
		case command == "AUTH":
			reply(command, "235 welcome")
		case command == "DATA":
			reply(command, "354 go on")
			data = s.answers[command] == ""
		default:
			reply(command, "250 yes")
		}
	}
}

// lines returns what clients sent until the connection ended.
func (s *server) lines(t *testing.T) []string {
	t.Helper()
	var all []string
	for {
		select {
		case line := <-s.said:
			if all = append(all, line); line == "QUIT" {
				return all
			}
		case <-time.After(time.Minute):
			require.FailNow(t, "the mail is not finished", all)
		}
	}
}

func open(t *testing.T, s *server, user, options string) remote.Service {
	t.Helper()
	u, err := url.Parse("smtp://" + user + s.Addr().String() + "/?skiptlsverify=yes&from=s3nder@example.com&to=b+c@example.com,d@example.com" + options)
	require.NoError(t, err)
	m, err := New(u, remote.OptionsOf(u), remote.NewClient("smtp", remote.NewRedactor(u, true), nil))
	require.NoError(t, err)
	return m.(remote.Service)
}

func TestAMailIsSent(t *testing.T) {
	s := newServer(t, nil)
	n := notifytest.Notice(notify.GaveUp, 1)
	n.Title, n.Text = "sköp: gave up\r\nBcc: x@example.com", "It häppened.\n.\nTo try again: "+strings.Repeat("long ", 50)
	require.NoError(t, open(t, s, "ann:pw@", "&fromname=Resumed")(t.Context(), n))
	said := s.lines(t)
	auth := base64.StdEncoding.EncodeToString([]byte("\x00ann\x00pw"))
	require.Equal(t, []string{"EHLO localhost", "STARTTLS", "EHLO localhost", "AUTH PLAIN " + auth}, said[:4])
	require.Subset(t, said, []string{"RCPT TO:<b+c@example.com>", "RCPT TO:<d@example.com>", "DATA"})
	_, whole, _ := strings.Cut(strings.Join(said, "\r\n"), "DATA\r\n")
	mail, err := netmail.ReadMessage(strings.NewReader(strings.TrimSuffix(whole, "\r\n.\r\nQUIT")))
	require.NoError(t, err)
	subject, err := new(mime.WordDecoder).DecodeHeader(mail.Header.Get("Subject"))
	require.NoError(t, err)
	require.Equal(t, "sköp: gave up Bcc: x@example.com", subject)
	require.Empty(t, mail.Header.Get("Bcc"))
	require.Equal(t, `"Resumed" <s3nder@example.com>`, mail.Header.Get("From"))
	require.Equal(t, "<ntc_SAMPLE@resumed.invalid>", mail.Header.Get("Message-ID"), "the same over all tries")
	body, err := io.ReadAll(quotedprintable.NewReader(mail.Body))
	require.NoError(t, err)
	require.Equal(t, n.Text, strings.ReplaceAll(strings.ReplaceAll(string(body), "\r\n", "\n"), "\n..\n", "\n.\n"))
}

func TestHowAMailIsSent(t *testing.T) {
	for _, c := range []struct{ user, options, want string }{
		{"ann:pw@", "&auth=CRAMMD5", "AUTH CRAM-MD5"},
		{"ann:pw@", "&auth=OAuth2", "AUTH XOAUTH2 " + base64.StdEncoding.EncodeToString([]byte("user=ann\x01auth=Bearer pw\x01\x01"))},
		{"", "&usehtml=yes", "Content-Type: text/html; charset=utf-8"},
		{"", "&clienthost=box.example", "EHLO box.example"},
	} {
		s := newServer(t, map[string]string{"AUTH": "235 welcome"})
		require.NoError(t, open(t, s, c.user, c.options)(t.Context(), notifytest.Notice(notify.GaveUp, 1)))
		require.Contains(t, s.lines(t), c.want)
	}
	s := newServer(t, map[string]string{"EHLO": "250 box"})
	require.NoError(t, open(t, s, "", "")(t.Context(), notifytest.Notice(notify.GaveUp, 1)))
	require.NotContains(t, s.lines(t), "STARTTLS")
	require.ErrorContains(t, open(t, s, "", "&requirestarttls=yes")(t.Context(), notifytest.Notice(notify.GaveUp, 1)), "no STARTTLS")
}

// The answers of a mail server have the same meaning as those of the other services.
func TestEachAnswerOfAMailServer(t *testing.T) {
	for name, c := range map[string]struct {
		answers map[string]string
		want    string
	}{
		"accepted":                 {nil, "accepted"},
		"goodbye is refused":       {map[string]string{"QUIT": "500 what?"}, "accepted"},
		"busy":                     {map[string]string{"": "421 too many connections"}, "again"},
		"turned away":              {map[string]string{"": "554 no mail from you"}, "final"},
		"password":                 {map[string]string{"AUTH": "535 5.7.8 bad credentials pw-s3cret"}, "credentials"},
		"password needed":          {map[string]string{"MAIL": "530 5.7.0 authentication required"}, "credentials"},
		"greylisted":               {map[string]string{"RCPT <b+c@example.com>": "451 later", "RCPT <d@example.com>": "451 later"}, "again"},
		"no such users":            {map[string]string{"RCPT <b+c@example.com>": "550 unknown", "RCPT <d@example.com>": "550 unknown"}, "final"},
		"one of two is no user":    {map[string]string{"RCPT <b+c@example.com>": "550 unknown"}, "final"},
		"refused after it is read": {map[string]string{".": "554 spam"}, "final"},
		"full":                     {map[string]string{".": "452 disk full"}, "again"},
		"no data":                  {map[string]string{"DATA": "503 what?"}, "final"},
		"garbage":                  {map[string]string{"": "<html>Please sign in</html>"}, "again"},
		"huge":                     {map[string]string{"": strings.Repeat("x", 1<<20)}, "again"},
		"huge answer":              {map[string]string{"EHLO": strings.Repeat("250-x\r\n", 1<<16)}, "again"},
		"TLS that fails":           {map[string]string{"STARTTLS": "454 not now"}, "again"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, c.answers)
			err := open(t, s, "ann:pw-s3cret@", "")(t.Context(), notifytest.Notice(notify.GaveUp, 1))
			require.Equal(t, c.want, reading(err), "%v", err)
			if err != nil {
				require.NotContains(t, err.Error(), "s3cret")
				require.NotContains(t, err.Error(), "s3nder")
			}
			if name == "one of two is no user" {
				require.Contains(t, s.lines(t), ".", "the other gets it")
			}
		})
	}
}

func TestAMailServerThatHangsIsLeft(t *testing.T) {
	for _, at := range []string{"", "EHLO", "MAIL", "."} {
		s := newServer(t, map[string]string{at: "silence"})
		ctx, cancel := context.WithTimeoutCause(t.Context(), 200*time.Millisecond, errors.New("the daemon stops"))
		err := open(t, s, "", "")(ctx, notifytest.Notice(notify.GaveUp, 1))
		cancel()
		require.ErrorContains(t, err, "the daemon stops", at)
		require.Equal(t, "again", reading(err))
	}
}

func reading(err error) string {
	if errors.Is(err, remote.ErrCredentials) {
		return "credentials"
	}
	if notify.IsFinal(err) {
		return "final"
	}
	if err != nil {
		return "again"
	}
	return "accepted"
}
