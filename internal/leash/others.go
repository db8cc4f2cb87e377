package leash

import (
	"crypto/hmac"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"resumed/internal/childenv"
	"resumed/internal/resume"
)

// ofTerminal are variables that belong to a terminal or a shell, and not to the work of a session. A
// resume has none of them.
var ofTerminal = strings.Fields(`
	_ SHLVL TERM TERMINFO TERMINFO_DIRS COLORTERM COLUMNS LINES TERM_PROGRAM TERM_PROGRAM_VERSION TERM_SESSION_ID
	TMUX TMUX_PANE STY WINDOW WINDOWID GPG_TTY SSH_TTY SSH_CLIENT SSH_CONNECTION XDG_SESSION_ID XDG_VTNR XDG_SEAT
	KITTY_* WEZTERM_* ALACRITTY_* GHOSTTY_* ITERM_* LC_TERMINAL* ZELLIJ* VTE_VERSION KONSOLE_* GNOME_TERMINAL_* WT_SESSION WT_PROFILE_ID
	VSCODE_* PS1 PS2 PS4 PROMPT_COMMAND HISTFILE HISTSIZE HISTCONTROL`)

// belongsToTerminal reports whether a variable belongs to a terminal, a shell or a service.
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

// Others returns the variables of an environment that the table does not have, each with a hash of its
// value. The result is not nil.
func (v Variables) Others(environ []string, salt string) []resume.Variable {
	others := []resume.Variable{}
	for name, value := range v.others(environ) {
		others = append(others, resume.Variable{Name: name, Hash: Hash(salt, value)})
	}
	slices.SortFunc(others, func(a, b resume.Variable) int { return strings.Compare(a.Name, b.Name) })
	return others
}

// others returns the values of these variables, by name.
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

// target matches the names of variables that choose what a command works on: a database, a cluster, a
// cloud, a proxy, credentials.
var target = regexp.MustCompile(`(?i)(DATABASE|_DSN|_UR[IL]|_HOST|_ENDPOINT|KUBE|CLUSTER|DOCKER_|AWS_|AZURE_|ARM_|GOOGLE_|GCP_|GCLOUD|CLOUDSDK|CLOUDFLARE|HEROKU|FLY_|PROXY|` +
	`^PG|MYSQL|REDIS|MONGO|VAULT|CONSUL|NOMAD|^TF_|PULUMI|HELM|_ENV$|_STAGE$|^STAGE$|^ENV$|ENVIRONMENT|_PROFILE$|_CONTEXT$|_NAMESPACE$|_PROJECT$|_ACCOUNT|CREDENTIAL)`)

// authorities matches the names of variables with the certificates of authorities: they choose no
// target, and each machine of a company has them elsewhere.
var authorities = regexp.MustCompile(`(?i)(CA_?BUNDLE|CA_?CERT|CA_?PATH|ROOT_?CERT|SSL_CERT_(FILE|DIR)$)`)

// ChoosesTarget reports whether a variable chooses what commands work on.
func ChoosesTarget(name string) bool {
	return target.MatchString(name) && !authorities.MatchString(name) || secretName.MatchString(strings.ToUpper(name))
}
