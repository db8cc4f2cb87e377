package server

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"syscall"
	"time"

	"resumed/internal/backoff"
)

// PluginFile is the file that the plugin writes.
type PluginFile struct {
	Path   string
	last   os.FileInfo
	offset int64 // of the unread part
}

// maxPluginFile bounds how much of the plugin's file is read at a time; the plugin begins a new file before that.
const maxPluginFile = 4 << 20

// Read returns the events in new complete lines. A new file is read from its start.
func (f *PluginFile) Read() ([]Event, error) {
	file, err := os.OpenFile(f.Path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	if f.last == nil || !os.SameFile(f.last, info) || info.Size() < f.offset {
		f.offset = 0
	}
	f.last = info
	f.offset = max(f.offset, info.Size()-maxPluginFile) // then the first line is cut and ignored
	data, err := io.ReadAll(io.NewSectionReader(file, f.offset, maxPluginFile))
	if err != nil {
		return nil, err
	}
	data = data[:bytes.LastIndexByte(data, '\n')+1]
	f.offset += int64(len(data))
	var events []Event
	for line := range bytes.Lines(data) {
		if e, ok := parseLine(line); ok {
			events = append(events, e)
		}
	}
	return events, nil
}

// parseLine parses a line of the plugin, or returns false if it has no meaning.
func parseLine(line []byte) (e Event, ok bool) {
	const latestMS = 253402300799999 // the end of the year 9999
	if json.Unmarshal(line, &e) != nil || e.Session == "" || e.PID <= 0 || e.AtMS <= 0 || e.AtMS > latestMS {
		return Event{}, false
	}
	e.Kind = kindOf(e.Type, e.Status)
	return e, e.Kind != 0
}

// Listener forwards events of a server.
type Listener struct {
	Client
	Log   *slog.Logger
	Retry backoff.Policy // for a server that does not answer

	// Waiting returns the sessions that the server last reported as retrying, with their directories.
	Waiting func() map[string]string

	Send func(Event)
}

// Listen forwards events of the server until ctx is done.
func (l *Listener) Listen(ctx context.Context) {
	logged := ""
	for failures := 0; ctx.Err() == nil; {
		err := l.stream(ctx, func() {
			if failures > 0 {
				l.Log.Info("the server answers", "server", l.URL.Redacted())
			}
			failures, logged = 0, ""
		})
		if ctx.Err() != nil {
			return
		}
		if errors.Is(err, syscall.ECONNREFUSED) { // the server is gone, and with it all its retries
			for session, directory := range l.Waiting() {
				l.Send(Event{Kind: Lost, Session: session, Directory: directory})
			}
		}
		failures++
		if logged != err.Error() {
			logged = err.Error()
			l.Log.Warn("the server cannot be heard", "server", l.URL.Redacted(), "err", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(l.Retry.Delay(failures, rand.Float64())):
		}
	}
}

const (
	// silence is how long a stream may send nothing: a heartbeat comes every few seconds.
	silence = 90 * time.Second

	maxEvent = 4 << 20 // in bytes
)

// stream forwards one stream of events until it ends, which is always an error. connected is called when it begins.
func (l *Listener) stream(ctx context.Context, connected func()) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watchdog := time.AfterFunc(silence, func() { cancel(fmt.Errorf("it was silent for %s", silence)) })
	defer watchdog.Stop()
	answer, err := l.do(ctx, http.MethodGet, "/global/event", "", nil)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	defer answer.Body.Close()
	l.sendStatuses(ctx)
	connected()
	watchdog.Reset(silence)

	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, maxEvent)
	for lines.Scan() {
		watchdog.Reset(silence)
		if data, ok := strings.CutPrefix(lines.Text(), "data:"); ok {
			l.sendEvent(data)
		}
	}
	return fmt.Errorf("listen: %w", cmp.Or(context.Cause(ctx), lines.Err(), io.EOF))
}

// sendEvent forwards one event. Events have no time.
func (l *Listener) sendEvent(data string) {
	var e struct {
		Directory string `json:"directory"`
		Payload   struct {
			Type       string `json:"type"`
			Properties struct {
				Session string `json:"sessionID"`
				Status  Status `json:"status"`
			} `json:"properties"`
		} `json:"payload"`
	}
	said := &e.Payload.Properties
	if json.Unmarshal([]byte(data), &e) != nil || said.Session == "" {
		return
	}
	if kind := kindOf(e.Payload.Type, said.Status); kind != 0 {
		l.Send(Event{Kind: kind, Session: said.Session, Directory: e.Directory, AtMS: time.Now().UnixMilli(), Status: said.Status})
	}
}

// sendStatuses requests the sessions that waited when the stream broke: a restarted server does not know them. It
// answers for one directory at a time; by default for its own.
func (l *Listener) sendStatuses(ctx context.Context) {
	waiting := l.Waiting()
	directories := map[string]bool{"": true}
	for _, directory := range waiting {
		directories[directory] = true
	}
	for directory := range directories {
		statuses, err := l.Statuses(ctx, directory)
		if err != nil {
			continue // the next events will tell
		}
		for session, was := range waiting {
			if _, ok := statuses[session]; was == directory && !ok {
				l.Send(Event{Kind: Lost, Session: session, Directory: directory})
			}
		}
		for session, status := range statuses {
			if status.Kind() == Retrying {
				l.Send(Event{Kind: Retrying, Session: session, Directory: directory, AtMS: time.Now().UnixMilli(), Status: status})
			}
		}
	}
}
