package explain

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"resumed/internal/agent"
	"resumed/internal/explain/claude"
	"resumed/internal/explain/codex"
	"resumed/internal/explain/copilot"
	"resumed/internal/explain/gemini"
	"resumed/internal/explain/kimi"
	"resumed/internal/explain/opencode"
	"resumed/internal/explain/pi"
	"resumed/internal/explain/qwen"
	"resumed/internal/explain/recording"
	"resumed/internal/headless"
	"resumed/internal/lastwords"
	"resumed/internal/lazy"
	"resumed/internal/limit"
	"resumed/internal/resume"
	"resumed/internal/sanitize"
)

func (x *Explainer) recording(rec recorded, name string, report recording.Report, now time.Time) (found []Explanation) {
	for _, told := range report.Told {
		out := Explanation{Version: 1, File: rec.Path, Agent: name, Session: told.Session, Cwd: told.Cwd}
		x.explainTold(&out, told, report.Kind, now)
		if !told.Beside {
			out.Line = rec.lineOf(told.Line)
		}
		found = append(found, out)
	}
	return found
}

func (x *Explainer) recognised(rec headless.Recording, named agent.Agent) (string, recording.Report, bool) {
	for _, name := range x.among(named) {
		if r, ok := x.readers[name]; ok {
			if report, ok := r.Recorded(rec); ok {
				return name, report, true
			}
		}
	}
	return "", recording.Report{}, false
}

// worded judges a recording that was not recognised: as output of the named agent, or by the last words of its text.
func (x *Explainer) worded(rec headless.Recording, named agent.Agent) (recording.Report, bool) {
	if named != nil {
		if told, ok := x.readers[named.Name()].Printed(rec); ok {
			return recording.Of(recording.RunOutput, told), true
		}
	}
	if looksLikeJSON().MatchString(rec.Text) {
		return recording.Report{}, false // JSON of an unknown agent is not judged
	}
	told := recording.Told{}
	limits := x.limits
	limits.At = rec.At
	if v, _ := lastwords.Judge(limits, lastwords.Last(rec.Text)); v.Class != limit.None {
		line, words := lastwords.Gist(limits, rec.Text, v)
		told = recording.Told{Event: resume.Limited{At: rec.At, Verdict: v, Text: words}, Line: line}
	}
	return recording.Of("the output of a program", told), told.Event != nil || named != nil && strings.TrimSpace(rec.Text) != ""
}

var looksLikeJSON = lazy.Regexp(`^\s*(?:\{|\[\s*["{\[\d])`)

func (x *Explainer) explainTold(out *Explanation, told recording.Told, kind string, now time.Time) {
	out.Action, out.Why = Leave, "it does not say what state a session is in"
	if told.Event != nil {
		x.weigh(out, told.Event, now)
	}
	switch {
	case told.Leave != "":
		out.Action, out.Why = Leave, told.Leave
	case out.InProgress:
		out.Why = "the agent was going to try again by itself when this was written"
	case told.Working:
		out.InProgress = true
		out.Why = "the agent was at work when this was written"
	}
	if told.Beside {
		out.Why += ", according to the run's other stream"
	}
	out.Why += fmt.Sprintf("; the file is %s, not a transcript: the daemon does not act on it", kind)
}

// A long recording is read at its beginning, which identifies the agent, and at its end, which has the result.
const (
	longestRecording = 4 << 20
	recordingHead    = 64 << 10
)

type recorded struct {
	headless.Recording
	before  int // the last line before the omitted ones
	omitted int // how many lines are omitted
}

func (r recorded) lineOf(line int) int {
	if line > r.before {
		return line + r.omitted
	}
	return line
}

func (x *Explainer) readRecording(path string) (recorded, error) {
	rec, err := readText(path)
	rec.Beside = otherStream(path)
	if !x.RecordedAt.IsZero() {
		rec.At, rec.Exact = x.RecordedAt, true
	}
	return rec, err
}

func readText(path string) (rec recorded, err error) {
	file, info, err := open(path)
	if err != nil {
		return rec, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.NewSectionReader(file, max(0, info.Size()-longestRecording), longestRecording))
	if err == nil && info.Size() > longestRecording {
		data = data[bytes.IndexByte(data, '\n')+1:]
		var head []byte
		head, err = io.ReadAll(io.NewSectionReader(file, 0, recordingHead))
		head = head[:bytes.LastIndexByte(head, '\n')+1]
		rec.before = bytes.Count(head, []byte{'\n'})
		rec.omitted = lineOf(path, info.Size()-int64(len(data))) - 1 - rec.before
		data = append(head, data...)
	}
	if err != nil {
		return rec, fmt.Errorf("read %s: %w", path, err)
	}
	rec.Path, rec.At = path, info.ModTime()
	if bytes.IndexByte(data, 0) < 0 { // else it is not text
		rec.Text = sanitize.Text(string(data))
	}
	return rec, nil
}

var streams = [][2]string{{"stdout", "stderr"}, {".out", ".err"}}

func otherStream(path string) string {
	dir, name := filepath.Split(path)
	for _, pair := range streams {
		for i, stream := range pair {
			at := strings.LastIndex(name, stream)
			if at < 0 {
				continue
			}
			beside := name[:at] + pair[1-i] + name[at+len(stream):]
			if rec, err := readText(filepath.Join(dir, beside)); err == nil {
				return rec.Text
			}
		}
	}
	return ""
}

// ClassifyOutput tells from its streams how a run of one of these agents failed; none: they do not tell.
func ClassifyOutput(known map[string]agent.Agent, grace time.Duration) func(name string, rec headless.Recording) resume.Limited {
	of := readers(limit.Reader{Grace: grace})
	return func(name string, rec headless.Recording) resume.Limited {
		r, ok := of[name]
		if !ok || known[name] == nil {
			return resume.Limited{}
		}
		told, _ := r.Printed(rec)
		refused, _ := told.Event.(resume.Limited)
		return refused
	}
}

// readers returns all readers, by the name of their agent. Agents without one are explained only by their transcripts.
func readers(limits limit.Reader) map[string]recording.Reader {
	all := map[string]recording.Reader{opencode.Kilo: opencode.Reader.With(limits)}
	for _, r := range []recording.Reader{
		claude.Reader, codex.Reader, copilot.Reader, gemini.Reader, kimi.Reader, opencode.Reader, pi.Reader, qwen.Reader,
	} {
		all[r.Name] = r.With(limits)
	}
	return all
}

type databases interface {
	// HasDatabase reports whether path has the name of a database of the agent.
	HasDatabase(path string) bool
}
