package custom

import (
	"bytes"
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"resumed/internal/agent"
	"resumed/internal/limit"
	"resumed/internal/lines"
	"resumed/internal/resume"
)

// sift matches the patterns. Progress lines are interchangeable only if the file has one session.
func (a *Agent) sift(line []byte) agent.Weight {
	for _, re := range a.limits {
		if re.Match(line) {
			return agent.Matters
		}
	}
	for _, re := range a.progress {
		if re.Match(line) {
			if a.session.Match(line) || re.SubexpIndex("session") >= 0 {
				return agent.Matters
			}
			return agent.Moves
		}
	}
	return agent.Nothing
}

// Observe returns what one line means. A limit has precedence over progress.
func (a *Agent) Observe(src agent.Source, line lines.Line) (resume.Observation, bool) {
	for _, re := range a.limits {
		if m := find(re, line.Data); m != nil {
			return a.observation(src, line, m, a.limited(m, line))
		}
	}
	for _, re := range a.progress {
		if m := find(re, line.Data); m != nil {
			at, _ := a.written(m, line)
			return a.observation(src, line, m, resume.Progressed{At: at})
		}
	}
	return resume.Observation{}, false
}

// groups are the non-empty named groups of a match.
type groups map[string]string

func find(re *regexp.Regexp, text []byte) groups {
	m := re.FindSubmatch(text)
	if m == nil {
		return nil
	}
	found := groups{}
	for i, name := range re.SubexpNames() {
		if name != "" && len(m[i]) > 0 {
			found[name] = string(m[i])
		}
	}
	return found
}

// limited returns the event of a limit line; nil: its class is "none".
func (a *Agent) limited(m groups, line lines.Line) resume.Event {
	text := agent.Clip(strings.TrimSpace(cmp.Or(m["text"], string(line.Data))))
	class := limit.RateLimit
	for _, c := range limit.Classes() {
		if _, ok := m[c.String()]; ok {
			class = c
			break
		}
	}
	if name, ok := m["class"]; ok {
		parsed, err := limit.ParseClass(strings.ToLower(name))
		if err == nil {
			class = parsed
		} else {
			text = fmt.Sprintf("%s (%v, taken as %s)", text, err, class)
		}
	}
	at, reader := a.written(m, line)
	switch class {
	case limit.None:
		return nil
	case limit.Cancelled:
		return resume.Cancelled{At: at}
	default:
		verdict := limit.Verdict{Class: class, WaitHelps: class.Transient(), Reset: reset(m, reader)}
		return resume.Limited{At: at, Verdict: verdict, Text: text}
	}
}

// written returns when a line was written, and the reader for its times. An unknown zone or an impossible
// time is replaced by the reader's own: no line is newer than its file.
func (a *Agent) written(m groups, line lines.Line) (time.Time, limit.Reader) {
	reader := a.LimitsAt(line.ModTime)
	if zone, ok := limit.ParseZone(m["zone"]); ok {
		reader.Zone = zone
	}
	// A line from the same second as the file gets the file's time: a later line of that second must
	// not seem to be older.
	if at, ok := reader.Written(m["time"]); ok && line.ModTime.Sub(at) >= time.Second {
		reader.At = at
	}
	return reader.At, reader
}

// tick is how far file times may be behind the clock: a wait counted from one must not end too early.
const tick = 10 * time.Millisecond

// reset returns when the limit lifts, or no reset if the time cannot be parsed.
func reset(m groups, reader limit.Reader) limit.Reset {
	after := m["after"]
	if n, err := strconv.ParseUint(after, 10, 31); err == nil {
		after = fmt.Sprintf("%ds", n) // a bare number is seconds, as in Retry-After
	}
	if reset, ok := reader.When("in " + after); ok && after != "" {
		reset.At = reset.At.Add(tick)
		return reset
	}
	reset, _ := reader.When(m["at"])
	return reset
}

// observation adds the session: of the line's own group, else by the session pattern on the line, then the path.
func (a *Agent) observation(src agent.Source, line lines.Line, m groups, event resume.Event) (resume.Observation, bool) {
	id, cwd := m["session"], m["cwd"]
	for _, text := range [][]byte{line.Data, []byte(line.Path)} {
		if id != "" {
			break
		}
		if found := a.session.FindSubmatch(text); found != nil {
			id = string(found[max(1, a.session.SubexpIndex("session"))])
			cwd = cmp.Or(cwd, find(a.session, text)["cwd"])
		}
	}
	if event == nil || id == "" || !utf8.ValidString(id) {
		return resume.Observation{}, false
	}
	if _, stopped := event.(resume.Limited); cwd == "" && stopped {
		cwd = a.told(id) // a session that only moves does not need it
	}
	return resume.Observation{
		Key:        resume.Key{Agent: a.Name(), ID: id},
		Account:    src.Account,
		Cwd:        cmp.Or(cwd, a.is.Cwd),
		Transcript: line.Path,
		Event:      event,
	}, true
}

// maxFirstLine bounds how much of a session's file is read to find its directory.
const maxFirstLine = 64 << 10

// told returns the directory in the session's own file, or "". An unsafe id might be a pattern or another path.
func (a *Agent) told(id string) string {
	if a.is.About == "" || !safeID().MatchString(id) {
		return ""
	}
	files, _ := filepath.Glob(strings.ReplaceAll(a.is.About, "{session}", id)) // errs on a bad pattern only
	for _, name := range files {
		begin := lines.Line{Path: name}.Opening(make([]byte, maxFirstLine))
		first, _, whole := bytes.Cut(begin, []byte("\n")) // else it is half written, or has no lines
		if dir := find(a.session, first)["cwd"]; whole && filepath.IsAbs(dir) {
			return dir
		}
	}
	return ""
}
