package service

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"resumed/internal/notify"
	"resumed/internal/sanitize"
)

// unsure are the services of which nobody can say whether they took a notice, and
// why.
var unsure = map[string]string{
	"logger": "it is written to a log of the library's that nobody reads",
}

// spoken are the services that answer 200 to what they refuse too, and say in words what
// they did. They read those.
var spoken = map[string]func(answer) error{
	"join": func(a answer) error {
		var said struct {
			Success bool   `json:"success"`
			Error   string `json:"errorMessage"`
		}
		if err := json.Unmarshal([]byte(a.words), &said); err != nil || !said.Success {
			return &refusal{answer{}, cmp.Or(said.Error, a.words, "it said nothing")}
		}
		return nil
	},
	"teams": func(a answer) error {
		said := strings.TrimSpace(a.words)
		if said == "1" {
			return nil
		}
		status := 0
		if found := regexp.MustCompile(`HTTP error (\d{3})`).FindStringSubmatch(said); found != nil {
			status, _ = strconv.Atoi(found[1])
		}
		return &refusal{answer{status: status}, cmp.Or(said, "it said nothing")}
	},
}

// judge says what an answer means. Only a clear refusal is final: the library
// gives most errors as words.
func (s *Channel) judge(f *flight) (string, error) {
	err := f.err
	if listen := spoken[s.to]; err == nil && listen != nil {
		err = listen(f.ear.heard)
	}
	if err == nil {
		if why := unsure[s.to]; why != "" {
			return fmt.Sprintf("sent, but whether %s accepted it cannot be known: %s", s.to, why), nil
		}
		return "accepted", nil
	}
	told := fmt.Errorf("%s: %s", s.to, sanitize.Short(s.hide.Redact(err.Error()), 300))
	is := f.ear.heard
	if own, ok := errors.AsType[*refusal](err); ok {
		is = own.answer
	}
	switch {
	case is.status >= 400 && !notify.Retryable(is.status):
		return "", &notify.PermanentError{Err: told}
	case is.after > 0:
		return "", &notify.RetryAfterError{After: is.after, Err: told}
	default:
		return "", told
	}
}

// refusal is an answer that is none of HTTP's.
type refusal struct {
	answer
	words string
}

func (r *refusal) Error() string { return r.words }

// impatient is a client for a service that would try again by itself, for longer
// than anybody waits for it: trying again is the notifier's.
type impatient struct{ client *http.Client }

// Do makes an error of an answer that would be waited for.
func (i impatient) Do(req *http.Request) (*http.Response, error) {
	resp, err := i.client.Do(req)
	if err == nil && notify.Retryable(resp.StatusCode) {
		_ = resp.Body.Close()
		return nil, errors.New("it answered " + resp.Status)
	}
	return resp, err
}

// Sleep does not.
func (impatient) Sleep(time.Duration) {}
