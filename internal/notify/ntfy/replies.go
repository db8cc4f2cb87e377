package ntfy

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
	"slices"
	"strings"
	"time"

	"resumed/internal/backoff"
	"resumed/internal/notify"
	"resumed/internal/notify/remote"
	"resumed/internal/resume"
	"resumed/internal/sanitize"
	"resumed/internal/wake"
)

// replies reads the buttons that people press on their phones. ntfy stores them in a second topic,
// which the daemon reads: no port has to be open. Anyone who knows the topic can write to it; only
// tokens count.
type replies struct {
	topic   string // its URL
	name    string // of the topic; must not be shown
	order   func(ctx context.Context, order notify.Action, session resume.Key)
	buttons buttons
	read    []string // ids of the last messages
}

// AnswerBy makes the buttons of notices send their replies to a topic. channel is part of the key of
// the stored buttons.
func (s *Service) AnswerBy(topic, channel string, orders notify.Orders) error {
	if !topicName().MatchString(topic) {
		return errors.New("must be the name of a topic: letters, digits, - and _, 64 at most")
	}
	if topic == s.topic {
		return errors.New("must be another topic than the one of the notices")
	}
	if orders.Order != nil && orders.Memory != nil {
		s.replies = &replies{
			topic: s.server.JoinPath(topic).String(), name: topic, order: orders.Order,
			buttons: buttons{memory: orders.Memory, key: "notify/service/" + channel + "/buttons"},
		}
	}
	return nil
}

var replyPolicy = backoff.Policy{
	Strategy: backoff.Exponential, BaseDelay: 2 * time.Second, MaxDelay: 5 * time.Minute,
	Jitter: true, JitterMode: backoff.Symmetric, JitterPercent: 0.2,
}

const (
	maxSilence = 3 * time.Minute // ntfy sends something every 45 seconds
	maxReply   = 16 << 10        // of one line; ntfy's own limit is a quarter of it
	maxPause   = time.Hour       // the longest pause that a server may ask for

	// During a flood of messages that are not replies there is a pause after each dropsAtOnce of them,
	// which leaves the processor to others: a reply behind thousands of them is not late.
	dropPause   = 20 * time.Millisecond
	dropsAtOnce = 512
)

// Listen receives orders from the topic of replies until ctx is done.
func (s *Service) Listen(ctx context.Context, log *slog.Logger) {
	if s.replies == nil {
		return
	}
	for report := (report{log: log}); ctx.Err() == nil; {
		err := s.stream(ctx, &report)
		if ctx.Err() != nil {
			return
		}
		report.down(strings.ReplaceAll(s.client.Unreachable(ctx, err).Error(), s.replies.name, "…"))
		wait := replyPolicy.Delay(report.failed, rand.Float64())
		if asked, ok := errors.AsType[*notify.SendError](err); ok {
			wait = max(wait, min(asked.After, maxPause))
		}
		wake.Sleep(ctx, wait)
	}
}

func (s *Service) stream(ctx context.Context, report *report) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silent := time.AfterFunc(maxSilence, func() { cancel(fmt.Errorf("nothing came for %s", maxSilence)) })
	defer silent.Stop()
	resp, err := s.subscribe(ctx)
	if err != nil {
		return cmp.Or(context.Cause(ctx), err)
	}
	defer resp.Body.Close()
	defer s.replies.storePosition()
	for lines := bufio.NewReaderSize(resp.Body, maxReply); ; {
		line, err := readLine(lines)
		if err = cmp.Or(context.Cause(ctx), err); err != nil {
			return fmt.Errorf("the stream of replies ended: %w", err)
		}
		report.up()
		silent.Reset(maxSilence)
		if !s.replies.obey(ctx, line, report.log) {
			report.drop()
		}
	}
}

