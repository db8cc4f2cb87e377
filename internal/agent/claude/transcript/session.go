package transcript

import (
	"bytes"
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"resumed/internal/agent"
	"resumed/internal/limit"
	"resumed/internal/lines"
	"resumed/internal/resume"
	"resumed/internal/sanitize"
)

// maxBackLines bounds how far back a transcript is searched: a long turn may have many records.
const maxBackLines = 20_000

// lookBack visits the records of the main conversation, the last first, until read returns false.
func lookBack(ctx context.Context, in lines.Span, may func(line []byte) bool, read func(record, lines.Line) bool) error {
	in.Lines = maxBackLines
	return lines.Records(ctx, in, may, func(r record, line lines.Line) bool { return r.IsSidechain || read(r, line) })
}

// Settings are those of a session that a resumed run does not inherit.
type Settings struct {
	Permission string
	Model      string
	Effort     string
	Cwd        string // of its newest prompt or answer
}

// LastSettings returns the last settings of a session: the permission mode is in its last prompt, or
// in a record of its own if it was changed later; model and effort are in its last answer. Versions
// before 2.1 record none of them. If another model took over within the turn of that answer, the
// next turn uses the first model again.
func LastSettings(ctx context.Context, transcript string) (had Settings, err error) {
	var prompt, answer, whole bool // whole: the turn of that answer was searched
	may := lines.Any(`"permissionMode"`, `"requestedModel"`, `"model_fallback"`).In
	err = lookBack(ctx, lines.Whole(transcript), may, func(r record, _ lines.Line) bool {
		had.Cwd = cmp.Or(had.Cwd, r.Cwd)
		switch {
		case r.Type == "system" && r.Subtype == "model_fallback":
			if answer && !whole && r.Took == had.Model && r.Left != "" {
				had.Model = r.Left // there may be an earlier change
			}
		case (r.Type == "user" || r.Type == "permission-mode") && r.Permission != "":
			if !prompt {
				had.Permission, prompt = r.Permission, true
			}
			whole = whole || answer && r.Type == "user"
		case !answer && r.moved() && r.Model != "":
			had.Model, had.Effort, answer = r.Model, r.Effort, true
		}
		return !(prompt && answer && whole)
	})
	return had, err
}

// Size returns the context at an answer: the provider caches it for five minutes, or for an hour on request.
func Size(line lines.Line) (resume.Context, bool) {
	if !bytes.Contains(line.Data, []byte(`"input_tokens"`)) {
		return resume.Context{}, false
	}
	r, ok := parse(line.Data)
	u := r.Message.Usage
	if !ok || r.Type != "assistant" || r.IsSidechain || r.IsAPIError || u.Input+u.Created+u.Read <= 0 {
		return resume.Context{}, false
	}
	warm := 5 * time.Minute
	if u.Kept.Hour > 0 {
		warm = time.Hour
	}
	return resume.Context{Tokens: u.Input + u.Created + u.Read + u.Output, At: r.at(line.ModTime), Warm: warm}, true
}

// CommandsFollow reports whether a command without the model, such as /context, follows the last refusal.
func CommandsFollow(ctx context.Context, transcript string) (follow bool) {
	err := lookBack(ctx, lines.Whole(transcript), lines.Any("<command-name>", "ApiErrorMessage").In, func(r record, _ lines.Line) bool {
		follow = !r.IsAPIError
		return false
	})
	return err == nil && follow
}

// Cleared reports whether a transcript begins with /clear and has no prompt.
func Cleared(ctx context.Context, transcript string) bool {
	cleared, prompted := false, false
	err := lookBack(ctx, lines.Whole(transcript), byUser.In, func(r record, _ lines.Line) bool {
		cleared = cleared || strings.HasPrefix(r.Message.text(), "<command-name>/clear<")
		prompted = prompted || r.prompts()
		return !prompted
	})
	return err == nil && cleared && !prompted
}

// OpenCall returns the first call at the end that has no result: it runs, or waits for a permission.
func OpenCall(ctx context.Context, s resume.Session) (open agent.Call) {
	done := make(map[string]bool)
	_ = lookBack(ctx, lines.Whole(s.Transcript), lines.Any("tool_use", `"user"`).In, func(r record, line lines.Line) bool { // what cannot be read is not named
		calls := false
		for _, b := range r.Message.blocks() {
			if b.CallID != "" {
				done[b.CallID] = true
			}
			if b.Type == "tool_use" && !done[b.ID] {
				open, calls = agent.Call{ID: b.ID, Tool: b.Name, Use: agent.UseOf(b.Input)}, true
			}
		}
		return calls || open.ID == "" && (!r.prompts() || len(done) == 0 && agent.SentByUs(s, r.at(line.ModTime)))
	})
	return open
}

// Turn is the state of the last turn of a transcript.
type Turn uint8

