package notifytest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// Ntfy is a server that behaves as the documentation of ntfy says: topics can be posted to
// (https://docs.ntfy.sh/publish/), are stored, and are streamed as lines of JSON
// (https://docs.ntfy.sh/subscribe/api/). The tests also use the real server, if it is installed: see
// RealNtfy.
type Ntfy struct {
	*httptest.Server

	mu        sync.Mutex
	messages  []NtfyMessage
	changed   chan struct{} // closed when there are more messages
	listeners map[string]int
}

// NtfyMessage is one message of a topic.
type NtfyMessage struct {
	ID      string       `json:"id"`
	Time    int64        `json:"time"`
	Event   string       `json:"event"`
	Topic   string       `json:"topic"`
	Title   string       `json:"title,omitempty"`
	Message string       `json:"message,omitempty"`
	Actions []NtfyAction `json:"actions,omitempty"`
}

// NtfyAction is a button of a message.
type NtfyAction struct{ Action, Label, URL, Method, Body string }

// Press does what the app does when a person presses the button.
func (a NtfyAction) Press(t *testing.T) {
	t.Helper()
	Post(t, a.URL, a.Body)
}

// Post publishes a message.
func Post(t *testing.T, address, body string) {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // like a separate phone
	resp, err := client.Post(address, "text/plain", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
}

// NewNtfy starts a server without messages.
func NewNtfy(t *testing.T) *Ntfy {
	n := &Ntfy{changed: make(chan struct{}), listeners: make(map[string]int)}
	n.Server = httptest.NewServer(n)
	t.Cleanup(func() {
		n.CloseClientConnections()
		n.Close()
	})
	return n
}

// Topic returns the URL of a topic for the configuration.
func (n *Ntfy) Topic(topic string) string {
	return fmt.Sprintf("ntfy://%s/%s?scheme=http", strings.TrimPrefix(n.Server.URL, "http://"), topic)
}

// Got returns the messages of a topic.
func (n *Ntfy) Got(topic string) []NtfyMessage {
	n.mu.Lock()
	defer n.mu.Unlock()
	var got []NtfyMessage
	for _, m := range n.messages {
		if m.Topic == topic {
			got = append(got, m)
		}
	}
	return got
}

// Listeners returns how many streams of a topic are open.
func (n *Ntfy) Listeners(topic string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.listeners[topic]
}

func (n *Ntfy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	topic := strings.Trim(r.URL.Path, "/")
	if base, stream := strings.CutSuffix(topic, "/json"); stream && r.Method == http.MethodGet {
		n.stream(w, r, base)
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, longestText))
	if err != nil || len(body) == longestText { // ntfy would store it as a file, which is not supported here
		http.Error(w, `{"code":40014,"http":400,"error":"invalid request: attachments not allowed"}`, http.StatusBadRequest)
		return
	}
	n.mu.Lock()
	m := NtfyMessage{
		ID: fmt.Sprintf("m%011d", len(n.messages)+1), Time: time.Now().Unix(), Event: "message", Topic: topic,
		Title: r.Header.Get("Title"), Message: string(body), Actions: actionsOf(r.Header.Get("Actions")),
	}
	n.messages = append(n.messages, m)
	close(n.changed)
	n.changed = make(chan struct{})
	n.mu.Unlock()
	_ = json.NewEncoder(w).Encode(m)
}

// longestText is the size from which on ntfy treats a text as a file. since is the form of its ids and
// of the start of a stream.
const longestText = 4096

var since = regexp.MustCompile(`^(?:|all|[A-Za-z0-9]{12})$`)

// stream writes the messages since the one with that id, and new ones.
func (n *Ntfy) stream(w http.ResponseWriter, r *http.Request, topic string) {
	asked := r.URL.Query()
	if !since.MatchString(asked.Get("since")) {
		http.Error(w, `{"code":40008,"http":400,"error":"invalid since parameter"}`, http.StatusBadRequest)
		return
	}
	n.mu.Lock()
	n.listeners[topic]++
	next := 0
	for i, m := range n.messages {
		if m.ID == asked.Get("since") {
			next = i + 1
		}
	}
	n.mu.Unlock()
	defer func() {
		n.mu.Lock()
		n.listeners[topic]--
		n.mu.Unlock()
	}()
	lines, poll := json.NewEncoder(w), asked.Get("poll") == "1"
	if !poll {
		_ = lines.Encode(NtfyMessage{ID: "open", Time: time.Now().Unix(), Event: "open", Topic: topic})
	}
	for {
		n.mu.Lock()
		fresh, changed := n.messages[next:], n.changed
		next = len(n.messages)
		n.mu.Unlock()
		for _, m := range fresh {
			if m.Topic == topic {
				_ = lines.Encode(m)
			}
		}
		if poll {
			return
		}
		w.(http.Flusher).Flush()
		select {
		case <-r.Context().Done():
			return
		case <-changed:
		case <-time.After(time.Second):
			_ = lines.Encode(NtfyMessage{ID: "keep", Time: time.Now().Unix(), Event: "keepalive", Topic: topic})
		}
	}
}

// actionsOf parses the short form of buttons: "http, LABEL, URL, method=POST, body=…; …".
func actionsOf(header string) []NtfyAction {
	var all []NtfyAction
	for part := range strings.SplitSeq(header, ";") {
		words := strings.Split(part, ",")
		if len(words) < 3 {
			continue
		}
		a := NtfyAction{Action: strings.TrimSpace(words[0]), Label: strings.TrimSpace(words[1]), URL: strings.TrimSpace(words[2]), Method: http.MethodPost}
		for _, word := range words[3:] {
			if body, found := strings.CutPrefix(strings.TrimSpace(word), "body="); found {
				a.Body = body
			}
		}
		all = append(all, a)
	}
	return all
}