// subscribe asks for the messages since the last one that was read, and for new ones.
func (s *Service) subscribe(ctx context.Context) (*http.Response, error) {
	r := s.replies
	since := "all" // old messages match no open button
	if last, found := r.buttons.memory.Value(r.positionKey()); found {
		since = string(last)
	}
	resp, err := s.client.Stream(ctx, r.topic+"/json?since="+url.QueryEscape(since), s.header.Get("Authorization"))
	if err != nil || resp.StatusCode == http.StatusOK {
		return resp, err
	}
	_ = resp.Body.Close()
	if resp.StatusCode == http.StatusBadRequest {
		r.read = nil
		r.buttons.memory.PutValue(r.positionKey(), nil) // a new server may not know the ids of the old one
	}
	err = fmt.Errorf("the server answered %s", resp.Status)
	if after := remote.RetryAfter(resp.Header.Get("Retry-After"), time.Now()); after > 0 {
		err = &notify.SendError{After: after, Err: err}
	}
	return nil, err
}

func (r *replies) positionKey() string { return r.buttons.key + "/last" }

// storePosition stores how far the topic was read. A daemon that is killed before reads from the
// position before, and a button still counts once.
func (r *replies) storePosition() {
	if len(r.read) > 0 {
		r.buttons.memory.PutValue(r.positionKey(), []byte(r.read[len(r.read)-1]))
	}
}

func readLine(from *bufio.Reader) ([]byte, error) {
	line, err := from.ReadSlice('\n')
	for errors.Is(err, bufio.ErrBufferFull) {
		line = nil
		_, err = from.ReadSlice('\n')
	}
	return line, err
}

// lastRead is how many ids a new message is compared with: ntfy sends messages twice that arrive while
// a stream begins.
const lastRead = 100

// obey carries out the order of an open button. It reports whether the line was valid.
func (r *replies) obey(ctx context.Context, line []byte, log *slog.Logger) bool {
	if line = bytes.TrimSpace(line); len(line) == 0 {
		return true
	}
	var reply struct{ ID, Event, Message string }
	if json.Unmarshal(line, &reply) != nil {
		return false
	}
	if reply.Event != "message" || slices.Contains(r.read, reply.ID) {
		return true // open, keepalive, or sent twice
	}
	if topicName().MatchString(reply.ID) {
		r.read = append(r.read[max(0, len(r.read)-lastRead+1):], reply.ID)
	}
	taken, open := r.buttons.take(strings.TrimSpace(reply.Message), time.Now())
	if !open {
		return false
	}
	for _, key := range taken.Sessions {
		log.Info("ordered by a reply", "order", taken.Order, "session", sanitize.Line(key.ID), "agent", key.Agent)
		r.order(ctx, taken.Order, key)
	}
	r.storePosition() // not for dropped lines: each line of a flood would be a write
	return true
}

// report logs problems with replies, without filling the log.
type report struct {
	log *slog.Logger

	failed int       // streams since the server last sent anything
	logged bool      // it was logged that replies cannot be read
	at     time.Time // when that was logged

	dropped int // replies since then
	since   time.Time
}

func (r *report) up() {
	if r.logged {
		r.log.Info("replies are heard again")
	}
	r.failed, r.logged = 0, false
}

// down logs that replies cannot be read. If a proxy ends every stream after a while, that is logged
// only from time to time.
func (r *report) down(why string) {
	r.failed++
	if now := time.Now(); !r.logged && (r.failed > 3 || now.Sub(r.at) >= 10*time.Minute) {
		r.log.Warn("replies are not heard, and it is tried again", "err", why)
		r.logged, r.at = true, now
	}
}

const dropsLogged = 5 // per hour

// drop logs replies that no open button sent: the first ones of each hour, and that there are more.
func (r *report) drop() {
	if now := time.Now(); now.Sub(r.since) >= time.Hour {
		r.dropped, r.since = 0, now
	}
	if r.dropped++; r.dropped%dropsAtOnce == 0 {
		time.Sleep(dropPause)
	}
	switch {
	case r.dropped <= dropsLogged:
		r.log.Warn("a reply was dropped: it comes from no button, or from one that was used or is too old")
	case r.dropped == dropsLogged+1:
		r.log.Warn("more replies were dropped, and for an hour no more is said of them")
	}
}
