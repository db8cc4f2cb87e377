package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/agents"
	"resumed/internal/agenttest"
	"resumed/internal/leash"
	"resumed/internal/resume"
)

// ours is what the session's own shell has and the daemon has not.
func (b *box) ours(shell []string, argv ...string) *run {
	b.t.Helper()
	argv[0] = filepath.Join(b.bin, argv[0])
	return b.launch(append(append([]string{"/usr/bin/env"}, shell...), argv...)...)
}

// forbidden is a session that may not run commands, by what its own start says:
// it is refused before the limit and after the resume.
func forbidden(name string, limited agenttest.Answer, shell, argv func(*box) []string) situation {
	return situation{name, func(t *testing.T, b *box, row *result) {
		row.provider = string(limited.Kind())
		b.start(b.config())
		b.provider.Script(b.step("one"), limited.Thinking(thought))
		b.provider.Upon("continue", b.step("two"), agenttest.Text("I may not."))
		agent := b.ours(shell(b), argv(b)...)
		s := b.untilState(resume.Waiting, resume.Resuming)
		row.said = saw(s)
		agent.wait(t)
		require.Empty(t, b.done(), "it was refused before the limit")
		b.until("it was continued", func() bool { return resumes(b) == 1 })
		b.untilState(resume.Watching, resume.Parked)
		b.mustStayQuiet(b.calm(), 1)
		require.Positive(t, furtherRequests(b), "the model asked for it again")
		require.Empty(t, b.done(), "and was refused after the resume")
		row.did, row.outcome = "continued once with what it was started with", "refused again"
	}}
}

func resumes(b *box) int { return strings.Count(b.log.String(), "msg=resumed ") }

// furtherRequests counts the requests after the continuation: the first is answered with a
// command, and the next tells what became of it.
func furtherRequests(b *box) int { return len(b.provider.Requests()) - len(b.refused()) - 1 }

// allowed is a session that was allowed everything by its own start: so is its resume.
func allowed(name string, limited agenttest.Answer, argv func(*box) []string) situation {
	return situation{name, func(t *testing.T, b *box, row *result) {
		b.kit.ask(b)
		row.provider = string(limited.Kind())
		b.start(b.config())
		b.provider.Script(b.step("one"), limited.Thinking(thought))
		b.provider.Upon("continue", b.step("two"), agenttest.Text("All done."))
		agent := b.ours(nil, argv(b)...)
		s := b.untilState(resume.Waiting, resume.Resuming, resume.Settling)
		row.said = saw(s)
		agent.wait(t)
		b.finished(s, b.refused(), 1, once)
		row.did, row.outcome = "continued once with what it was started with", "finished"
	}}
}

// hidden is a session in a world of its own, in which a file is not to be seen. It
// is continued through what stood before it there; where nothing does, it is not
// continued outside.
func hidden(limited agenttest.Answer, wrapped bool, argv func(*box) []string) situation {
	name := "in namespaces of its own"
	if wrapped {
		name = "behind a wrapper that makes them"
	}
	return situation{name, func(t *testing.T, b *box, row *result) {
		if out, err := exec.Command("unshare", "--mount", "--pid", "--fork", "true").CombinedOutput(); err != nil {
			t.Skipf("SKIPPED: namespaces cannot be made: %s", out)
		}
		b.write("src/shop/secret.txt", "hunter2\n")
		row.provider = string(limited.Kind())
		b.start(b.config())
		read := func(step string) agenttest.Answer {
			return agenttest.Tool("cat secret.txt >> work.txt; echo " + step + " >> work.txt")
		}
		b.provider.Script(read("one"), limited.Thinking(thought))
		b.provider.Upon("continue", read("two"), agenttest.Text("All done."))
		inside := argv(b)
		inside[0] = filepath.Join(b.bin, inside[0])
		unshare := []string{"unshare", "--mount", "--pid", "--fork", "--mount-proc", "sh", "-c"}
		const hide = "mount --bind /dev/null secret.txt && "
		if wrapped {
			unshare = append(append(unshare, hide+`"$@"`, "sh"), inside...)
		} else {
			unshare = append(unshare, hide+"exec '"+strings.Join(inside, "' '")+"'")
		}
		agent := b.launch(unshare...)
		if wrapped {
			s := b.untilState(resume.Waiting, resume.Resuming, resume.Settling)
			agent.wait(t)
			b.finished(s, b.refused(), 1, once)
			row.said, row.did, row.outcome = saw(s), "continued once behind the same wrapper", "finished"
			return
		}
		s := b.untilState(resume.Parked)
		agent.wait(t)
		require.Equal(t, "one", b.done(), "it could not read the file")
		require.Contains(t, s.Reason, "it ran in a sandbox")
		b.mustStayQuiet(b.provider.Requests(), 0)
		row.said, row.did, row.outcome = saw(s), "parked it", "left to a person"
	}}
}

