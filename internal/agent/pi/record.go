package pi

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"resumed/internal/agent"
	"resumed/internal/limit"
	"resumed/internal/lines"
	"resumed/internal/resume"
)

// entry is one line of a session.
type entry struct {
	Type      string  `json:"type"`
	ID        string  `json:"id"` // of the session, in the first line
	Timestamp string  `json:"timestamp"`
	Cwd       string  `json:"cwd"`
	Message   message `json:"message"`

	// of a change of the model
	Provider string `json:"provider"`
	Model    string `json:"modelId"`
}

// message is a prompt, an answer of the model, or the result of a tool.
type message struct {
	Role       string  `json:"role"`
	Content    content `json:"content"`
	Provider   string  `json:"provider"`
	StopReason string  `json:"stopReason"`
	Error      string  `json:"errorMessage"`
	Usage      struct {
		Total int64 `json:"totalTokens"`
	} `json:"usage"`

	// of a change of the tools that the model is offered
	Added   []tool `json:"toolsAdded"`
	Removed []tool `json:"toolsRemoved"`
}

type tool struct {
	Name string `json:"name"`
}

// part is a part of a message.
type part struct {
	Type      string         `json:"type"`
	Text      string         `json:"text"`
	ID        string         `json:"id"` // of a call
	Name      string         `json:"name"`
	Arguments map[string]any `json:"arguments"`
}

// content is a text, or a list of parts.
type content []part

// UnmarshalJSON parses a content. What is neither a text nor a list of parts is empty.
func (c *content) UnmarshalJSON(data []byte) error {
	var text string
	var parts []part
	if json.Unmarshal(data, &text) == nil {
		parts = []part{{Text: text}}
	} else if json.Unmarshal(data, &parts) != nil {
		parts = nil
	}
	*c = parts
	return nil
}

func (c content) text() string {
	return agent.JoinedTexts(c, func(p part) string { return p.Text })
}

// The types of entries that matter.
const (
	header     = "session"
	messaged   = "message"
	remodelled = "model_change"
	branched   = "branch_summary"
)

// sift ignores bookkeeping.
var sift = agent.SiftByType([]string{messaged}, []string{branched})

// read returns what an entry means. pi tries again by itself after a failure: as long as its process is alive it owns
// the session, and its next entries tell more.
func read(line lines.Line, limits func(time.Time) limit.Reader) (agent.Record, bool) {
	e, ok := lines.Parse[entry](line.Data)
	if !ok {
		return agent.Record{}, false
	}
	said := agent.Record{}
	said.At = agent.Written(e.Timestamp, line.ModTime)
	switch {
	case e.Type == remodelled:
		said.Model, said.Login = e.Model, e.Provider
	case e.Type == branched: // a person went back to an earlier entry
		said.Event = resume.Cancelled{At: said.At}
	case e.Type == messaged && e.Message.Role == "user":
		said.Event, said.Prompt = resume.Prompted{At: said.At}, e.Message.Content.text()
	case e.Type == messaged && e.Message.Role == "assistant":
		e.Message.answer(&said, limits)
	}
	return said, true
}

// EventOf returns the event of a record that a run printed, or nil if it has no meaning for its session. Each message
// is printed when it is complete; it has no time of its own.
func EventOf(printed []byte, limits limit.Reader) resume.Event {
	e, ok := lines.Parse[entry](printed)
	said := agent.Record{ToolUse: agent.ToolUse{At: limits.At}}
	if ok && e.Type == "message_end" && e.Message.Role == "assistant" {
		e.Message.answer(&said, func(time.Time) limit.Reader { return limits })
	}
	return said.Event
}

// answer adds what an answer of the model, or its failure, says.
func (m message) answer(said *agent.Record, limits func(time.Time) limit.Reader) {
	said.Provider, said.Tokens = m.Provider, m.Usage.Total
	moved := strings.TrimSpace(m.Content.text()) != ""
	for _, p := range m.Content {
		if p.Type == "toolCall" {
			moved = true
			said.Calls = append(said.Calls, agent.Call{ID: p.ID, Tool: p.Name, Use: agent.UseOf(p.Arguments)})
		}
	}
	switch {
	case m.StopReason == "error":
		said.Event = resume.Limited{At: said.At, Verdict: Verdict(limits(said.At), m.Error), Text: agent.Clip(m.Error)}
	case m.StopReason == "aborted":
		said.Event = resume.Cancelled{At: said.At}
	case moved:
		said.Event = resume.Progressed{At: said.At}
	}
}

// status matches the HTTP status at the beginning of a failure's text.
var status = regexp.MustCompile(`^([1-5][0-9]{2}):? `)

// Verdict returns the meaning of the text of a failed request.
func Verdict(limits limit.Reader, text string) limit.Verdict {
	refusal := limit.Refusal{Text: text}
	if found := status.FindStringSubmatch(text); found != nil {
		refusal.Status, _ = strconv.Atoi(found[1]) // three digits
		refusal.Text = strings.TrimPrefix(text, found[0])
	}
	return agent.Failed(limits.Refusal(refusal))
}

// toolsOf returns the tools that the session's model was offered last, or false if the session does not say.
func toolsOf(ctx context.Context, path string) (tools []string, known bool, err error) {
	decided := make(map[string]bool) // by newer entries
	err = lines.Back(ctx, path, func(line lines.Line) bool {
		e, ok := lines.Parse[entry](line.Data)
		if !ok || e.Message.Role != "system" {
			return true
		}
		known = true
		for _, t := range e.Message.Removed {
			decided[t.Name] = true
		}
		for _, t := range e.Message.Added {
			if !decided[t.Name] && toolName.MatchString(t.Name) {
				tools = append(tools, t.Name)
			}
			decided[t.Name] = true
		}
		return true
	})
	slices.Sort(tools)
	return tools, known, err
}

var toolName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.:-]*$`)

// place returns the session of a file and its directory, from its first line. If the beginning of the file is missing,
// the session is that of its name.
func place(line lines.Line) (session, cwd string) {
	first, ok := lines.Parse[entry](line.First())
	if !ok || first.Type != header || !isID(first.ID) {
		return idOf(line.Path), ""
	}
	return first.ID, first.Cwd
}
