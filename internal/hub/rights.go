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

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"resumed/internal/fleet"
	"resumed/internal/fleet/natskv"
)

// rights are the subjects that a user of the server may use.
type rights struct {
	Inbox     string // for the answers to its requests
	Publish   []string
	Subscribe []string
}

// own are the subjects in a stream that only one host writes, and how many of them it may have.
type own struct {
	stream, subjects string
	most             int
}

// ownedBy returns what only the host of that name writes.
func ownedBy(name string) (all []own) {
	keys := func(b fleet.Bucket, pattern string, most int) {
		all = append(all, own{natskv.StreamOf(b), natskv.SubjectOf(b, pattern), most})
	}
	keys(fleet.Accounts, "*.*."+name, mostRecords)
	keys(fleet.Leases, fleet.HostKey(name), 1)
	keys(fleet.Leases, fleet.SessionKey("*."+name), mostRecords)
	keys(fleet.Leases, fleet.ProbeKey("*.*."+name), mostRecords)
	keys(fleet.Leases, fleet.NotifierKey+"."+name, 1)
	keys(fleet.View, name+".>", mostViews)
	return append(all, own{natskv.NoticeStream, natskv.NoticeSubject + name + ".*", mostNotices})
}

// hostRights returns the minimal rights of a host: to write its own records, and to read. It can neither
// delete a stream nor write the keys of another host.
func hostRights(name string) rights {
	r := rights{
		Inbox: natskv.Inbox(name) + ".>",
		Publish: []string{
			natskv.SubjectOf(natskv.Orders, name+".>"), "$JS.API.CONSUMER.INFO." + natskv.NoticeStream + "." + natskv.NoticeConsumer,
			"$JS.API.CONSUMER.MSG.NEXT." + natskv.NoticeStream + "." + natskv.NoticeConsumer, "$JS.ACK." + natskv.NoticeStream + "." + natskv.NoticeConsumer + ".>",
		},
		Subscribe: []string{natskv.Changes[natskv.Orders] + "*." + name + ".>", natskv.Changes[fleet.Accounts] + ">"},
	}
	for _, o := range ownedBy(name) {
		r.Publish = append(r.Publish, o.subjects)
	}
	for _, stream := range readStreams() {
		direct := "$JS.API.DIRECT.GET." + stream
		r.Publish = append(r.Publish, direct, direct+".>", "$JS.API.STREAM.INFO."+stream)
	}
	return r
}

// readStreams are the streams that every host may read.
func readStreams() []string {
	all := []string{natskv.NoticeStream}
	for _, b := range buckets {
		all = append(all, natskv.StreamOf(b))
	}
	return all
}

func applicantRights(key string) rights {
	return rights{Inbox: natskv.Inbox(natskv.Applicant) + ".>", Publish: []string{natskv.JoinSubject + key}}
}

// services are the subjects that the account of the streams exports to the accounts of the hosts, and
// whether a request has one answer or several.
var services = map[string]string{
	"$KV.>": "singleton", "$JS.ACK.>": "singleton", "$JS.API.STREAM.INFO.*": "singleton", "$JS.API.CONSUMER.INFO.*.*": "singleton",
	"$JS.API.DIRECT.GET.*.>": "singleton", "$JS.API.DIRECT.GET.*": "stream", "$JS.API.CONSUMER.MSG.NEXT.*.*": "stream",
	sharedSubjects: "singleton",
}

// sharedSubjects are the subjects of changes that hosts may read.
const sharedSubjects = "resumed.v1.>"

// offer exports the services of the account of the streams, which is the hub's own, to the accounts of
// the machines.
func offer(streams *server.Account) error {
	kinds := map[string]server.ServiceRespType{"singleton": server.Singleton, "stream": server.Streamed}
	for subject, answers := range services {
		if err := streams.AddServiceExportWithResponse(subject, kinds[answers], nil); err != nil {
			return fmt.Errorf("offer %s: %w", subject, err)
		}
	}
	return streams.AddStreamExport(sharedSubjects, nil)
}

func accountOf(user string) string { return "resumed." + user }

// account returns the account of one machine. The server checks where a user publishes, but not the
// reply subjects of its requests: an answer can go to any subject of the account. So each machine has
// its own account, with only the imports that its rights allow.
func (h *hosts) account(user string, r rights) (*server.Account, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	own, isNew := h.ns.LookupOrRegisterAccount(accountOf(user))
	if !isNew {
		return own, nil
	}
	streams := h.ns.GlobalAccount()
	for _, subject := range r.Publish {
		if err := own.AddServiceImport(streams, subject, subject); err != nil {
			return nil, fmt.Errorf("bring in %s: %w", subject, err)
		}
	}
	for _, subject := range r.Subscribe {
		if err := own.AddStreamImport(streams, subject, ""); err != nil {
			return nil, fmt.Errorf("bring in %s: %w", subject, err)
		}
	}
	return own, nil
}

func (r rights) permissions() *server.Permissions {
	return &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: r.Publish},
		Subscribe: &server.SubjectPermission{Allow: append([]string{r.Inbox}, r.Subscribe...)},
	}
}

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

// accountInfo is a request that no machine may make. A stock server lets an account that does not import it
// ask the system's account too, and then the requests of a machine have two answers.
const accountInfo = "$JS.API.INFO"

// stockExports are the exports that offer adds in the hub's own server.
func stockExports() []any {
	all := []any{map[string]any{"stream": sharedSubjects}, map[string]any{"service": accountInfo}}
	for subject, answers := range services {
		all = append(all, map[string]any{"service": subject, "response_type": answers})
	}
	return all
}

// stockMachine is the account of one machine, like account in the hub's own server.
func stockMachine(h host) map[string]any {
	granted := hostRights(h.Name)
	var imports []any
	for _, subject := range append([]string{accountInfo}, granted.Publish...) {
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
	nc, err := dialStock(dir)
	if err != nil {
		return err
	}
	defer nc.Close()
	return makeStreams(ctx, nc)
}

// Guard bounds what each machine stores on a stock server, as Serve does, until ctx is done. ready is called
// once it does.
func Guard(ctx context.Context, o Options) error {
	nc, err := dialStock(o.Dir)
	if err != nil {
		return err
	}
	defer nc.Close()
	if err := makeStreams(ctx, nc); err != nil {
		return err
	}
	if err := boundHosts(ctx, nc, o.Dir, o.cut); err != nil {
		return err
	}
	o.Ready(nc.ConnectedUrl())
	<-ctx.Done()
	return nil
}

// dialStock connects to a stock server with the key that may create streams.
func dialStock(dir string) (*nats.Conn, error) {
	s, err := read(dir)
	if err != nil {
		return nil, err
	}
	as, err := natskv.Options{URL: s.URL, CAFile: filepath.Join(dir, caFile), Credentials: natskv.Credentials{Invitation: s.StockSeed}}.AsApplicant()
	if err != nil {
		return nil, fmt.Errorf("read the key for the stock server: %w: `resumed hub init` makes one", err)
	}
	return as.Dial(nats.MaxReconnects(-1), natskv.Quiet())
}

func newSeed() []byte {
	seed := make([]byte, keySize)
	_, _ = rand.Read(seed) // never fails
	return seed
}
