package notify

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"text/template"
	"time"

	"resumed/internal/limit"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
	"resumed/internal/sanitize"
)

func localTime(t any) (string, error) {
	switch t := t.(type) {
	case time.Time:
		return t.Local().Format("2 Jan 15:04:05"), nil
	case *time.Time:
		if t == nil {
			return "", nil
		}
		return localTime(*t)
	default:
		return "", fmt.Errorf("local wants a time, got %T", t)
	}
}

// parseWording parses a user's template of a title or a text, and tries it on a notice of every kind, so
// that a wrong name is found at once. An empty text gives nil, which means the built-in words.
//
// A template gets a Notice with the names of its Go fields, and three functions: project returns the
// directory name of a session, agent the full name of an agent, and local the clock time of a time, or
// nothing if there is none.
func parseWording(text string, agents Titles) (*template.Template, error) {
	if text == "" {
		return nil, nil
	}
	funcs := template.FuncMap{"project": project, "agent": agents.of, "local": localTime}
	parsed, err := template.New("words").Funcs(funcs).Option("missingkey=error").Parse(text)
	if err != nil {
		return nil, errors.New(mistake(err))
	}
	for _, sample := range sampleNotices() {
		if err := parsed.Execute(io.Discard, sample); err != nil {
			return nil, fmt.Errorf("%s (on a %s notice)", mistake(err), sample.Event)
		}
	}
	return parsed, nil
}

var (
	noField    = regexp.MustCompile(`can't evaluate field (\w+) in type (\S+)`)
	noFunction = regexp.MustCompile(`function "(\w+)" not defined`)
)

// mistake returns what is wrong with a template, without the words of the library.
func mistake(err error) string {
	said := err.Error()
	if f := noFunction.FindStringSubmatch(said); f != nil {
		return fmt.Sprintf("there is no function %s: there are project, agent and local", f[1])
	}
	f := noField.FindStringSubmatch(said)
	if f == nil {
		return "must be a text/template: " + strings.TrimPrefix(said, "template: words:")
	}
	const ofNotice = ".Event .Host .Title .Text .Account .RetryCommand .Sessions"
	const ofSession = ".ID .Agent .Cwd .Class .Reason .Attempt .NextAt"
	switch {
	case strings.HasSuffix(f[2], "notify.Notice"):
		return fmt.Sprintf("a notice has no .%s: it has %s", f[1], ofNotice)
	case strings.HasSuffix(f[2], "view.Session"):
		return fmt.Sprintf("a session has no .%s: it has %s", f[1], ofSession)
	default:
		return fmt.Sprintf("there is no .%s here", f[1])
	}
}

// maxWords bounds the output of a template.
const maxWords = 16 << 10

// say returns the output for a notice; empty if there is no template, or it fails or writes too much.
func say(words *template.Template, n Notice) string {
	var out strings.Builder
	if words == nil || words.Execute(&out, n) != nil || out.Len() > maxWords {
		return ""
	}
	return strings.TrimSpace(sanitize.Text(out.String()))
}

// sampleNotices returns one notice of each event, with and without sessions.
func sampleNotices() []Notice {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	full := view.Session{
		ID: "4f2a9c1e", Agent: "claude-code", Account: "claude-code:default", Cwd: "/src/api",
		State: resume.GaveUp, Class: limit.UsageLimit, Reason: "gave up", LimitedAt: &at,
		Attempt: 1, MaxRetries: 5,
		Attempts: []view.Attempt{{N: 1, StartedAt: &at, DelaySeconds: 30, Outcome: resume.LimitedOut}},
	}
	bare := view.Session{ID: "0198", Agent: "codex", State: resume.Waiting, Attempts: []view.Attempt{}}
	var samples []Notice
	for _, e := range Events() {
		g := newGroup(e, at)
		if e != ConfigError && e != StateError && e != Test {
			g.Account, g.Sessions = full.Account, []view.Session{full, bare}
		}
		samples = append(samples, compose(g, "host", nil))
	}
	return samples
}
