package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The services are reached as on a real machine: through a proxy for all of them, with a certificate
// that the system trusts.
func TestNotifyTestReachesTheServices(t *testing.T) {
	var mu sync.Mutex
	got := make(map[string]string) // by host
	answer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		got[r.Host] = r.Header.Get("Title") + string(body)
		if r.Host == "hooks.slack.com" {
			_, _ = io.WriteString(w, "ok")
			return
		}
		_, _ = io.WriteString(w, `{"ok":true,"id":"x"}`)
	})
	everywhere := httptest.NewUnstartedServer(answer)
	certificate, ca := certificateOf(t, "hooks.slack.com", "api.telegram.org", "discord.com")
	everywhere.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	everywhere.StartTLS()
	defer everywhere.Close()
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		to, err := net.Dial("tcp", everywhere.Listener.Addr().String())
		if err != nil {
			return
		}
		from, _, _ := http.NewResponseController(w).Hijack()
		_, _ = io.WriteString(from, "HTTP/1.1 200 OK\r\n\r\n")
		go func() { _, _ = io.Copy(to, from) }()
		_, _ = io.Copy(from, to)
		from.Close()
	}))
	defer proxy.Close()
	own := httptest.NewServer(answer)
	defer own.Close()

	b := newBox(t)
	b.write(configFile, `
[[notify.service]]
name = "phone"
url = "ntfy://`+own.Listener.Addr().String()+`/s3cret-topic?scheme=http"
[[notify.service]]
name = "team"
url = "slack://hook:AAAAAAAAA-BBBBBBBBB-cccccccccccccccccccccccc@webhook"
[[notify.service]]
name = "chat"
url = "telegram://123456789:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa@telegram?chats=@channel"
[[notify.service]]
name = "guild"
url = "discord://s3cret-token@123"
`)
	cmd := b.command("notify", "test")
	cmd.Env = append(cmd.Env, "HTTPS_PROXY="+proxy.URL, "NO_PROXY=", "SSL_CERT_FILE="+ca)
	out, err := cmd.Output()
	require.NoError(t, err, string(out))
	for _, service := range []string{"phone (ntfy)", "team (slack)", "chat (telegram)", "guild (discord)"} {
		require.Contains(t, string(out), service+`: sent "resumed: test notice from `)
	}
	require.NotContains(t, string(out), "s3cret")
	for _, host := range []string{own.Listener.Addr().String(), "hooks.slack.com", "api.telegram.org", "discord.com"} {
		require.Contains(t, got[host], "resumed: test notice from ", host)
	}
}

// certificateOf makes a self-signed certificate for some hosts, and a file with it.
func certificateOf(t *testing.T, hosts ...string) (tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: hosts, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, file
}
