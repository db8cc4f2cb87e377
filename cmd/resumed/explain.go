package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"resumed/internal/config"
	"resumed/internal/explain"
	"resumed/internal/hint"
	"resumed/internal/humanize"
	"resumed/internal/lastwords"
	"resumed/internal/limit"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
	"resumed/internal/sanitize"
	"resumed/internal/termui"
)

type explaining struct {
	agent, now, at, zone string
	text                 bool
}

func (c *cli) explainCommand() *cobra.Command {
	var e explaining
	cmd := c.jsonFlag(&cobra.Command{
		Use:   "explain [FILE|SESSION…]",
		Short: "Say what a transcript or a message means, and what follows",
		Long: "Reads transcripts and opencode's databases and says, without a daemon, what state each\n" +
			"session is in, why, and what resumed would do. A SESSION that the daemon knows is\n" +
			"explained by its transcript. The FILE - is standard input: a transcript, or what a program\n" +
			"printed before it failed.\n\n" +
			"With --text it classifies the messages that you give, or those on standard input, one per\n" +
			"line, as if an agent had printed them.",
		Example: "  resumed explain ~/.claude/projects/-src-shop/4f2a….jsonl\n" +
			"  resumed explain - <run.log\n" +
			"  resumed explain --text \"You've hit your 5-hour limit · resets 2am (UTC)\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			if e.text || slices.Contains(args, "-") { // a signal ends the program also while it waits for input
				signal.Reset(os.Interrupt, syscall.SIGTERM)
			}
			switch {
			case e.text && len(args) > 0:
				return c.explainText(strings.NewReader(strings.Join(args, "\n")), e)
			case e.text:
				return c.explainText(cmd.InOrStdin(), e)
			case len(args) == 0:
				return usageError(errors.New("explain needs a file, or --text"))
			}
			return c.explainFiles(cmd.Context(), cmd.InOrStdin(), args, e)
		},
	})
	flags := cmd.Flags()
	flags.StringVar(&e.agent, "agent", "", "which agent the file is from (default: recognised)")
	flags.StringVar(&e.now, "now", "", "decide as if it were this `TIME` (RFC 3339)")
	flags.BoolVar(&e.text, "text", false, "classify messages, or those on standard input, one per line")
	flags.StringVar(&e.at, "at", "", "`TIME` when a text was printed (RFC 3339; default now)")
	flags.StringVar(&e.zone, "tz", "", "`ZONE` of times in a text that name none (default local)")
	return cmd
}

// explainer returns an Explainer, after checking that the named agent exists.
func (c *cli) explainer(agent string) (*explain.Explainer, config.Config, error) {
	cfg, _, err := c.load()
	if err != nil {
		return nil, cfg, err
	}
	explainer, err := explain.New(cfg)
	if err != nil {
		return nil, cfg, err
	}
	if names := explainer.Agents(); agent != "" && !slices.Contains(names, agent) {
		err = hint.With(usageError(fmt.Errorf("--agent %q: no agent has that name", agent)), "one of: "+strings.Join(names, ", "))
	}
	return explainer, cfg, err
}

func (c *cli) explainFiles(ctx context.Context, in io.Reader, paths []string, e explaining) error {
	now, err := readTime("--now", e.now)
	if err != nil {
		return err
	}
	explainer, cfg, err := c.explainer(e.agent)
	if err != nil {
		return err
	}
	reader, err := e.reader(cfg)
	if err != nil {
		return err
	}
	var failed error
	for _, path := range paths {
		var found []explain.Explanation
		if path == "-" {
			found, err = c.explainInput(ctx, explainer, in, e.agent, reader, now)
		} else {
			found, err = c.explainOne(ctx, explainer, path, e.agent, now)
		}
		if ctx.Err() != nil {
			return errSilent
		}
		if err != nil {
			c.report(err)
			failed = errSilent
			continue
		}
		for _, x := range found {
			seen := c.watched(ctx, &x)
			if err := c.printExplanation(x, seen, now); err != nil {
				return err
			}
		}
	}
	return failed
}

