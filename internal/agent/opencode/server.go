package opencode

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"time"
)

const (
	answerTimeout = 10 * time.Second // a server that is starting may never answer

	// silence is how long a stream may say nothing: a heartbeat comes every
	// few seconds.
	silence = 90 * time.Second

	maxEvent  = 4 << 20 // of one event, in bytes
	maxStatus = 4 << 20 // of one answer
)

// server listens to a running server. It is owned by one goroutine.
type server struct {
	brand  *brand
	base   *url.URL
	client *http.Client
	send   func(note) // takes one note in

	waiting map[string]string // directories of the sessions it says are retrying
}

// listen passes on what the server says until ctx is done.
func (f *follower) listen(ctx context.Context) {
	s := &server{
		brand:   f.agent.brand,
		base:    f.agent.server,
		client:  newClient(),
		waiting: make(map[string]string),
		send: func(n note) {
			select {
			case f.notes <- n:
			case <-ctx.Done():
			}
		},
	}
	defer s.client.CloseIdleConnections()
	told := ""
	for failures := 0; ctx.Err() == nil; {
		err := s.stream(ctx, func() {
			if failures > 0 {
				f.log.Info("the server answers", "agent", s.brand.name, "server", s.base.Redacted())
			}
			failures, told = 0, ""
		})
		if ctx.Err() != nil {
			return
		}
		if errors.Is(err, syscall.ECONNREFUSED) {
			s.gone()
		}
		failures++
		if told != err.Error() {
			told = err.Error()
			f.log.Warn("the server cannot be heard", "agent", s.brand.name, "server", s.base.Redacted(), "err", err)
		}
		sleep(ctx, patience.Delay(failures, rand.Float64()))
	}
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// newClient returns a client that waits for no answer for ever. Its requests
// go where the user says, and no further.
func newClient() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			DialContext:           (&net.Dialer{Timeout: answerTimeout}).DialContext,
			ResponseHeaderTimeout: answerTimeout,
			TLSHandshakeTimeout:   answerTimeout,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// get asks the server. The answer ends with ctx.
func (s *server) get(ctx context.Context, path string, query url.Values) (*http.Response, error) {
	answer, err := s.ask(ctx, http.MethodGet, path, query, nil)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusOK {
		answer.Body.Close()
		return nil, &statusError{"GET " + path, answer.StatusCode}
	}
	return answer, nil
}

// statusError is an answer that says no.
type statusError struct {
	what string
	code int
}

func (e *statusError) Error() string {
	return fmt.Sprintf("%s: %d %s", e.what, e.code, http.StatusText(e.code))
}

// ask sends one request, with a body of JSON where there is one.
func (s *server) ask(ctx context.Context, method, path string, query url.Values, body []byte) (*http.Response, error) {
	target := s.base.JoinPath(path)
	target.RawQuery = query.Encode()
	request, err := http.NewRequestWithContext(ctx, method, target.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if password := os.Getenv(s.brand.variable("SERVER_PASSWORD")); password != "" && target.User == nil {
		request.SetBasicAuth(cmp.Or(os.Getenv(s.brand.variable("SERVER_USERNAME")), s.brand.program), password)
	}
	return s.client.Do(request)
}

// stream passes on one stream of events until it ends, which is always an
// error. connected is called when it began.
func (s *server) stream(ctx context.Context, connected func()) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	answer, err := s.get(ctx, "/global/event", nil)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	defer answer.Body.Close()
	s.resync(ctx)
	connected()

	watchdog := time.AfterFunc(silence, func() { cancel(fmt.Errorf("it was silent for %s", silence)) })
	defer watchdog.Stop()
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, maxEvent)
	for lines.Scan() {
		watchdog.Reset(silence)
		if data, ok := strings.CutPrefix(lines.Text(), "data:"); ok {
			s.hear(data, time.Now())
		}
	}
	return fmt.Errorf("listen: %w", cmp.Or(context.Cause(ctx), lines.Err(), io.EOF))
}

// event is one event of the server's.
type event struct {
	Directory string `json:"directory"`
	Payload   struct {
		Type       string `json:"type"`
		Properties struct {
			Session string `json:"sessionID"`
			Status  Status `json:"status"`
		} `json:"properties"`
	} `json:"payload"`
}

// hear passes on one event. Events carry no time of their own.
func (s *server) hear(data string, at time.Time) {
	var e event
	if json.Unmarshal([]byte(data), &e) != nil || e.Payload.Properties.Session == "" {
		return
	}
	n := note{
		session: e.Payload.Properties.Session, directory: e.Directory,
		atMS: at.UnixMilli(), status: e.Payload.Properties.Status,
	}
	n.kind = kindOfEvent(e.Payload.Type, n.status)
	s.pass(n)
}

func (s *server) pass(n note) {
	switch n.kind {
	case 0:
		return
	case retrying:
		s.waiting[n.session] = n.directory
	case working:
		if _, was := s.waiting[n.session]; !was {
			return // only the end of a wait is news
		}
		delete(s.waiting, n.session)
	default:
		delete(s.waiting, n.session)
	}
	s.send(n)
}

// gone says that the server, and with it all that it waited for, is no more.
func (s *server) gone() {
	for session, directory := range s.waiting {
		s.pass(note{kind: dropped, session: session, directory: directory})
	}
}

// resync asks how the sessions stand that were waiting when the stream broke: a
// server that was started anew knows nothing of them. It tells of one directory
// at a time; without one, of its own.
func (s *server) resync(ctx context.Context) {
	directories := map[string]bool{"": true}
	for _, directory := range s.waiting {
		directories[directory] = true
	}
	for directory := range directories {
		listed, err := s.statuses(ctx, directory)
		if err != nil {
			continue // what it says next will tell
		}
		for session, was := range s.waiting {
			if _, ok := listed[session]; was == directory && !ok {
				s.pass(note{kind: dropped, session: session, directory: directory})
			}
		}
		for session, st := range listed {
			if st.kind() == retrying {
				s.pass(note{
					kind: retrying, session: session, directory: directory,
					atMS: time.Now().UnixMilli(), status: st,
				})
			}
		}
	}
}

// statuses returns the sessions of a directory that are not idle.
func (s *server) statuses(ctx context.Context, directory string) (listed map[string]Status, err error) {
	query := url.Values{}
	if directory != "" {
		query.Set("directory", directory)
	}
	err = s.getJSON(ctx, "/session/status", query, &listed)
	return listed, err
}

// getJSON asks the server for one value.
func (s *server) getJSON(ctx context.Context, path string, query url.Values, into any) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	answer, err := s.get(ctx, path, query)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if err := json.NewDecoder(io.LimitReader(answer.Body, maxStatus)).Decode(into); err != nil {
		return fmt.Errorf("read the answer to GET %s: %w", path, err)
	}
	return nil
}
