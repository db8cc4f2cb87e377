package service

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"resumed/internal/backoff"
	"resumed/internal/notify"
	"resumed/internal/resume"
	"resumed/internal/sanitize"

	"github.com/nicholas-fedor/shoutrrr/pkg/services/push/ntfy"
)

// replies are what people press on their phone. ntfy has them in a topic of its own, which
// the daemon reads: no port is open for it. Whoever knows the topic can write there; what
// counts is the token.
type replies struct {
	topic   string // its URL
	user    *url.Userinfo
	order   func(ctx context.Context, order notify.Order, session resume.Key)
	buttons buttons
	hide    func(string) string
	heard   []string // ids of the last messages
}

var topicName = regexp.MustCompile(`^[-_A-Za-z0-9]{1,64}$`)

// newReplies checks the topic that replies come by.
func (s *Channel) newReplies(o Options) (*replies, error) {
	if s.to != ntfy.Scheme {
		return nil, o.Wrong("replies", "only ntfy has buttons that answer, and the URL is one of %s", s.to)
	}
	made, err := s.build(http.DefaultClient)
	if err != nil {
		return nil, err
	}
	config := *made.(*ntfy.Service).Config
	if !topicName.MatchString(o.Replies) {
		return nil, o.Wrong("replies", "must be the name of a topic: letters, digits, - and _, 64 at most")
	}
	if o.Replies == config.Topic {
		return nil, o.Wrong("replies", "must be another topic than the one of the notices")
	}
	r := &replies{
		order:   o.Order,
		buttons: buttons{memory: o.Memory, key: "notify/service/" + s.Name() + "/buttons"},
		hide:    func(text string) string { return strings.ReplaceAll(s.hide.Redact(text), o.Replies, "…") },
	}
	config.Topic = o.Replies
	r.topic = config.GetAPIURL()
	if config.Username != "" || config.Password != "" {
		r.user = url.UserPassword(config.Username, config.Password)
	}
	return r, nil
}

// replyPolicy is how the topic is asked again when the server is down.
var replyPolicy = backoff.Policy{
	Strategy: backoff.Exponential, BaseDelay: 2 * time.Second, MaxDelay: 5 * time.Minute,
	Jitter: true, JitterMode: backoff.Symmetric, JitterPercent: 0.2,
}

const (
	longestQuiet = 3 * time.Minute       // ntfy says something every 45 seconds
	longestReply = 16 << 10              // of one line; ntfy's own bound is a quarter of it
	longestPause = time.Hour             // that a server may ask for
	dropPause    = 20 * time.Millisecond // so that a flood of what is no reply leaves the processor to others,
	dropsAtOnce  = 512                   // after that many: a tap after thousands of them is not late
)

// Listen takes orders from the topic of replies until ctx is done.
func (s *Channel) Listen(ctx context.Context, log *slog.Logger) {
	if s.replies == nil || s.replies.order == nil {
		return
	}
	log = log.With("channel", s.Name())
	line, strange := connection{log: log}, drops{log: log}
	for {
		err := s.replies.hear(ctx, s.asks(), log, &strange, line.up)
		if ctx.Err() != nil {
			return
		}
		line.down(s.replies.hide(err.Error()))
		wait := replyPolicy.Delay(line.failed, rand.Float64())
		if asked, ok := errors.AsType[*notify.RetryAfterError](err); ok {
			wait = max(wait, min(asked.After, longestPause))
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// hear reads the topic until the stream ends, and calls heard as soon as the server says
// anything.
func (r *replies) hear(ctx context.Context, asks http.RoundTripper, log *slog.Logger, strange *drops, heard func()) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	quiet := time.AfterFunc(longestQuiet, func() { cancel(fmt.Errorf("nothing was said for %s", longestQuiet)) })
	defer quiet.Stop()
	resp, err := r.ask(ctx, asks)
	if err != nil {
		return cmp.Or(context.Cause(ctx), err)
	}
	defer resp.Body.Close()
	defer r.note()
	stream := bufio.NewReaderSize(resp.Body, longestReply)
	for {
		line, err := oneLine(stream)
		if err = cmp.Or(context.Cause(ctx), err); err != nil {
			return fmt.Errorf("the stream of replies ended: %w", err)
		}
		heard()
		quiet.Reset(longestQuiet)
		if r.obey(ctx, line, log) {
			continue
		}
		if strange.tell(); strange.n%dropsAtOnce != 0 {
			continue
		}
		select {
		case <-ctx.Done():
		case <-time.After(dropPause):
		}
	}
}

// ask asks for what came since the last reply that was heard, and what comes.
func (r *replies) ask(ctx context.Context, asks http.RoundTripper) (*http.Response, error) {
	since := "all" // what is old has no open button
	if last, found := r.buttons.memory.Value(r.lastKey()); found {
		since = string(last)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.topic+"/json?since="+url.QueryEscape(since), http.NoBody)
	if err != nil {
		return nil, err
	}
	if r.user != nil {
		password, _ := r.user.Password()
		req.SetBasicAuth(r.user.Username(), password)
	}
	client := http.Client{Transport: asks, CheckRedirect: func(*http.Request, []*http.Request) error {
		return errors.New("it leads elsewhere, and orders come from the server that is configured alone")
	}}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	_ = resp.Body.Close()
	if resp.StatusCode == http.StatusBadRequest {
		r.heard = nil
		r.buttons.memory.PutValue(r.lastKey(), nil) // another server may not understand what the one before called its replies
	}
	err = fmt.Errorf("the server answered %s", resp.Status)
	if after := notify.RetryAfter(resp.Header.Get("Retry-After"), time.Now()); after > 0 {
		err = &notify.RetryAfterError{After: after, Err: err}
	}
	return nil, err
}

func (r *replies) lastKey() string { return r.buttons.key + "/last" }

// note stores how far the topic was read. A daemon that is killed before reads on from the
// note before this one, and a button counts once.
func (r *replies) note() {
	if len(r.heard) > 0 {
		r.buttons.memory.PutValue(r.lastKey(), []byte(r.heard[len(r.heard)-1]))
	}
}

// oneLine reads a line; of one that is too long nothing is left.
func oneLine(from *bufio.Reader) ([]byte, error) {
	line, err := from.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return line, err
	}
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = from.ReadSlice('\n')
	}
	return nil, err
}

const (
	longestToken = 64  // more than any of ours has
	lastHeard    = 100 // of which it is known that they were heard
)

// obey does what an open button says. It reports whether there was nothing wrong with a line.
func (r *replies) obey(ctx context.Context, line []byte, log *slog.Logger) bool {
	if line = bytes.TrimSpace(line); len(line) == 0 {
		return true
	}
	var said struct{ ID, Event, Message string }
	if json.Unmarshal(line, &said) != nil {
		return false
	}
	if said.Event != "message" {
		return true // open, keepalive
	}
	if topicName.MatchString(said.ID) {
		if slices.Contains(r.heard, said.ID) {
			return true // ntfy tells twice what comes while a stream begins
		}
		r.heard = append(r.heard[max(0, len(r.heard)-lastHeard+1):], said.ID)
	}
	token := strings.TrimSpace(said.Message)
	if len(token) > longestToken {
		return false
	}
	taken, open := r.buttons.take(token, time.Now())
	if !open {
		return false
	}
	for _, key := range taken.Sessions {
		log.Info("ordered by a reply", "order", taken.Order, "session", sanitize.Line(key.ID), "agent", key.Agent)
		r.order(ctx, taken.Order, key)
	}
	r.note() // not for what is dropped, which would be a write for each line of a flood
	return true
}
