package config

import (
	"net/url"
	"strings"
)

func (f Fleet) validate(found *problems) {
	if f.Name != "" {
		found.check(isHostName(f.Name), "fleet.name", f.Name, "must be letters, digits, '_' or '-', at most 64, beginning with a letter or digit")
	}
	if f.URL == "" {
		for key, value := range map[string]string{"credentials_file": f.CredentialsFile, "ca_file": f.CAFile, "name": f.Name} {
			found.check(value == "", "fleet."+key, nil, "has no effect without url")
		}
		return
	}
	for address := range strings.SplitSeq(f.URL, ",") {
		u, err := url.Parse(strings.TrimSpace(address))
		ok := err == nil && u.Host != "" && u.User == nil && (u.Scheme == "tls" || u.Scheme == "nats")
		found.check(ok, "fleet.url", f.URL, `must be "tls://host:port", or several of them with commas between; who you are is said by credentials_file`)
		if ok && u.Scheme == "nats" && !loopback(u.Host) {
			found.add("fleet.url", f.URL, "must begin with tls:// where it leads to another machine")
		}
	}
	found.check(f.CredentialsFile != "", "fleet.credentials_file", nil, "must be set: `resumed fleet join` writes it")
}

// isHostName reports whether a name can be a part of a key of the fleet: a dot would
// be two parts, and a slash stands before a session.
func isHostName(name string) bool {
	return wellFormed.MatchString(name) && !strings.Contains(name, ".")
}