// explainOne explains a file, or the session of that name if there is no such file and a daemon knows it.
func (c *cli) explainOne(ctx context.Context, explainer *explain.Explainer, name, agent string, now time.Time) ([]explain.Explanation, error) {
	if info, err := os.Stat(name); err != nil || info.IsDir() {
		if status, err := c.client().Session(ctx, name); err == nil {
			session := status.Sessions[0]
			found, err := explainer.File(ctx, session.Transcript, session.Agent, now)
			return slices.DeleteFunc(found, func(x explain.Explanation) bool { return x.Session != session.ID }), err
		}
	}
	found, err := explainer.File(ctx, name, agent, now)
	if _, unknown := errors.AsType[explain.UnknownError](err); unknown {
		err = hint.With(err, "resumed explain - <FILE, if a program printed it, or resumed explain --text, for messages")
	}
	if errors.Is(err, fs.ErrNotExist) && strings.Contains(name, " ") {
		err = hint.With(err, "resumed explain --text, if that is a message")
	}
	return found, err
}

// explainInput explains a transcript on standard input. Anything else is text that a program printed: its last lines
// are classified.
func (c *cli) explainInput(ctx context.Context, explainer *explain.Explainer, in io.Reader, agent string, reader limit.Reader, now time.Time) ([]explain.Explanation, error) {
	input, err := io.ReadAll(in) // before a temporary file is made
	if err != nil {
		return nil, fmt.Errorf("read the input: %w", err)
	}
	dir, err := os.MkdirTemp("", "resumed-explain-")
	if err != nil {
		return nil, fmt.Errorf("make a place for the input: %w", err)
	}
	defer os.RemoveAll(dir)
	kept := filepath.Join(dir, "standard input")
	if err := os.WriteFile(kept, input, 0o600); err != nil {
		return nil, fmt.Errorf("keep the input: %w", err)
	}
	found, err := explainer.File(ctx, kept, agent, now)
	if _, unknown := errors.AsType[explain.UnknownError](err); unknown {
		verdict, words := lastwords.Judge(reader, lastwords.Last(sanitize.Text(string(input))))
		return nil, c.printJudged(words, verdict, reader.At)
	}
	if err != nil {
		return nil, errors.New(strings.ReplaceAll(err.Error(), kept, "standard input"))
	}
	for i := range found {
		found[i].File = "-"
	}
	return found, nil
}

// watched asks the daemon, if one runs, about the session: how it was started is in no file. It returns
// nil if the session is unknown.
func (c *cli) watched(ctx context.Context, x *explain.Explanation) *view.Session {
	if x.Plan == nil || x.Session == "" {
		return nil
	}
	const patience = 5 * time.Second // explain works without a daemon
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	status, err := c.client().Session(ctx, x.Session)
	if err != nil || status.Sessions[0].Key() != (resume.Key{Agent: x.Agent, ID: x.Session}) || status.Sessions[0].Plan == nil {
		return nil
	}
	x.Plan = status.Sessions[0].Plan
	return &status.Sessions[0]
}

func (c *cli) printExplanation(x explain.Explanation, seen *view.Session, now time.Time) error {
	return c.print(x, func(p *termui.Printer) {
		p.Now = now
		p.Lines(p.Paint.In(termui.Bold, sanitize.Line(x.File))) // not cut: people type it again
		p.Table(explanationRows(x, now))
		asked, started := x.View, view.Session{Plan: x.Plan}
		if seen != nil {
			asked, started = *seen, *seen // the daemon knows more than the file
		}
		if asked.State != 0 {
			p.Lines(p.WhyNot(asked)...)
		}
		if x.Plan != nil {
			p.Lines(p.Leash(started)...)
		}
	})
}

