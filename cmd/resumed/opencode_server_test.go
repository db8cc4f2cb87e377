package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

// opencodeServerEnv makes the test binary a stand-in for an opencode server, or, without an address,
// for opencode in a terminal.
const opencodeServerEnv = "RESUMED_TEST_OPENCODE"

// opencodeServer configures the stand-in.
type opencodeServer struct {
	Address string // the file for its URL; empty: it does not listen
	Prompts string // the file for every prompt
	Answer  string // its JSON of the session; empty: it does not know it
	Status  string // the status of the session
	Code    int    // of its answer to a prompt
	Victim  string // the file with the pid of a process that it kills at a prompt

	Service  string // the file in which a background server of version 2 registers itself
	Database string // that it has open
}

func runOpencodeServer(settings string) int {
	var s opencodeServer
	if err := json.Unmarshal([]byte(settings), &s); err != nil {
		return fail(err)
	}
	if s.Service != "" {
		return serveInBackground(s)
	}
	if s.Address == "" {
		time.Sleep(time.Hour)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fail(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /global/event", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "data: {}\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	mux.HandleFunc("GET /session/status", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, s.Status) })
	mux.HandleFunc("GET /session/ses_1", func(w http.ResponseWriter, _ *http.Request) {
		if s.Answer == "" {
			w.WriteHeader(http.StatusNotFound)
		}
		fmt.Fprint(w, s.Answer)
	})
	mux.HandleFunc("POST /session/ses_1/prompt_async", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		prompts, err := os.OpenFile(s.Prompts, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err == nil {
			fmt.Fprintf(prompts, "%s %s\n", r.URL.Query().Get("directory"), body)
			prompts.Close()
		}
		if pid, err := os.ReadFile(s.Victim); err == nil {
			n, _ := strconv.Atoi(string(pid))
			_ = syscall.Kill(n, syscall.SIGKILL)
		}
		w.WriteHeader(s.Code)
	})
	if err := os.WriteFile(s.Address, []byte("http://"+listener.Addr().String()), 0o600); err != nil {
		return fail(err)
	}
	return fail(http.Serve(listener, mux))
}

// servedBox is a box in which a session of opencode was stopped.
type servedBox struct {
	*box
	db *opencodeDB
}

func newServedBox(t *testing.T) *servedBox {
	b := &servedBox{box: newBox(t)}
	b.write("src/main.go", "package main\n")
	b.write("bin/opencode", "#!/bin/sh\necho \"$*\" >> \"$HOME/runs\"\n")
	b.db = b.opencodeDB()
	b.db.session("ses_1", "", b.path("src"))
	b.db.exec("ALTER TABLE session ADD COLUMN agent text")
	b.db.exec("UPDATE session SET agent = 'plan'")
	return b
}

// serve runs a stand-in in that directory and configures it.
func (b *servedBox) serve(dir, resumeKeys string, change func(*opencodeServer)) {
	b.t.Helper()
	s := opencodeServer{
		Address: b.path("address"), Prompts: b.path("prompts"), Status: "{}", Code: http.StatusNoContent, Victim: b.path("victim"),
		Answer: fmt.Sprintf(`{"id":"ses_1","directory":%q,"agent":"plan","model":{"id":"m","providerID":"p","variant":"high"}}`, b.path("src")),
	}
	if change != nil {
		change(&s)
	}
	b.standIn("opencode", opencodeServerEnv, s, dir, "serve", "--port", "0")
	b.until("it listens", func() bool { return b.read("address") != "" })
	b.configure(b.read("address"), resumeKeys)
}

func (b *servedBox) configure(server, resumeKeys string) {
	b.write(configFile, fmt.Sprintf("[backoff]\nbase_delay = \"100ms\"\n[resume]\nmargin = \"0s\"\nstagger = \"0s\"\n%s\n"+
		"[[agent]]\nname = \"opencode\"\nserver = %q\n", resumeKeys, server))
}

// answer writes the turn after a prompt.
func (b *servedBox) answer() {
	now := time.Now().UnixMilli()
	b.db.exec("INSERT INTO message VALUES ('msg_2', 'ses_1', ?, ?, ?)", now, now, fmt.Sprintf(`{"role":"user","time":{"created":%d}}`, now))
	b.db.exec("INSERT INTO message VALUES ('msg_3', 'ses_1', ?, ?, ?)", now+1, now+1,
		fmt.Sprintf(`{"role":"assistant","time":{"created":%d,"completed":%d},"finish":"stop"}`, now+1, now+1))
}

func (b *servedBox) sent() string {
	return b.path("src") + ` {"agent":"plan","model":{"providerID":"p","modelID":"m"},"variant":"high",` +
		`"parts":[{"type":"text","text":"continue"}]}` + "\n"
}

