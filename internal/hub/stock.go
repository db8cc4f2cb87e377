package hub

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"resumed/internal/fleet/natskv"
)

// The files for a stock nats-server. It cannot ask the hub which machines have joined and what they may
// do, so a configuration lists them. Join lines are not in it: only the hub can count their uses.
const (
	stockFile     = "nats-server.conf"
	stockCertFile = "server.pem"
	stockKeyFile  = "server.key"
	stockDataDir  = "nats-data"
	stockAccount  = "resumed" // the account of the streams
)

const stockHead = `# For a stock nats-server (2.11 or newer): nats-server -c FILE. Written by resumed hub; changes are lost.
# After each start: resumed hub streams. After a machine has joined or was removed: nats-server --signal reload.
`

// writeStock writes the configuration of a stock server for the machines that have joined.
func writeStock(dir string, s settings) error {
	if err := writeStockCertificate(dir, s); err != nil {
		return err
	}
	key, err := natskv.LineKey(s.StockSeed)
	if err != nil {
		return err
	}
	accounts := map[string]any{stockAccount: map[string]any{
		"jetstream": "enabled", "users": []any{map[string]any{"nkey": key}}, "exports": stockExports(),
	}}
	for _, h := range allHosts(dir) {
		accounts[accountOf(h.Name)] = stockMachine(h)
	}
	text := bytes.NewBufferString(stockHead)
	encoder := json.NewEncoder(text) // the server accepts JSON, too
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err = encoder.Encode(map[string]any{
		"server_name": serverName, "listen": s.Listen, "max_payload": largestMessage,
		"tls":           map[string]any{"cert_file": filepath.Join(dir, stockCertFile), "key_file": filepath.Join(dir, stockKeyFile), "timeout": tlsTimeout},
		"authorization": map[string]any{"timeout": authTimeout},
		"jetstream":     map[string]any{"store_dir": filepath.Join(dir, stockDataDir), "sync_interval": "always"},
		"accounts":      accounts,
	})
	if err != nil {
		return err
	}
	return store(dir, stockFile, text.Bytes())
}

// stockExports are the exports that offer adds in the hub's own server.
func stockExports() []any {
	all := []any{map[string]any{"stream": sharedSubjects}}
	for subject, many := range services() {
		answers := "singleton"
		if many {
			answers = "stream"
		}
		all = append(all, map[string]any{"service": subject, "response_type": answers})
	}
	return all
}

// stockMachine is the account of one machine, like account in the hub's own server.
func stockMachine(h host) map[string]any {
	granted := hostRights(h.Name)
	var imports []any
	for _, subject := range granted.Publish {
		imports = append(imports, map[string]any{"service": map[string]any{"account": stockAccount, "subject": subject}})
	}
	for _, subject := range granted.Subscribe {
		imports = append(imports, map[string]any{"stream": map[string]any{"account": stockAccount, "subject": subject}})
	}
	allowed := granted.permissions()
	return map[string]any{
		"imports": imports,
		"users": []any{map[string]any{"nkey": h.Key, "permissions": map[string]any{
			"publish":   map[string]any{"allow": allowed.Publish.Allow},
			"subscribe": map[string]any{"allow": allowed.Subscribe.Allow},
		}}},
	}
}

// writeStockCertificate creates the certificate of a stock server, once.
func writeStockCertificate(dir string, s settings) error {
	if _, err := os.Stat(filepath.Join(dir, stockKeyFile)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	made, err := s.certificate(dir)
	if err != nil {
		return err
	}
	return storePair(dir, stockCertFile, stockKeyFile, made.Certificate[0], made.PrivateKey)
}

// MakeStreams creates the streams of the fleet on a stock server that runs with a hub's configuration.
func MakeStreams(ctx context.Context, dir string) error {
	s, err := read(dir)
	if err != nil {
		return err
	}
	as, err := natskv.Options{URL: s.URL, CAFile: filepath.Join(dir, caFile), Credentials: natskv.Credentials{Invitation: s.StockSeed}}.AsApplicant()
	if err != nil {
		return fmt.Errorf("read the key for the stock server: %w: `resumed hub init` makes one", err)
	}
	nc, err := as.Dial()
	if err != nil {
		return err
	}
	defer nc.Close()
	return makeStreams(ctx, nc)
}

func newSeed() []byte {
	seed := make([]byte, keySize)
	_, _ = rand.Read(seed) // never fails
	return seed
}
