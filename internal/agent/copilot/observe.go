package copilot

import (
	"bufio"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"resumed/internal/agent"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

// read says what an event means for its session.
func (a *Agent) read(line agent.Line) (o resume.Observation, ok bool) {
	r, ok := parse(line.Data)
	if !ok || r.aside() {
		return o, false
	}
	if o.Event = r.event(a.Limits, line.ModTime); o.Event == nil {
		return o, false
	}
	h := a.headOf(line.Path)
	o.Key.ID, o.Cwd = h.session, h.cwd
	return o, agent.IsUUID(o.Key.ID)
}

// EventOf says what an event means that a run printed, or returns nil if it means
// nothing for its session.
func EventOf(printed []byte, limits limit.Reader, now time.Time) resume.Event {
	r, ok := parse(printed)
	if !ok || r.aside() {
		return nil
	}
	return r.event(limits, now)
}

// event says what a record means, or returns nil if it means nothing for its session.
// A failure is written when GitHub Copilot CLI has given up trying by itself.
func (r record) event(limits limit.Reader, file time.Time) resume.Event {
	limits.At = r.at(file)
	switch at := limits.At; {
	case at.IsZero():
		return nil
	case r.Type == failure:
		return resume.Limited{At: at, Verdict: r.Data.verdict(limits), Text: agent.Clip(r.Data.Message)}
	case r.moved():
		return resume.Progressed{At: at}
	case r.Type == prompt:
		return resume.Prompted{At: at, By: r.by()}
	case r.Type == aborted, r.Type == rewound:
		return resume.Cancelled{At: at}
	default:
		return nil
	}
}

// waited is what it says of its own retries: no time until a reset.
var waited = regexp.MustCompile(`; retried \d+ times \(total retry wait time: [^)]*\)(?: Last error:)?`)

// verdict says what a failure means: by its status, its code and its words, and by what
// kind of failure GitHub Copilot CLI takes it for.
func (d data) verdict(limits limit.Reader) limit.Verdict {
	v := limits.Refusal(limit.Refusal{Status: d.Status, Code: d.Code, Text: waited.ReplaceAllString(d.Message, "")})
	v.InProgress = false
	switch {
	case d.Kind == "rate_limit" && strings.HasPrefix(d.Code, "user_"): // of a week, of all models, of one
		v.Class, v.WaitHelps = limit.UsageLimit, true
	case d.Kind == "rate_limit" && !v.Class.Transient():
		v.Class, v.WaitHelps = limit.RateLimit, true
	case d.Kind == "quota" && !v.Reset.Stated(): // it is bought, or waited for until the month ends
		v.Class, v.WaitHelps = limit.Billing, false
	case d.Kind == "authentication" || d.Kind == "authorization" || d.Kind == "policy":
		v.Class, v.WaitHelps = limit.Auth, false
	case d.Kind == "context_limit":
		v.Class, v.WaitHelps = limit.ContextOverflow, false
	case v.Class == limit.None:
		v.Class, v.WaitHelps = limit.Unknown, true // it failed, and says nothing
	}
	return v
}

// head is what the first event of a file says: which session it is, and where that works.
type head struct{ session, cwd string }

// headOf returns the head of a file. One whose beginning is gone is of the session that
// its directory is named for.
func (a *Agent) headOf(path string) head {
	if h, known := a.heads.Get(path); known {
		return h
	}
	h := head{session: filepath.Base(filepath.Dir(path))}
	first, ok := firstOf(path)
	if !ok || first.Type != started || !agent.IsUUID(first.Data.SessionID) {
		return h
	}
	h = head{first.Data.SessionID, first.Data.Context.Cwd}
	a.heads.Put(path, h)
	return h
}

// longestStart is more than the first event of a session has.
const longestStart = 1 << 20

// firstOf returns the first event of a file.
func firstOf(path string) (record, bool) {
	file, err := agent.OpenText(path)
	if err != nil {
		return record{}, false
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, longestStart)
	if !lines.Scan() {
		return record{}, false
	}
	return parse(lines.Bytes())
}