// Each situation has one correct action.
func TestAServedOpencodeSession(t *testing.T) {
	t.Parallel()
	serves := func(keys string, change func(*opencodeServer)) func(*servedBox) {
		return func(b *servedBox) { b.serve(b.path("src"), keys, change) }
	}
	for name, c := range map[string]struct {
		live    func(*servedBox)
		state   resume.State
		why     string
		sent    bool // the prompt, once
		runs    int
		unknown bool
	}{
		"the server in its directory is given the prompt": {live: serves("", nil), state: resume.Watching, sent: true},
		"so is one elsewhere that has the session": {
			live: func(b *servedBox) { b.serve(b.home, "", nil) }, state: resume.Watching, sent: true,
		},
		"a server that works on it is left": {
			live:  serves("", func(s *opencodeServer) { s.Status = `{"ses_1":{"type":"busy"}}` }),
			state: resume.Waiting, why: "works on the session",
		},
		"a server that tries again by itself is left": {
			live: serves("", func(s *opencodeServer) {
				s.Status = `{"ses_1":{"type":"retry","attempt":1,"message":"slow down","next":4102444800000}}`
			}),
			state: resume.Waiting, why: "tries again by itself at 2100-01-01",
		},
		"a terminal beside the server may hold it": {
			live: func(b *servedBox) {
				b.serve(b.path("src"), "", nil)
				b.standIn("opencode", opencodeServerEnv, opencodeServer{}, b.path("src"))
			},
			state: resume.Waiting, why: "without a terminal, and is waited for",
		},
		"one that is attached to the server does not": {
			live: func(b *servedBox) {
				b.serve(b.path("src"), "", nil)
				b.standIn("opencode", opencodeServerEnv, opencodeServer{}, b.path("src"), "attach", b.read("address"))
			},
			state: resume.Watching, sent: true,
		},
		"a server that is not the configured one may hold it": {
			live: func(b *servedBox) {
				b.serve(b.path("src"), "", nil)
				b.configure("http://127.0.0.1:1", "")
			},
			state: resume.Waiting, why: "holds it: set server = ",
		},
		"a server that does not know it is waited for": {
			live:  serves("", func(s *opencodeServer) { s.Answer = "" }),
			state: resume.Waiting, why: "without a terminal, and is waited for",
		},
		"a server that is gone holds nothing": {
			live: func(b *servedBox) { b.configure("http://127.0.0.1:1", "") }, state: resume.Watching, runs: 1,
		},
		"a prompt that is refused is told of": {
			live:  serves("", func(s *opencodeServer) { s.Code = http.StatusBadRequest }),
			state: resume.Parked, why: "refused the prompt", sent: true,
		},
		"a prompt that broke the server is unknown": {
			live:  serves("", func(s *opencodeServer) { s.Code = http.StatusBadGateway }),
			state: resume.Parked, why: "502 Bad Gateway", sent: true, unknown: true,
		},
		"a person is told, where that is asked for": {live: serves(`live = "notify"`, nil), state: resume.Parked, why: `resume.live is "notify"`},
		"nobody is told, where that is asked for":   {live: serves(`live = "ignore"`, nil), state: resume.Waiting, why: `resume.live is "ignore"`},
	} {
		t.Run(name, func(t *testing.T) {
			b := newServedBox(t)
			c.live(b)
			b.start()
			b.db.refused("msg_1", "ses_1", 0)
			if c.state == resume.Watching {
				b.until("it is continued", func() bool { return b.read("prompts")+b.read("runs") != "" })
				b.answer()
			}
			var s view.Session
			b.until(fmt.Sprintf("it is %s because %q", c.state, c.why), func() bool {
				s = b.session("ses_1")
				return s.State == c.state && strings.Contains(s.Reason, c.why)
			})
			want := ""
			if c.sent {
				want = b.sent()
			}
			require.Equal(t, want, b.read("prompts"))
			require.Equal(t, strings.Repeat("run --session ses_1 --format json --agent plan continue\n", c.runs), b.read("runs"))
			if c.unknown {
				require.Equal(t, resume.Unknown, s.Attempts[0].Outcome)
			} else {
				require.Empty(t, s.Attempts, "what was not sent costs no attempt, and movement forgives")
			}
		})
	}
}

// A daemon that dies before the answer never sends a second prompt.
func TestACrashWhileSending(t *testing.T) {
	t.Parallel()
	for name, state := range map[string]resume.State{
		"and the prompt left no trace": resume.Parked,
		"and the session moved":        resume.Watching,
	} {
		t.Run(name, func(t *testing.T) {
			b := newServedBox(t)
			b.serve(b.path("src"), "", nil)
			b.start()
			b.write("victim", strconv.Itoa(b.proc.Process.Pid))
			b.db.refused("msg_1", "ses_1", 0)
			b.untilDead()
			b.kill(syscall.SIGKILL)
			require.NoError(t, os.Remove(b.path("victim")))
			if state == resume.Watching {
				b.answer()
			}
			b.start()
			s := b.untilState("ses_1", state)
			if state == resume.Parked {
				require.Contains(t, s.Reason, "does not tell whether it was sent")
				require.Equal(t, resume.Unknown, s.Attempts[0].Outcome)
			}
			require.Equal(t, b.sent(), b.read("prompts"))
			require.Empty(t, b.read("runs"))
		})
	}
}
