package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// looksAtPage is how often the page is opened.
const looksAtPage = 20

// page measures how long a browser waits for the daemon when it opens the page: until it has the groups
// of the stopped sessions, which it draws first.
func (r *report) page(d *daemon) error {
	at, err := d.servePage(r.binary)
	if err != nil {
		return err
	}
	var all []time.Duration
	before := d.used()
	for range looksAtPage {
		took, err := outline(at)
		if err != nil {
			return err
		}
		all = append(all, took)
	}
	r.add("page → its groups, p50 / p99", len(d.home.sessions), "%s (%.0f ms CPU)", quantiles(all), ms((d.used()-before)/looksAtPage))
	return nil
}

// servePage enables the page, which is off by default, and returns its link.
func (d *daemon) servePage(binary string) (*url.URL, error) {
	config := filepath.Join(d.home.dir, ".config/resumed/resumed.toml") // newHome has made it
	if err := os.WriteFile(config, []byte("[http]\nlisten = \"127.0.0.1:0\"\n"), 0o600); err != nil {
		return nil, err
	}
	for until := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		open := exec.Command(binary, "open", "--print")
		open.Env = environment(d.home)
		link, err := open.Output()
		if err == nil {
			return url.Parse(strings.TrimSpace(string(link)))
		}
		if time.Now().After(until) {
			return nil, fmt.Errorf("open --print: %w", err)
		}
	}
}

// outline follows a link to the page, opens its stream and returns how long its groups took.
func outline(at *url.URL) (time.Duration, error) {
	ctx, leave := context.WithTimeout(context.Background(), patience)
	defer leave()
	begin := time.Now()
	send := func(method, path, header, value string) (*http.Response, error) {
		request, err := http.NewRequestWithContext(ctx, method, "http://"+at.Host+path, nil)
		if err != nil {
			return nil, err
		}
		request.Header.Set(header, value)
		return http.DefaultClient.Do(request)
	}
	entered, err := send(http.MethodPost, "/enter", "Authorization", "Link "+at.Query().Get("token"))
	if err != nil {
		return 0, err
	}
	_ = entered.Body.Close()
	if len(entered.Cookies()) == 0 {
		return 0, fmt.Errorf("the link was not accepted: %s", entered.Status)
	}
	cookie := entered.Cookies()[0]
	answer, err := send(http.MethodGet, cookie.Path+"/events", "Cookie", cookie.Name+"="+cookie.Value)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	events := bufio.NewScanner(answer.Body)
	events.Buffer(nil, 1<<26)
	for events.Scan() {
		if strings.Contains(events.Text(), `"groups":[`) {
			return time.Since(begin), nil
		}
	}
	return 0, fmt.Errorf("the page was told no groups: %s, %w", answer.Status, events.Err())
}
