package leash

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"path"
	"slices"
	"strings"

	"resumed/internal/childenv"
	"resumed/internal/lazy"
	"resumed/internal/resume"
)

// Row is variables of one kind. A name may contain *. The first row that matches a name counts.
type Row struct {
	Effect Effect
	Names  string // separated by spaces
	Plain  bool   // its values are not secret, whatever the names are
}

// Variables is the table of the environment variables that matter to a program.
type Variables []Row

// Places are the variables with paths, which depend on the machine or container of a process.
const Places = "PATH HOME VIRTUAL_ENV XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME XDG_CACHE_HOME"

// Common are variables that matter to every agent.
var Common = Variables{
	{Effect: Selects, Names: Places, Plain: true},
	{Effect: Selects, Names: "HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY http_proxy https_proxy all_proxy no_proxy"},
	{Effect: Selects, Names: "NODE_EXTRA_CA_CERTS NODE_TLS_REJECT_UNAUTHORIZED SSL_CERT_FILE SSL_CERT_DIR", Plain: true},
}

var secretName = lazy.Regexp(`(KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|HEADERS?|COOKIES?|AUTH)$`)

const longest = 16 << 10

func (v Variables) row(name string) (Row, bool) {
	for _, row := range v {
		for pattern := range strings.FieldsSeq(row.Names) {
			if pattern != name && !strings.Contains(pattern, "*") {
				continue // comparing is much cheaper than matching, and a hook does it for each variable that an agent has
			}
			if ok, _ := path.Match(pattern, name); ok { // the tables have only valid patterns
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

func (r Row) secret(name, value string) bool {
	if len(value) > longest || IsSecret(value) {
		return true
	}
	return !r.Plain && len(value) > 5 && secretName().MatchString(strings.ToUpper(name))
}

// Acting returns which of these variables make the agent act by itself when it starts.
func (v Variables) Acting(names []string) []string {
	acting := slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		row, _ := v.row(name)
		return row.Effect != Acts
	})
	slices.Sort(acting)
	return slices.Compact(acting)
}

// Storable returns the variables that matter, with hashes of secrets, unless secrets is true, and their salt.
func (v Variables) Storable(environ []string, secrets bool) (kept []resume.Variable, salt string) {
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

// Record sets what the origin says about an environment.
func (v Variables) Record(o *resume.Origin, environ []string, secrets bool) {
	o.Env, o.Salt = v.Storable(environ, secrets)
	o.Others = v.Others(environ, o.Salt)
	o.Environ, o.EnvSeen = environ, true
}

// Hash returns the hash by which a secret is recognised.
func Hash(salt, value string) string {
	mac := hmac.New(sha256.New, []byte(salt))
	mac.Write([]byte(value))
	return hex.EncodeToString(mac.Sum(nil)[:16])
}

// Environment is the difference between the environments of a resume and of the daemon.
type Environment struct {
	Set     []string   // KEY=value, replaces configured variables and those of the daemon
	Unset   []string   // variables that the session did not have
	Missing []Omission // the session had them and their values are lost: nothing may be sent
}

// Without removes variables of these names, so that the resume gets them from the daemon.
func (e Environment) Without(names string) Environment {
	spared := func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(strings.Fields(names), name)
	}
	e.Set, e.Unset = slices.DeleteFunc(slices.Clone(e.Set), spared), slices.DeleteFunc(slices.Clone(e.Unset), spared)
	return e
}

// Carry returns the environment that makes a resume run with the same variables as its session.
// own is that of the daemon; configured are the variables that the user sets for resumes. Both
// may have the secrets that were not stored.
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
		if row.Effect == Acts {
			continue // the caller leaves it out, wherever it comes from
		}
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
			continue // the user wants it for resumes, and it does not change the account
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

// ofTerminal are variables that belong to a terminal or a shell. A resume has none of them.
var ofTerminal = strings.Fields(`
	_ SHLVL TERM TERMINFO TERMINFO_DIRS COLORTERM COLUMNS LINES TERM_PROGRAM TERM_PROGRAM_VERSION TERM_SESSION_ID
	TMUX TMUX_PANE STY WINDOW WINDOWID GPG_TTY SSH_TTY SSH_CLIENT SSH_CONNECTION XDG_SESSION_ID XDG_VTNR XDG_SEAT
	KITTY_* WEZTERM_* ALACRITTY_* GHOSTTY_* ITERM_* LC_TERMINAL* ZELLIJ* VTE_VERSION KONSOLE_* GNOME_TERMINAL_* WT_SESSION WT_PROFILE_ID
	VSCODE_* PS1 PS2 PS4 PROMPT_COMMAND HISTFILE HISTSIZE HISTCONTROL`)

func belongsToTerminal(name string) bool {
	return name == "" || childenv.OfDaemon(name) || slices.ContainsFunc(ofTerminal, func(pattern string) bool {
		ok, _ := path.Match(pattern, name) // the list has only valid patterns
		return ok
	})
}

// Inherited returns the environment of a session's process without what belongs to its terminal.
func Inherited(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return belongsToTerminal(name)
	})
}

// Others returns the variables that the table does not have, with hashes of their values. It is not nil.
func (v Variables) Others(environ []string, salt string) []resume.Variable {
	others := []resume.Variable{}
	for name, value := range v.others(environ) {
		others = append(others, resume.Variable{Name: name, Hash: Hash(salt, value)})
	}
	slices.SortFunc(others, func(a, b resume.Variable) int { return strings.Compare(a.Name, b.Name) })
	return others
}

func (v Variables) others(environ []string) map[string]string {
	all := make(map[string]string)
	for _, entry := range Inherited(environ) {
		name, value, _ := strings.Cut(entry, "=")
		if row, _ := v.row(name); row.Names == "" {
			all[name] = value
		}
	}
	return all
}

// Changed compares an environment with the other variables of a session: lost are those that it does
// not have with the same value, and added are those that the session did not have.
func (v Variables) Changed(o resume.Origin, environ []string) (lost, added []string) {
	now := v.others(environ)
	for _, other := range o.Others {
		value, there := now[other.Name]
		if !there || !hmac.Equal([]byte(Hash(o.Salt, value)), []byte(other.Hash)) {
			lost = append(lost, other.Name)
		}
		delete(now, other.Name)
	}
	return lost, slices.Sorted(maps.Keys(now))
}

// target matches the names of variables that choose what a command works on.
var target = lazy.Regexp(`(?i)(DATABASE|_DSN|_UR[IL]|_HOST|_ENDPOINT|KUBE|CLUSTER|DOCKER_|AWS_|AZURE_|ARM_|GOOGLE_|GCP_|GCLOUD|CLOUDSDK|CLOUDFLARE|HEROKU|FLY_|PROXY|` +
	`^PG|MYSQL|REDIS|MONGO|VAULT|CONSUL|NOMAD|^TF_|PULUMI|HELM|_ENV$|_STAGE$|^STAGE$|^ENV$|ENVIRONMENT|_PROFILE$|_CONTEXT$|_NAMESPACE$|_PROJECT$|_ACCOUNT|CREDENTIAL)`)

// authorities choose no target, and each machine of a company has them elsewhere.
var authorities = lazy.Regexp(`(?i)(CA_?BUNDLE|CA_?CERT|CA_?PATH|ROOT_?CERT|SSL_CERT_(FILE|DIR)$)`)

// ChoosesTarget reports whether a variable chooses what commands work on.
func ChoosesTarget(name string) bool {
	return target().MatchString(name) && !authorities().MatchString(name) || secretName().MatchString(strings.ToUpper(name))
}
