package service

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"time"

	"resumed/internal/notify"
	"resumed/internal/sanitize"

	"github.com/nicholas-fedor/shoutrrr/pkg/util/jsonclient"
)

// unsure are the services of which nobody can say whether they took a notice, and
// why.
var unsure = map[string]string{
	"join":   "it answers 200 to what it refuses too, and says only in words what it did",
	"teams":  "it answers 200 to what it refuses too, and says only in words what it did",
	"logger": "it is written to a log of the library's that nobody reads",
}

// judge says what an answer means. Only a clear refusal is final: the library
// gives most errors as words.
func (s *Channel) judge(f *flight) (string, error) {
	if f.err == nil {
		if why := unsure[s.to]; why != "" {
			return fmt.Sprintf("sent, but whether %s accepted it cannot be known: %s", s.to, why), nil
		}
		return "accepted", nil
	}
	told := fmt.Errorf("%s: %s", s.to, sanitize.Short(s.hide.Redact(f.err.Error()), 300))
	is := f.last
	if own, ok := errors.AsType[*refusal](f.err); ok {
		is = own.answer
	} else if is.status == 0 {
		is.status = statusIn(f.err)
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

var statusWords = regexp.MustCompile(`(?:status|status code|code unexpected):? "?([1-5]\d\d)\b|server responded with .*? \(([1-5]\d\d)\)`)

// statusIn returns the status in an error of the library's, 0 where there was no
// answer or it does not say.
func statusIn(err error) int {
	if failure, ok := errors.AsType[jsonclient.Error](err); ok {
		return failure.StatusCode
	}
	if _, ok := errors.AsType[*url.Error](err); ok {
		return 0
	}
	found := statusWords.FindStringSubmatch(err.Error())
	if found == nil {
		return 0
	}
	status, _ := strconv.Atoi(found[1] + found[2])
	return status
}

// answer is what was answered. It is a transport that notes it, for services that
// keep it to themselves.
type answer struct {
	status int // 0: nothing
	after  time.Duration
}

// RoundTrip asks with the proxies of the environment.
func (a *answer) RoundTrip(req *http.Request) (*http.Response, error) {
	*a = answer{}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err == nil {
		a.status = resp.StatusCode
		a.after = notify.RetryAfter(resp.Header.Get("Retry-After"), time.Now())
	}
	return resp, err
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