// otherAccount is a session with an address and a key of its own, while the daemon
// has others: no request of it ever reaches these. The values are in the memory of the
// daemon alone: after a restart of a machine nobody knows them.
func otherAccount(url, key string, limited agenttest.Answer, known bool, argv func(*box) []string) situation {
	name := "an account of its own, which nobody knows any more"
	if known {
		name = "an account of its own"
	}
	return situation{name, func(t *testing.T, b *box, row *result) {
		const mine, others = "sk-mine-0000000000000000", "sk-others-000000000000000"
		daemons := agenttest.NewServer(t)
		b.extra = append(b.extra, url+"="+daemons.URL+"/v1", key+"="+others)
		row.provider = string(limited.Kind())
		b.start(b.config())
		b.hold(!known)
		b.provider.Script(b.step("one"), limited.Thinking(thought))
		b.provider.Upon("continue", b.step("two"), agenttest.Text("All done."))
		agent := b.ours([]string{url + "=" + b.provider.URL + "/v1", key + "=" + mine}, argv(b)...)
		s := b.untilState(resume.Waiting, resume.Resuming, resume.Settling)
		row.said = saw(s)
		agent.wait(t)
		before := b.refused()
		if known {
			b.finished(s, before, 1, once)
			row.did, row.outcome = "continued once with its own key", "finished"
		} else {
			b.restart()
			b.hold(false)
			s = b.untilState(resume.Parked)
			require.Contains(t, s.Reason, "another account would be used")
			require.NotContains(t, s.Reason, mine)
			b.mustStayQuiet(before, 0)
			row.did, row.outcome = "parked it", "left to a person"
		}
		for _, r := range b.provider.Heard() {
			require.NotEqual(t, others, r.Key)
		}
		for _, r := range daemons.Requests() {
			t.Errorf("the daemon's own provider was asked: %+v", r)
		}
		kept, err := exec.Command("grep", "-rl", mine, b.home).CombinedOutput()
		require.NotContains(t, string(kept), "resumed/state", "the key is kept: %v", err)
		require.NotContains(t, b.log.String(), mine)
	}}
}

// tooEarly is a session that lived and died before there was a daemon. What it was
// started with is not known: it waits for its user's word.
func tooEarly(limited agenttest.Answer, argv func(*box) []string) situation {
	return situation{"lived and died before anybody looked", func(t *testing.T, b *box, row *result) {
		row.provider = string(limited.Kind())
		b.provider.Script(b.step("one"), limited)
		b.provider.Upon("continue", b.step("two"), agenttest.Text("All done."))
		b.ours([]string{"IS_SANDBOX=1"}, argv(b)...).wait(t)
		before := b.refused()

		b.start(b.config())
		s := b.untilState(resume.Parked)
		require.Contains(t, s.Reason, "its start was not seen")
		require.Equal(t, "start_unseen", *s.Needs)
		b.mustStayQuiet(before, 0)
		require.Equal(t, "one", b.done())
		_, err := b.ask("retry", "--unseen")
		require.NoError(t, err)
		b.until("it was continued", func() bool { return resumes(b) == 1 })
		row.said, row.did, row.outcome = saw(s), "parked it, and continued it on its user's word", "left to a person"
	}}
}

// sameWorld is a session in a directory of its own, with a variable, an umask, a limit and
// a niceness of its own: so are the commands that its resume runs.
func sameWorld(limited agenttest.Answer, argv func(*box) []string) situation {
	return situation{"a directory, variables and limits of its own", func(t *testing.T, b *box, row *result) {
		b.extra = append(b.extra, "DATABASE_URL=prod", "KUBECONFIG=/of/the/daemon")
		row.provider = string(limited.Kind())
		b.start(b.config())
		look := agenttest.Tool("echo $DATABASE_URL:$KUBECONFIG:$(umask):$(ulimit -n):$(nice):$(basename $(pwd)) >> " + b.path("src/shop/work.txt"))
		b.provider.Script(look, limited.Thinking(thought))
		b.provider.Upon("continue", look, agenttest.Text("All done."))
		inside := argv(b)
		inside[0] = filepath.Join(b.bin, inside[0])
		script := "mkdir -p sub && cd sub && umask 077 && ulimit -n 512 && unset KUBECONFIG && DATABASE_URL=dev exec nice -n 7 '" + strings.Join(inside, "' '") + "'"
		agent := b.launch("sh", "-c", script)
		s := b.untilState(resume.Waiting, resume.Resuming, resume.Settling)
		agent.wait(t)
		b.until("it looked twice", func() bool { return len(strings.Fields(b.done())) == 2 })
		seen := strings.Fields(b.done())
		require.Equal(t, seen[0], seen[1])
		require.Regexp(t, "^dev::0077:512:[1-9][0-9]*:sub$", seen[0])
		row.said, row.did, row.outcome = saw(s), "continued once with what it was started with", "finished"
	}}
}

// sample returns one of so many rows where E2E_SHORT asks for a short run, else all
// of them.
func sample(every int, all []situation) []situation {
	if os.Getenv("E2E_SHORT") == "" {
		return all
	}
	var some []situation
	for i := 0; i < len(all); i += every {
		some = append(some, all[i])
	}
	return some
}

func nothing(*box) []string { return nil }

func words(line ...string) func(*box) []string {
	return func(*box) []string { return append(append([]string(nil), line...), prompt) }
}

// flagsOf returns the table of an agent's flags.
func flagsOf(t *testing.T, name string) leash.Flags {
	t.Helper()
	all := agents.Builtin()
	made, err := all[slices.IndexFunc(all, func(b agent.Builtin) bool { return b.Name == name })].New(agent.Options{})
	require.NoError(t, err)
	return made.(interface{ Flags() leash.Flags }).Flags()
}