// The states.
const (
	TurnOver     Turn = iota // or not known
	TurnPrompted             // it has a prompt and no answer. If a person takes the prompt back at once, nothing is recorded
	TurnOpen                 // it has certainly not ended: its last record is a call of a tool, its result or a thought
)

// LastTurn returns the state of the last turn, and when its last record was written.
func LastTurn(ctx context.Context, transcript string) (turn Turn, at time.Time, err error) {
	err = lookBack(ctx, lines.Whole(transcript), lines.Any(`"user"`, `"assistant"`, `"turn_duration"`).In, func(r record, line lines.Line) bool {
		switch {
		case r.interrupts(), r.Subtype == "turn_duration", strings.HasPrefix(r.Message.text(), "<command-name>/exit<"):
		case r.Type == "assistant":
			if r.moved() && r.Message.goesOn() {
				turn = TurnOpen
			}
		case r.Type == "user" && r.Message.has("tool_result"):
			turn = TurnOpen
		case r.prompts():
			turn = TurnPrompted
		default:
			return true // it says nothing about the turn
		}
		at = r.at(line.ModTime)
		return false
	})
	return turn, at, err
}

// goesOn: a text without a reason to stop may be the last one, as some versions do not record the reason.
func (m message) goesOn() bool {
	blocks := m.blocks()
	return m.StopReason == "tool_use" || m.has("tool_use") ||
		m.StopReason == "" && len(blocks) > 0 && strings.HasSuffix(blocks[len(blocks)-1].Type, "thinking")
}

func (m message) has(kind string) bool {
	return slices.ContainsFunc(m.blocks(), func(b block) bool { return b.Type == kind })
}

const (
	mostSubagents = 50

	longestAbout = 60
)

// Subagents returns the subagents of a session that ended with a refusal since a time, and have not
// continued, the oldest first. Each has a transcript of its own, SESSION/subagents/agent-ID.jsonl, and
// a description beside it.
func (rd *Reader) Subagents(ctx context.Context, transcript string, since time.Time) ([]resume.Subagent, error) {
	paths, err := newest(filepath.Join(strings.TrimSuffix(transcript, ".jsonl"), "subagents"), since)
	var stopped []resume.Subagent
	for _, path := range paths {
		found, ok, err := rd.subagent(ctx, path)
		if err != nil {
			return nil, err
		}
		if ok && !found.At.Before(since) {
			stopped = append(stopped, found)
		}
	}
	slices.SortFunc(stopped, func(a, b resume.Subagent) int { return cmp.Or(a.At.Compare(b.At), strings.Compare(a.ID, b.ID)) })
	return stopped, err
}

func newest(dir string, since time.Time) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if os.IsNotExist(err) {
		return nil, nil
	}
	written := make(map[string]time.Time)
	var paths []string
	for _, entry := range entries {
		is, _ := filepath.Match("agent-*.jsonl", entry.Name()) // errs on a bad pattern only
		info, statErr := entry.Info()
		if !is || statErr != nil || !info.Mode().IsRegular() || info.ModTime().Before(since) {
			continue
		}
		path := filepath.Join(dir, entry.Name())
		written[path], paths = info.ModTime(), append(paths, path)
	}
	slices.SortFunc(paths, func(a, b string) int { return cmp.Or(written[b].Compare(written[a]), strings.Compare(a, b)) })
	return paths[:min(len(paths), mostSubagents)], err
}

// subagent returns the subagent of a transcript that ends with a refusal that may lift by itself.
func (rd *Reader) subagent(ctx context.Context, path string) (found resume.Subagent, stopped bool, err error) {
	in := lines.Whole(path)
	in.Lines = maxBackLines
	err = lines.Records(ctx, in, lines.Any(`"user"`, `"assistant"`).In, func(r record, line lines.Line) bool {
		if r.Type != "assistant" && r.Type != "user" {
			return true
		}
		verdict := limit.Verdict{}
		if stopped = r.Type == "assistant" && r.IsAPIError; stopped {
			verdict = r.refusal().Verdict(rd.LimitsAt(r.at(line.ModTime)))
			stopped = verdict.Class.Transient()
		}
		found = resume.Subagent{Class: verdict.Class, At: r.at(line.ModTime), Reset: verdict.Reset.At}
		return false
	})
	found.ID = strings.TrimPrefix(strings.TrimSuffix(filepath.Base(path), ".jsonl"), "agent-")
	if !stopped || !IsID(found.ID) {
		return resume.Subagent{}, false, err
	}
	found.Kind, found.About = described(strings.TrimSuffix(path, ".jsonl") + ".meta.json")
	return found, true, err
}

func described(path string) (kind, about string) {
	var meta struct {
		Kind  string `json:"agentType"`
		About string `json:"description"`
	}
	agent.ReadJSON(path, &meta) // without it, the subagent has its id only
	return sanitize.Short(meta.Kind, longestAbout), sanitize.Short(meta.About, longestAbout)
}