func explanationRows(x explain.Explanation, now time.Time) [][]termui.Cell {
	var rows [][]termui.Cell
	add := func(label, text string) {
		if text != "" { // not every file has all values
			rows = append(rows, []termui.Cell{{Text: "  " + label, Colour: termui.Bold}, {Text: text}})
		}
	}
	add("agent", sanitize.Line(x.Agent))
	add("session", sanitize.Line(x.Session))
	add("directory", sanitize.Line(x.Cwd))
	add("class", cmp.Or(x.Class.Title(), x.Class.String()))
	evidence := sanitize.Line(x.Text)
	if x.Line > 0 {
		evidence = strings.TrimSuffix(fmt.Sprintf("line %d: %s", x.Line, evidence), ": ") // a working session has no error text
	}
	add("evidence", evidence)
	if x.ResetAt != nil {
		add("resets at", humanize.Clock(*x.ResetAt, now)+humanize.Source(*x.ResetSource))
	}
	if x.Context != nil {
		add("context", humanize.Context(*x.Context, x.Cold))
	}
	if len(x.Because) > 0 {
		add("seen by", sanitize.Line("'"+strings.Join(x.Because, "', '")+"'"))
	}
	add("decision", string(x.Action))
	colours := map[explain.Action]termui.Colour{explain.Wait: termui.Yellow, explain.Resume: termui.Green, explain.Park: termui.Red}
	rows[len(rows)-1][1].Colour = colours[x.Action]
	rows = append(rows, []termui.Cell{{Text: "  because", Colour: termui.Bold}, {Text: humanize.ReasonAt(x.Why, now)}})
	add("to do", sanitize.Line(x.Remedy))
	return rows
}

// judged is a text in the output of `explain --json`.
type judged struct {
	Version    int         `json:"version"`
	Text       string      `json:"text"`
	Class      limit.Class `json:"class"`
	WaitHelps  bool        `json:"wait_helps"`
	ResetAt    *time.Time  `json:"reset_at"`
	InProgress bool        `json:"in_progress"`
	Because    []string    `json:"because,omitempty"`
}

// reader returns the reader for texts.
func (e explaining) reader(cfg config.Config) (limit.Reader, error) {
	reader := limit.Reader{Grace: cfg.Resume.Grace}
	var err error
	if reader.At, err = readTime("--at", e.at); err != nil {
		return reader, err
	}
	if e.zone != "" {
		if reader.Zone, err = time.LoadLocation(e.zone); err != nil {
			return reader, usageError(fmt.Errorf("--tz %q: must be a zone such as Europe/Berlin", e.zone))
		}
	}
	return reader, nil
}

func (c *cli) explainText(in io.Reader, e explaining) error {
	_, cfg, err := c.explainer(e.agent)
	if err != nil {
		return err
	}
	reader, err := e.reader(cfg)
	if err != nil {
		return err
	}
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadString('\n')
		// A blank line gets an object too: programs match lines and objects.
		if text := strings.TrimRight(line, "\r\n"); text != "" || c.json && line != "" {
			if err := c.printJudged(text, reader.Text(sanitize.Text(text)), reader.At); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read messages: %w", err)
		}
	}
}

func (c *cli) printJudged(text string, verdict limit.Verdict, at time.Time) error {
	j := judged{Version: 1, Text: text, Class: verdict.Class, WaitHelps: verdict.WaitHelps, InProgress: verdict.InProgress}
	if verdict.Class != limit.None {
		j.Because = limit.Because(sanitize.Text(text), verdict.Class)
	}
	if verdict.Reset.Stated() {
		j.ResetAt = new(verdict.Reset.At.UTC())
	}
	notes := ": " + decisionOn(j, at)
	if len(j.Because) > 0 {
		notes += `; known by the words "` + strings.Join(j.Because, `", "`) + `"`
	}
	return c.print(j, func(p *termui.Printer) {
		p.Wrapped(p.Paint.In(termui.Bold, cmp.Or(j.Class.Title(), "no error")) + notes + "  " + p.Paint.In(termui.Dim, sanitize.Line(text)))
	})
}

// decisionOn says what would be done if an agent had recorded the message.
func decisionOn(j judged, at time.Time) string {
	switch {
	case j.Class == limit.None:
		return "nothing would be done"
	case j.InProgress:
		return "the agent continues by itself"
	case !j.WaitHelps:
		return "waiting does not help, you would be told"
	case j.ResetAt != nil && !j.ResetAt.After(at):
		return "would be continued at once, the limit has reset, " + humanize.Clock(*j.ResetAt, at)
	case j.ResetAt != nil:
		return "would be continued when the limit resets, " + humanize.Clock(*j.ResetAt, at)
	default:
		return "would be tried again, with growing waits"
	}
}

func readTime(flag, value string) (time.Time, error) {
	if value == "" {
		return time.Now(), nil
	}
	t, err := time.Parse(time.RFC3339, value)
	if err != nil {
		return time.Time{}, usageError(fmt.Errorf("%s %q: must be a time such as %s", flag, value, time.Now().UTC().Format(time.RFC3339)))
	}
	return t, nil
}
