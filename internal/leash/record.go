package leash

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Hidden replaces a value that is not stored.
const Hidden = "(not kept)"

// Keep returns the arguments of a program that may be stored: no prompt, and no secret unless
// secrets is true.
func (f Flags) Keep(args []string, secrets bool) []string {
	rows := f.known()
	var kept []string
	for _, w := range rows.parse(args) {
		switch row, known := rows[w.option]; {
		case w.option == "":
			continue // a prompt, a subcommand, a directory: only for that one start
		case known && row.Effect == Once && row.Takes&arityMask == One:
			kept = append(kept, w.option+"="+Hidden) // without a value it would take the next argument
		case known && row.Effect == Once:
			kept = append(kept, w.option)
		case secrets:
			kept = append(kept, w.raw...)
		default:
			kept = append(kept, w.hide(row)...)
		}
	}
	return kept
}

// Hide returns the command line of any program without values that look like secrets.
func Hide(argv []string) []string {
	shown := slices.Clone(argv)
	for i, arg := range argv {
		if IsSecret(arg) {
			shown[i] = Hidden
		}
		for at, letter := range arg {
			head := arg[:at]
			if name := head[strings.LastIndexAny(head, "-=")+1:]; letter == '=' && secretName.MatchString(strings.ToUpper(name)) {
				shown[i] = head + "=" + Hidden
				break
			}
		}
	}
	return shown
}

// Hides reports whether a part of a command line was not stored: it cannot be run again.
func Hides(argv []string) bool { return word{raw: argv}.hidden() }

// hide returns the word without secret values.
func (w word) hide(row Flag) []string {
	raw := slices.Clone(w.raw)
	if value := strings.TrimPrefix(raw[0], w.option); value != "" {
		value = strings.TrimPrefix(value, "=")
		if shown := row.hide(value); shown != value {
			raw[0] = w.option + "=" + shown
		}
	}
	for i := 1; i < len(raw); i++ {
		raw[i] = row.hide(raw[i])
	}
	return raw
}

// hide returns the part of a value that may be stored.
func (f Flag) hide(value string) string {
	key, _, pair := strings.Cut(value, "=")
	switch {
	case f.Takes&Secret == 0 && !IsSecret(value) && (f.Hides == nil || !f.Hides(value)):
		return value
	case f.Hides != nil && pair:
		return key + "=" + Hidden
	default:
		return Hidden
	}
}

// hidden reports whether a value of the word was not stored.
func (w word) hidden() bool {
	return slices.ContainsFunc(w.raw, func(arg string) bool { return arg == Hidden || strings.HasSuffix(arg, "="+Hidden) })
}

var (
	// secretField matches a field of a document or header that contains a secret.
	secretField = regexp.MustCompile(`(?i)(?:(?:api[_-]?key|token|secret|passw(?:or)?d|authorization|cookie|credential)s?["']?\s*[:=]|bearer)\s*["']?([^\s"'{}\[\],$]{6,})`)
	// keyWord matches a key of one of the providers.
	keyWord = regexp.MustCompile(`\b(sk|pk|rk|ghp|gho|ghs|xox[abp]|AIza|AKIA|eyJ)[-_A-Za-z0-9]{12,}`)
)

// IsSecret reports whether a text contains something like a key, a token or a password.
func IsSecret(text string) bool {
	if keyWord.MatchString(text) {
		return true
	}
	for _, found := range secretField.FindAllStringSubmatch(text, -1) {
		if strings.Trim(found[len(found)-1], "0123456789") != "" { // a count of tokens is not secret
			return true
		}
	}
	for word := range strings.FieldsSeq(text) {
		if !strings.Contains(word, "@") || !strings.Contains(word, "://") {
			continue
		}
		if u, err := url.Parse(strings.Trim(word, `"'`)); err != nil || u.User != nil {
			return true
		}
	}
	return false
}
