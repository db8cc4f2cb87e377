// Package mail sends notices by e-mail.
package mail

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"html"
	"io"
	"mime"
	"mime/quotedprintable"
	"net"
	netmail "net/mail"
	"net/smtp"
	"net/textproto"
	"net/url"
	"os"
	"strings"
	"time"

	"resumed/internal/notify"
	"resumed/internal/notify/remote"
	"resumed/internal/sanitize"
)

type mailer struct {
	client         *remote.Client // only for its errors
	host, port     string
	hello          string // the name of this machine in HELO
	from           *netmail.Address
	to             []string
	auth           smtp.Auth // nil: none
	html           bool
	encrypted      bool // TLS from the first byte on
	starttls, must bool // STARTTLS if the server offers it; must: required
	tls            *tls.Config
}

// New reads smtp://[USER:PASSWORD@]HOST[:PORT]/?from=ADDRESS&to=ADDRESS,ADDRESS.
func New(u *url.URL, o *remote.Options, client *remote.Client) (notify.Sender, error) {
	m := &mailer{
		client: client, host: u.Hostname(), port: cmp.Or(u.Port(), "25"), hello: cmp.Or(o.Text("clienthost"), "localhost"),
		html: o.Flag(false, "usehtml"), starttls: o.Flag(true, "starttls"), must: o.Flag(false, "requirestarttls"),
		tls: &tls.Config{ServerName: u.Hostname(), InsecureSkipVerify: o.Flag(false, "skiptlsverify")},
	}
	if m.hello == "auto" {
		m.hello, _ = os.Hostname()
	}
	switch o.Choice("encryption", "auto", "none", "explicittls", "implicittls") {
	case "implicittls":
		m.encrypted = true
	case "", "auto":
		m.encrypted = m.port == "465"
	}
	from, err := netmail.ParseAddress(plus(o.Text("from")))
	if err != nil {
		return nil, errors.New("must be smtp://USER:PASSWORD@HOST:PORT/?from=ADDRESS&to=ADDRESS, with the address of a sender")
	}
	m.from = &netmail.Address{Name: cmp.Or(o.Text("fromname"), from.Name), Address: from.Address}
	to, err := netmail.ParseAddressList(plus(o.Text("to")))
	if err != nil || m.host == "" {
		return nil, errors.New("must be smtp://USER:PASSWORD@HOST:PORT/?from=ADDRESS&to=ADDRESS, with a host and the address of a receiver")
	}
	for _, address := range to {
		m.to = append(m.to, address.Address)
	}
	user, how := u.User.Username(), o.Choice("auth", "none", "plain", "crammd5", "oauth2")
	password, _ := u.User.Password()
	switch {
	case how == "plain", how == "" && user != "":
		m.auth = smtp.PlainAuth("", user, password, m.host)
	case how == "crammd5":
		m.auth = smtp.CRAMMD5Auth(user, password)
	case how == "oauth2":
		m.auth = bearer{user, password}
	}
	return remote.Service(m.send), nil
}

// plus restores the plus signs of addresses, which a URL decodes as spaces.
func plus(addresses string) string {
	return strings.ReplaceAll(strings.ReplaceAll(addresses, ", ", ","), " ", "+")
}

// bearer signs in with an access token, as XOAUTH2.
type bearer struct{ user, token string }

func (b bearer) Start(*smtp.ServerInfo) (string, []byte, error) {
	return "XOAUTH2", []byte("user=" + b.user + "\x01auth=Bearer " + b.token + "\x01\x01"), nil
}

func (bearer) Next([]byte, bool) ([]byte, error) { return nil, nil }

// send sends a notice. "Delivered" means that the server has accepted it.
func (m *mailer) send(ctx context.Context, n notify.Notice) error {
	err := m.try(ctx, n)
	if err == nil {
		return nil
	}
	told := m.client.Unreachable(ctx, err)
	refused, ok := errors.AsType[*textproto.Error](err)
	switch {
	case !ok || refused.Code < 500:
		return told // greylisting is 4xx
	case refused.Code == 530 || refused.Code == 534 || refused.Code == 535:
		return &notify.SendError{Final: true, Err: fmt.Errorf("%w: %w", told, remote.ErrCredentials)}
	default:
		return &notify.SendError{Final: true, Err: told}
	}
}

func (m *mailer) try(ctx context.Context, n notify.Notice) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(m.host, m.port))
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	var end net.Conn = bounded{conn, io.LimitReader(conn, maxAnswers)}
	if m.encrypted {
		end = tls.Client(end, m.tls)
	}
	c, err := smtp.NewClient(end, m.host)
	if err != nil {
		return err
	}
	if err := c.Hello(m.hello); err != nil {
		return err
	}
	if can, _ := c.Extension("STARTTLS"); can && m.starttls && !m.encrypted {
		if err := c.StartTLS(m.tls); err != nil {
			return fmt.Errorf("begin TLS: %w", err)
		}
	} else if m.must && !m.encrypted {
		return errors.New("the server offers no STARTTLS, and requirestarttls asks for it")
	}
	if m.auth != nil {
		if err := c.Auth(m.auth); err != nil {
			return fmt.Errorf("sign in: %w", err)
		}
	}
	return m.hand(c, m.compose(n))
}

// maxAnswers is more than a server answers for one mail. Without it, an endless line would be read into
// memory.
const maxAnswers = 64 << 10

// bounded is a connection that returns only a limited number of bytes.
type bounded struct {
	net.Conn
	limited io.Reader
}

func (b bounded) Read(p []byte) (int, error) { return b.limited.Read(p) }

// hand passes a mail to the server. If a recipient is refused, the others still get it.
func (m *mailer) hand(c *smtp.Client, mail []byte) error {
	if err := c.Mail(m.from.Address); err != nil {
		return err
	}
	var refused error
	taken := 0
	for _, to := range m.to {
		if err := c.Rcpt(to); err != nil {
			refused = fmt.Errorf("receiver: %w", err)
		} else {
			taken++
		}
	}
	if taken == 0 {
		return refused
	}
	w, err := c.Data()
	if err != nil {
		return err
	}
	if _, err := w.Write(mail); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	_ = c.Quit() // it is accepted already
	return refused
}

func (m *mailer) compose(n notify.Notice) []byte {
	var out bytes.Buffer
	kind, text := "plain", n.Text
	if m.html {
		kind, text = "html", "<pre>"+html.EscapeString(text)+"</pre>"
	}
	for _, line := range []string{
		"From: " + m.from.String(),
		"To: " + strings.Join(m.to, ", "),
		"Subject: " + mime.QEncoding.Encode("utf-8", sanitize.Line(n.Title)),
		"Date: " + time.Now().Format(time.RFC1123Z),
		"Message-ID: <" + n.ID + "@resumed.invalid>", // the same in all tries: many programs show such mails once
		"MIME-Version: 1.0",
		"Content-Type: text/" + kind + "; charset=utf-8",
		"Content-Transfer-Encoding: quoted-printable",
		"",
	} {
		out.WriteString(line + "\r\n")
	}
	body := quotedprintable.NewWriter(&out)
	_, _ = body.Write([]byte(text)) // writing to a buffer does not fail
	_ = body.Close()
	return out.Bytes()
}
