package hub

import (
	"fmt"

	"github.com/nats-io/nats-server/v2/server"

	"resumed/internal/fleet"
	"resumed/internal/fleet/natskv"
)

// rights are the subjects that a user of the server may use.
type rights struct {
	Inbox     string // for the answers to its requests
	Publish   []string
	Subscribe []string
}

// ownKeys returns patterns of the keys that only the host of that name writes.
func ownKeys(name string) map[fleet.Bucket][]string {
	return map[fleet.Bucket][]string{
		fleet.Accounts: {fleet.OwnerKey("*." + name)},
		fleet.Leases: {
			fleet.HostKey(name), fleet.SessionKey("*." + name), fleet.ProbeKey("*." + name), fleet.ProbeKey("*.*." + name),
			fleet.NotifierKey + "." + name,
		},
		fleet.View: {name + ".>"},
	}
}

// hostRights returns the minimal rights of a host: to write its own leases and view, and the accounts,
// and to read. It can neither delete a stream nor write the keys of another host.
func hostRights(name string) rights {
	r := rights{
		Inbox: natskv.Inbox(name) + ".>",
		Publish: []string{
			natskv.SubjectOf(fleet.Accounts, "*"), natskv.SubjectOf(fleet.Accounts, "*.*"),
			natskv.NoticeSubject + name, natskv.SubjectOf(natskv.Orders, name+".>"),
			"$JS.API.STREAM.INFO." + natskv.NoticeStream, "$JS.API.CONSUMER.INFO." + natskv.NoticeStream + "." + natskv.NoticeConsumer,
			"$JS.API.CONSUMER.MSG.NEXT." + natskv.NoticeStream + "." + natskv.NoticeConsumer, "$JS.ACK." + natskv.NoticeStream + "." + natskv.NoticeConsumer + ".>",
		},
		Subscribe: []string{natskv.Changes[natskv.Orders] + "*." + name + ".>", natskv.Changes[fleet.Accounts] + ">"},
	}
	for b, patterns := range ownKeys(name) {
		for _, pattern := range patterns {
			r.Publish = append(r.Publish, natskv.SubjectOf(b, pattern))
		}
	}
	for _, b := range buckets {
		direct := "$JS.API.DIRECT.GET." + natskv.StreamOf(b)
		r.Publish = append(r.Publish, direct, direct+".>", "$JS.API.STREAM.INFO."+natskv.StreamOf(b))
	}
	return r
}

// applicantRights returns the rights of the holder of an invitation: to ask to be admitted.
func applicantRights(key string) rights {
	return rights{Inbox: natskv.Inbox(natskv.Applicant) + ".>", Publish: []string{natskv.JoinSubject + key}}
}

// services are the subjects that the account of the streams exports to the accounts of the hosts, and
// whether a request has several answers.
func services() map[string]bool {
	return map[string]bool{
		"$KV.>": false, "$JS.ACK.>": false, "$JS.API.STREAM.INFO.*": false, "$JS.API.CONSUMER.INFO.*.*": false,
		"$JS.API.DIRECT.GET.*.>": false, "$JS.API.DIRECT.GET.*": true, "$JS.API.CONSUMER.MSG.NEXT.*.*": true,
		"resumed.v1.>": false,
	}
}

// sharedSubjects are the subjects of changes that hosts may read.
const sharedSubjects = "resumed.v1.>"

// offer exports the services of the account of the streams, which is the hub's own, to the accounts of
// the machines.
func offer(streams *server.Account) error {
	for subject, many := range services() {
		answers := server.Singleton
		if many {
			answers = server.Streamed
		}
		if err := streams.AddServiceExportWithResponse(subject, answers, nil); err != nil {
			return fmt.Errorf("offer %s: %w", subject, err)
		}
	}
	return streams.AddStreamExport(sharedSubjects, nil)
}

// accountOf returns the name of a machine's account.
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

// permissions converts the rights to the type of the server.
func (r rights) permissions() *server.Permissions {
	return &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: r.Publish},
		Subscribe: &server.SubjectPermission{Allow: append([]string{r.Inbox}, r.Subscribe...)},
	}
}
