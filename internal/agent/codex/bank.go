package codex

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"resumed/internal/agent"
	"resumed/internal/resume"
)

var _ agent.ResetBank = (*Agent)(nil)

// Banked returns how many resets of its usage limits the session's account has: Codex asks its provider.
func (a *Agent) Banked(ctx context.Context, s resume.Session) (int, error) {
	var answer struct {
		Resets struct {
			Available int `json:"availableCount"`
		} `json:"rateLimitResetCredits"`
	}
	err := a.askServer(ctx, s, "account/rateLimits/read", nil, &answer)
	return max(0, answer.Resets.Available), err
}

// UseReset uses one of these resets. It uses no second one for the same id.
func (a *Agent) UseReset(ctx context.Context, s resume.Session, id string) error {
	var answer struct {
		Outcome string `json:"outcome"`
	}
	if err := a.askServer(ctx, s, "account/rateLimitResetCredit/consume", map[string]string{"idempotencyKey": id}, &answer); err != nil {
		return fmt.Errorf("%w; whether a reset was used is not known, and the same command again uses no second one", err)
	}
	switch answer.Outcome {
	case "reset", "alreadyRedeemed":
		return nil
	case "noCredit":
		return errors.New("no reset is in the bank")
	case "nothingToReset":
		return errors.New("no allowance of the account is used up: no reset was used")
	default:
		return fmt.Errorf("codex app-server answered %q: whether a reset was used is not known", answer.Outcome)
	}
}

// serverPatience is how long Codex may take to ask its provider.
const serverPatience = 15 * time.Second

// askServer starts Codex's app-server for the account of the session, and asks it one thing.
func (a *Agent) askServer(ctx context.Context, s resume.Session, method string, params, answer any) (err error) {
	if s.Provider != "" {
		return fmt.Errorf("its provider is %s: only accounts of ChatGPT have resets", s.Provider)
	}
	found, err := a.Find(s)
	if err != nil {
		return errors.New(a.Missing().Skip.Why)
	}
	environ := append(os.Environ(), a.Environment(found, s.Transcript)...)
	if o := s.StartedWith(); o != nil && o.Login != "" && a.Login(environ, o.Salt) != o.Login {
		return errors.New("another account is signed in by now")
	}
	ctx, cancel := context.WithTimeout(ctx, serverPatience)
	defer cancel()
	argv := append(found.Argv(), serverCommand)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env, cmd.Dir, cmd.WaitDelay = environ, a.Homes.Of(s.Transcript), time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // what npm installs is a script
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start codex app-server: %w", err)
	}
	defer func() {
		cancel()
		_ = cmd.Wait() // it was killed
	}()
	if err := converse(in, out, method, params, answer); err != nil {
		return fmt.Errorf("ask codex app-server: %w", errors.Join(err, ctx.Err()))
	}
	return nil
}

func converse(in io.Writer, out io.Reader, method string, params, answer any) error {
	type object = map[string]any
	to, from := json.NewEncoder(in), json.NewDecoder(out)
	request := func(id int, method string, params, answer any) error {
		asked := object{"id": id, "method": method}
		if params != nil {
			asked["params"] = params
		}
		if err := to.Encode(asked); err != nil {
			return err
		}
		for {
			var said struct {
				ID     *int            `json:"id"`
				Method string          `json:"method"` // of what is not an answer
				Result json.RawMessage `json:"result"`
				Error  *struct {
					Message string `json:"message"`
				} `json:"error"`
			}
			switch err := from.Decode(&said); {
			case err != nil:
				return err
			case said.ID == nil || *said.ID != id || said.Method != "":
			case said.Error != nil:
				return errors.New(said.Error.Message)
			default:
				return json.Unmarshal(said.Result, answer)
			}
		}
	}
	introduced := object{"clientInfo": object{"name": "resumed", "version": "1"}}
	if err := request(1, "initialize", introduced, &object{}); err != nil {
		return err
	}
	if err := to.Encode(object{"method": "initialized"}); err != nil {
		return err
	}
	return request(2, method, params, answer)
}
