package codex

import (
	"encoding/binary"
	"encoding/hex"
	"regexp"
	"strings"
	"time"

	"resumed/internal/agent"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

// Printed says what the streams of `codex exec` tell: records with --json, else
// the words on its standard error.
func (a *Agent) Printed(rec agent.Recording) (agent.Told, bool) {
	c := clock{rec.At, rec.Exact}
	for _, read := range []func(string, clock) (agent.Told, bool){a.records, a.report} {
		if told, ok := read(rec.Text, c); ok {
			return told, true
		}
		if told, ok := read(rec.Beside, c); ok {
			told.Beside = true
			return told, true
		}
	}
	return agent.Told{}, false
}

// printed is one record of `codex exec --json`.
type printed struct {
	Type    string  `json:"type"`
	Thread  string  `json:"thread_id"`
	Message string  `json:"message"`
	Error   failure `json:"error"`
	Item    item    `json:"item"`
}

// records reads the records of a run.
func (a *Agent) records(text string, c clock) (told agent.Told, ok bool) {
	at := c.at
	for line, data := range agent.Records(text) {
		var p printed
		if !decode(data, &p) {
			continue
		}
		if p.Type == "thread.started" && uuid.MatchString(p.Thread) {
			told.Session, ok = p.Thread, true
			at = c.since(p.Thread)
		}
		ok = ok || strings.HasPrefix(p.Type, "turn.")
		if event := a.said(p, at); event != nil {
			told.Event, told.Line = event, line
		}
	}
	return told, ok
}

// said returns what a record says, or nil where it says nothing new. An error
// is also what Codex tries again; items of that name are warnings.
func (a *Agent) said(p printed, at time.Time) resume.Event {
	switch {
	case p.Type == "turn.started":
		return resume.Prompted{At: at}
	case p.Type == "turn.completed", p.Type == "item.completed" && p.Item.Type != "error":
		return resume.Progressed{At: at}
	case p.Type == "turn.failed":
		return a.refused(p.Error, at)
	case p.Type == "error":
		return a.refused(failure{Message: p.Message}, at)
	default:
		return nil
	}
}

// retrying is how Codex says that it tries again.
var retrying = regexp.MustCompile(`(?i)^(?:reconnecting\.\.\.|stream error: .*retrying)`)

// refused is an error as Codex tells it outside of a rollout: without what the
// provider said of the account's limits.
func (a *Agent) refused(f failure, at time.Time) resume.Limited {
	return a.refusedWith(f, at, rateLimits{})
}

func (a *Agent) refusedWith(f failure, at time.Time, limits rateLimits) resume.Limited {
	reader := a.reader
	reader.At = at
	v := f.verdict(reader, func() rateLimits { return limits })
	if retrying.MatchString(f.Message) {
		v = inProgress(v)
	}
	return resume.Limited{At: at, Verdict: v, Text: agent.Clip(f.Message)}
}

// inProgress is what a refusal means that Codex tries again by itself. Codex
// says when in no words of its own.
func inProgress(v limit.Verdict) limit.Verdict {
	if !v.Class.Transient() {
		v.Class = limit.ServerError // it is tried again, so it may be one that passes
	}
	v.WaitHelps, v.InProgress, v.Reset = true, true, limit.Reset{}
	return v
}

var (
	bannerField = regexp.MustCompile(`^(workdir|session id): (\S.*)$`)
	complaint   = regexp.MustCompile(`^(?:\[[^\]]*\] )?ERROR: (.+)$`)
)

// report reads the words of a run: a banner, then sections that begin with who
// speaks.
func (a *Agent) report(text string, c clock) (told agent.Told, begun bool) {
	n, at := 0, c.at
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimRight(line, "\r\n \t")
		field, said := bannerField.FindStringSubmatch(line), complaint.FindStringSubmatch(line)
		var event resume.Event
		switch {
		case field != nil && told.Event == nil && field[1] == "workdir":
			told.Cwd = field[2]
		case field != nil && told.Event == nil && uuid.MatchString(field[2]):
			begun, told.Session = true, field[2]
			at = c.since(field[2])
		case !begun:
		case line == "user":
			event = resume.Prompted{At: at}
		case line == "codex", strings.HasSuffix(line, "] codex"):
			event = resume.Progressed{At: at}
		case said != nil:
			event = a.complained(said[1], at, told.Event)
		}
		if event != nil {
			told.Event, told.Line = event, n
		}
	}
	return told, begun
}

// complained is an error among the words of a run. What is tried again is not
// said there, but that it is.
func (a *Agent) complained(text string, at time.Time, before resume.Event) resume.Event {
	refused := a.refused(failure{Message: text}, at)
	if last, ok := before.(resume.Limited); ok && last.Text == refused.Text {
		return nil // it is said twice
	}
	return refused
}

// clock is when a run's words were printed, as far as that is known.
type clock struct {
	at    time.Time
	exact bool
}

// since returns from when on the clock times in a session's words count. The
// copy of a file is younger than what it tells; a session's name holds the time
// of its beginning, which is as good within a day.
func (c clock) since(session string) time.Time {
	id, err := hex.DecodeString(strings.ReplaceAll(session, "-", ""))
	if c.exact || err != nil || len(id) != 16 || id[6]>>4 != 7 {
		return c.at
	}
	began := time.UnixMilli(int64(binary.BigEndian.Uint64(append([]byte{0, 0}, id[:6]...)))).UTC()
	if age := c.at.Sub(began); age < 0 || age > 24*time.Hour {
		return c.at
	}
	return began
}

// Recorded says what a recording tells: the output of a run, a screen, the
// messages of an app-server, or what hooks were told.
func (a *Agent) Recorded(rec agent.Recording) (agent.Report, bool) {
	if told, ok := a.Printed(rec); ok {
		return agent.Report{Kind: agent.RunOutput, Told: []agent.Told{told}}, true
	}
	if told, ok := a.served(rec); ok {
		return agent.Report{Kind: "the messages of an app-server", Told: told}, true
	}
	if told, ok := hooked(rec); ok {
		return agent.Report{Kind: agent.HookCalls, Told: told}, true
	}
	if told, ok := a.shown(rec); ok {
		return agent.Report{Kind: agent.Screen, Told: []agent.Told{told}}, true
	}
	return agent.Report{}, false
}
