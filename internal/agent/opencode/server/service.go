package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
)

// Service is the background server of opencode 2 as it registers itself in a file.
type Service struct {
	PID int    `json:"pid"`
	URL string `json:"url"`
}

// Check returns why the server cannot be used now. It is asked without its password: then it may refuse to
// tell more, but it lives.
func (s Service) Check(ctx context.Context) error {
	base, err := url.Parse(s.URL)
	if err != nil || base.Host == "" {
		return fmt.Errorf("its address %q is none", s.URL)
	}
	client := NewClient(base, "", "")
	defer client.Close()
	var health struct {
		PID int `json:"pid"`
	}
	err = client.get(ctx, "/health", "", &health)
	if refused, ok := errors.AsType[*StatusError](err); ok && refused.Code == http.StatusUnauthorized {
		return nil
	}
	if err == nil && health.PID != 0 && health.PID != s.PID {
		return fmt.Errorf("another process (%d) answers at its address", health.PID)
	}
	return err
}
