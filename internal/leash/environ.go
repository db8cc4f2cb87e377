package leash

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"path"
	"regexp"
	"slices"
	"strings"

	"resumed/internal/resume"
)

// Row is a row of variables of one kind. A name may have * in it. The first row
// that has a name counts.
type Row struct {
	Effect Effect
	Names  string // with blanks between them
	Plain  bool   // its values are no secrets, whatever they are called
}

// Variables is the table of the environment variables that matter to a program.
type Variables []Row

// Places are the variables that say where things lie in the world of a process.
const Places = "PATH HOME VIRTUAL_ENV XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME XDG_CACHE_HOME"

// Common are variables that matter to every agent.
var Common = Variables{
	{Effect: Selects, Names: Places, Plain: true},
	{Effect: Selects, Names: "HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY http_proxy https_proxy all_proxy no_proxy"},
	{Effect: Selects, Names: "NODE_EXTRA_CA_CERTS NODE_TLS_REJECT_UNAUTHORIZED SSL_CERT_FILE SSL_CERT_DIR", Plain: true},
}

var secretName = regexp.MustCompile(`(KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|HEADERS?|COOKIES?|AUTH)$`)

// longest is how much of a value is kept.
const longest = 16 << 10

// row returns the row that a variable is in.
func (v Variables) row(name string) (Row, bool) {
	for _, row := range v {
		for pattern := range strings.FieldsSeq(row.Names) {
			if ok, _ := path.Match(pattern, name); ok { // tables have no bad pattern
				return row, row.Effect != Nothing
			}
		}
	}
	return Row{}, false
}

// Has reports whether a variable matters.
func (v Variables) Has(name string) bool {
	_, matters := v.row(name)
	return matters
}

// secret reports whether the value of a variable must not be kept.
func (r Row) secret(name, value string) bool {
	if len(value) > longest || IsSecret(value) {
		return true
	}
	return !r.Plain && len(value) > 5 && secretName.MatchString(strings.ToUpper(name))
}

// Keep returns the variables of an environment that matter, and the salt of their
// hashes. Secrets are kept as such only where they are wanted.
func (v Variables) Keep(environ []string, secrets bool) (kept []resume.Variable, salt string) {
	salt = rand.Text()
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		row, matters := v.row(name)
		if !matters || slices.ContainsFunc(kept, func(k resume.Variable) bool { return k.Name == name }) {
			continue
		}
		variable := resume.Variable{Name: name}
		if secrets || !row.secret(name, value) {
			variable.Value = value
		} else {
			variable.Hash = Hash(salt, value)
		}
		kept = append(kept, variable)
	}
	slices.SortFunc(kept, func(a, b resume.Variable) int { return strings.Compare(a.Name, b.Name) })
	return kept, salt
}

// Hash returns what a secret is known by.
func Hash(salt, value string) string {
	mac := hmac.New(sha256.New, []byte(salt))
	mac.Write([]byte(value))
	return hex.EncodeToString(mac.Sum(nil)[:16])
}

// Environment is how the environment of a resume differs from the daemon's own.
type Environment struct {
	Set     []string   // KEY=value, in place of what is configured and of the daemon's own
	Unset   []string   // the names of those that the session did not have
	Missing []Omission // those that the session had and nobody has now: nothing may be sent
}

// Without returns the environment that leaves variables of these names as they are
// with the daemon.
func (e Environment) Without(names string) Environment {
	spared := func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(strings.Fields(names), name)
	}
	e.Set, e.Unset = slices.DeleteFunc(slices.Clone(e.Set), spared), slices.DeleteFunc(slices.Clone(e.Unset), spared)
	return e
}

// Carry says which environment the session is continued with, so that it is the
// one that it had. own is the daemon's; configured is what the user gives resumed
// runs. Both may have the secrets that were not kept.
func (v Variables) Carry(o resume.Origin, own, configured []string) Environment {
	var e Environment
	had := make(map[string]bool)
	for _, variable := range o.Env {
		had[variable.Name] = true
		value, ok := variable.Value, true
		if variable.Hash != "" {
			value, ok = find(variable, o.Salt, own, configured)
		}
		row, _ := v.row(variable.Name)
		if !ok || row.Effect == Attended {
			e.Missing = append(e.Missing, row.missing(variable.Name))
			continue
		}
		e.Set = append(e.Set, variable.Name+"="+value)
	}
	for _, entry := range slices.Concat(own, configured) {
		name, _, _ := strings.Cut(entry, "=")
		row, matters := v.row(name)
		if !matters || had[name] || slices.Contains(e.Unset, name) {
			continue
		}
		if row.Effect != Account && names(configured, name) {
			continue // the user wants it for resumed runs, and it asks nobody else
		}
		e.Unset = append(e.Unset, name)
	}
	return e
}

func (r Row) missing(name string) Omission {
	switch r.Effect {
	case Attended:
		return Omission{name, "the session had it from the program that started it, which alone can give it"}
	case Account:
		return Omission{name, "another account would be used: the session had it in its environment, and neither the daemon nor env_file of [[agent]] has the same value"}
	default:
		return Omission{name, "the session had it in its environment, and neither the daemon nor env_file of [[agent]] has the same value"}
	}
}

// find returns the value of a secret that was not kept, from environments that may
// have it.
func find(variable resume.Variable, salt string, environments ...[]string) (string, bool) {
	for _, environ := range environments {
		for _, entry := range environ {
			name, value, _ := strings.Cut(entry, "=")
			if name == variable.Name && hmac.Equal([]byte(Hash(salt, value)), []byte(variable.Hash)) {
				return value, true
			}
		}
	}
	return "", false
}

func names(environ []string, name string) bool {
	return slices.ContainsFunc(environ, func(entry string) bool { return strings.HasPrefix(entry, name+"=") })
}
