package config

import (
	"net/url"
	"strings"
	"time"
)

// Fleet is how hosts that share an account find each other.
type Fleet struct {
	URL             string        `toml:"url"` // of one or several servers, with commas; "": there is no fleet
	CredentialsFile string        `toml:"credentials_file"`
	CAFile          string        `toml:"ca_file"`
	Name            string        `toml:"name"` // of this host; "": the system's
	Share           string        `toml:"share"`
	Takeover        string        `toml:"takeover"`
	Heartbeat       time.Duration `toml:"heartbeat"`
}

func (f Fleet) validate(found *problems) {
	found.enum("fleet.share", f.Share, ShareFacts, ShareTexts)
	found.enum("fleet.takeover", f.Takeover, TakeoverAsk, TakeoverAuto)
	found.check(f.Heartbeat >= time.Second && f.Heartbeat <= time.Minute, "fleet.heartbeat", f.Heartbeat, "must be 1s to 1m")
	if f.Name != "" {
		found.check(isHostName(f.Name), "fleet.name", f.Name, "must be letters, digits, '_' or '-', at most 64, beginning with a letter or digit")
	}
	if f.URL == "" {
		found.unused("fleet", "has no effect without url", []given{
			{"credentials_file", f.CredentialsFile != ""}, {"ca_file", f.CAFile != ""}, {"name", f.Name != ""},
		})
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
