package hub

import (
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"time"
)

const authorityLives = 20 * 365 * 24 * time.Hour

// newAuthority creates the authority of a new hub. Its hosts trust no other one.
func newAuthority(dir string) error {
	der, key, err := certify(x509.Certificate{
		Subject: pkix.Name{CommonName: "resumed fleet"}, NotAfter: time.Now().Add(authorityLives),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}, nil)
	if err != nil {
		return err
	}
	return storePair(dir, caFile, caKeyFile, der, key)
}

// certify creates a key, and a certificate that the authority signs; nil: the new key itself does.
func certify(c x509.Certificate, by *tls.Certificate) (der []byte, key crypto.PrivateKey, err error) {
	public, key, _ := ed25519.GenerateKey(rand.Reader) // it does not fail
	if by == nil {
		by = &tls.Certificate{Leaf: &c, PrivateKey: key}
	}
	c.SerialNumber, c.NotBefore = big.NewInt(time.Now().UnixNano()), time.Now().Add(-time.Hour)
	der, err = x509.CreateCertificate(rand.Reader, &c, by.Leaf, public, by.PrivateKey)
	return der, key, err
}

func storePair(dir, file, keyFile string, der []byte, key crypto.PrivateKey) error {
	keyDER, _ := x509.MarshalPKCS8PrivateKey(key) // an ed25519 key: it does not fail
	block := func(kind string, der []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}) }
	return errors.Join(store(dir, file, block("CERTIFICATE", der)), store(dir, keyFile, block("PRIVATE KEY", keyDER)))
}

func readAuthority(dir string) (*tls.Certificate, error) {
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, caFile), filepath.Join(dir, caKeyFile))
	if err != nil {
		return nil, fmt.Errorf("read the hub's authority: %w", err)
	}
	return &pair, nil
}

// certificate issues the certificate of a server of the hub. It is valid as long as the authority: the
// authority's key is on the same machine.
func (s settings) certificate(dir string) (*tls.Certificate, error) {
	authority, err := readAuthority(dir)
	if err != nil {
		return nil, err
	}
	listens, _, err := hostPort(s.Listen)
	if err != nil {
		return nil, err
	}
	names := namesOf(listens)
	if u, err := url.Parse(s.URL); err == nil { // a person may have edited it
		names = append(names, u.Hostname())
	}
	server := x509.Certificate{
		Subject: pkix.Name{CommonName: "resumed hub"}, NotAfter: authority.Leaf.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			server.IPAddresses = append(server.IPAddresses, ip)
		} else {
			server.DNSNames = append(server.DNSNames, name)
		}
	}
	der, key, err := certify(server, authority)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{der, authority.Leaf.Raw}, PrivateKey: key}, nil
}

// namesOf returns the names of the hub; the first is used in join lines. If the hub listens on all
// addresses, that is the name of this machine.
func namesOf(host string) []string {
	ip := net.ParseIP(host)
	everywhere := host == "" || ip != nil && ip.IsUnspecified()
	var names []string
	if !everywhere {
		names = append(names, host)
	}
	if name, err := os.Hostname(); err == nil {
		names = append(names, name)
	}
	names = append(names, "localhost", "127.0.0.1", "::1")
	if addresses, err := net.InterfaceAddrs(); err == nil && everywhere {
		for _, a := range addresses {
			if a, ok := a.(*net.IPNet); ok && !a.IP.IsLoopback() {
				names = append(names, a.IP.String())
			}
		}
	}
	return names
}
