package explain

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"resumed/internal/agent"
	"resumed/internal/explain/recording"
	"resumed/internal/lastwords"
	"resumed/internal/limit"
	"resumed/internal/resume"
	"resumed/internal/sanitize"
)

// reading interprets a recording, and returns its agent.
type reading func(rec agent.Recording, named agent.Agent) (name string, report recording.Report, ok bool)

// recording explains the sessions of a recording, or returns nil if read does not recognise it.
func (x *Explainer) recording(path string, named agent.Agent, now time.Time, read reading) ([]Explanation, error) {
	rec, skipped, err := readRecording(path)
	if err != nil {
		return nil, err
	}
	rec.Beside = otherStream(path)
	if !x.RecordedAt.IsZero() {
		rec.At, rec.Exact = x.RecordedAt, true
	}
	name, report, ok := read(rec, named)
	if !ok {
		return nil, nil
	}
	var found []Explanation
	for _, told := range report.Told {
		out := Explanation{Version: 1, File: path, Agent: name, Session: told.Session, Cwd: told.Cwd}
		x.explainTold(&out, told, report.Kind, now)
		if !told.Beside {
			out.Line = skipped.lineOf(told.Line)
		}
		found = append(found, out)
	}
	return found, nil
}

// recognised finds the agent of a recording among all agents, or only tries the named one.
func (x *Explainer) recognised(rec agent.Recording, named agent.Agent) (string, recording.Report, bool) {
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
func (x *Explainer) worded(rec agent.Recording, named agent.Agent) (string, recording.Report, bool) {
	name := ""
	if named != nil {
		name = named.Name()
	}
	if r, ok := x.readers[name]; ok {
		if told, ok := r.Printed(rec); ok {
			return name, recording.Report{Kind: recording.RunOutput, Told: []recording.Told{told}}, true
		}
	}
	told, ok := x.words(rec)
	ok = ok || named != nil && strings.TrimSpace(rec.Text) != "" && !looksLikeJSON.MatchString(rec.Text)
	return name, recording.Report{Kind: "the output of a program", Told: []recording.Told{told}}, ok
}

var looksLikeJSON = regexp.MustCompile(`^\s*(?:\{|\[\s*["{\[\d])`)

// words judges the last words of a text. JSON of an unknown agent is not judged.
func (x *Explainer) words(rec agent.Recording) (recording.Told, bool) {
	if looksLikeJSON.MatchString(rec.Text) {
		return recording.Told{}, false
	}
	limits := x.limits
	limits.At = rec.At
	v, _ := lastwords.Judge(limits, lastwords.Last(rec.Text))
	if v.Class == limit.None {
		return recording.Told{}, false
	}
	line, words := lastwords.Gist(limits, rec.Text, v)
	return recording.Told{Event: resume.Limited{At: rec.At, Verdict: v, Text: words}, Line: line}, true
}

// explainTold adds what a recording says about a session, and the kind of the recording.
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

// How much of a recording is read: all of it, or its beginning, which identifies the agent, and its end, which has the
// result.
const (
	longestRecording = 4 << 20
	recordingHead    = 64 << 10
)

// skip is the omitted middle of a recording.
type skip struct {
	after int // the last line before it
	lines int
}

func (s skip) lineOf(line int) int {
	if line > s.after {
		return line + s.lines
	}
	return line
}

func readRecording(path string) (rec agent.Recording, skipped skip, err error) {
	file, err := os.Open(path)
	if err != nil {
		return rec, skipped, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return rec, skipped, fmt.Errorf("stat %s: %w", path, err)
	}
	if !info.Mode().IsRegular() {
		return rec, skipped, fmt.Errorf("%s is not a regular file", path)
	}
	data, err := io.ReadAll(io.NewSectionReader(file, max(0, info.Size()-longestRecording), longestRecording))
	if err != nil {
		return rec, skipped, fmt.Errorf("read %s: %w", path, err)
	}
	if info.Size() > longestRecording {
		data = data[bytes.IndexByte(data, '\n')+1:]
		head, err := io.ReadAll(io.NewSectionReader(file, 0, recordingHead))
		if err != nil {
			return rec, skipped, fmt.Errorf("read %s: %w", path, err)
		}
		head = head[:bytes.LastIndexByte(head, '\n')+1]
		skipped.after = bytes.Count(head, []byte{'\n'})
		skipped.lines = lineOf(path, info.Size()-int64(len(data))) - 1 - skipped.after
		data = append(head, data...)
	}
	rec.Path, rec.At = path, info.ModTime()
	if bytes.IndexByte(data, 0) < 0 { // else it is not text
		rec.Text = sanitize.Text(string(data))
	}
	return rec, skipped, nil
}

// streams are common names of the files with a run's two streams.
var streams = [][2]string{{"stdout", "stderr"}, {".out", ".err"}}

// otherStream returns the other stream of the same run, if its file is in the same directory.
func otherStream(path string) string {
	dir, name := filepath.Split(path)
	for _, pair := range streams {
		for i, stream := range pair {
			at := strings.LastIndex(name, stream)
			if at < 0 {
				continue
			}
			beside := name[:at] + pair[1-i] + name[at+len(stream):]
			if rec, _, err := readRecording(filepath.Join(dir, beside)); err == nil {
				return rec.Text
			}
		}
	}
	return ""
}

// Hear returns a function that tells from its streams how a run of one of these agents failed. The class is none if
// the streams do not tell.
func Hear(known map[string]agent.Agent, grace time.Duration) func(name string, rec agent.Recording) resume.Limited {
	of := readers(limit.Reader{Grace: grace})
	return func(name string, rec agent.Recording) resume.Limited {
		r, ok := of[name]
		if !ok || known[name] == nil {
			return resume.Limited{}
		}
		told, _ := r.Printed(rec)
		refused, _ := told.Event.(resume.Limited)
		return refused
	}
}
