package screen

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/agent/claude/claudetest"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

func captureOf(t testing.TB, name string) string {
	data, err := os.ReadFile(filepath.Join("..", "testdata", "screens", name+".txt"))
	require.NoError(t, err)
	return string(data)
}

// judge judges the screen of a process without vim keys.
func judge(seen Screen, status string, stopped resume.Session, pid int, now time.Time) agent.ScreenState {
	no := func() bool { return false }
	return seen.Judge(Process{PID: pid, Status: status, Vim: no, Commands: no}, stopped, now)
}

func TestEveryCapturedScreenIsRecognised(t *testing.T) {
	for name, want := range map[string]struct {
		view  view
		draft string
	}{
		"429-apikey-ra120":                   {composer, ""},
		"429-apikey-ra20-waiting":            {busy, ""},
		"529-final":                          {composer, ""},
		"529-retrying":                       {busy, ""},
		"529-then-model":                     {composer, ""},
		"api-key-dialog":                     {strange, ""},
		"cancel-ctrlc-in-retry":              {composer, "try again"},
		"cancel-esc":                         {composer, ""},
		"dialog-auto-mode":                   {strange, ""},
		"dialog-auto-mode-unchecked":         {strange, ""},
		"dialog-model":                       {strange, ""},
		"dialog-resume-summary":              {strange, ""},
		"dialog-permission":                  {strange, ""},
		"first-run-no-network":               {strange, ""},
		"hint-401":                           {composer, ""},
		"hint-429":                           {composer, ""},
		"hint-500":                           {composer, ""},
		"hint-accessibility":                 {composer, ""},
		"hint-draft":                         {composer, "wait a"},
		"hint-narrow-30":                     {composer, ""},
		"hint-no-colour":                     {composer, ""},
		"hint-unfocused":                     {composer, ""},
		"hint-vim-insert":                    {composer, ""},
		"hint-vim-normal":                    {composer, ""},
		"interactive-resume":                 {composer, ""},
		"interactive-resume-after-limit":     {composer, ""},
		"interactive-resume-with-prompt":     {composer, ""},
		"low-529-10":                         {composer, ""},
		"low-529-10-narrow":                  {composer, ""},
		"low-context-24":                     {composer, ""},
		"low-menu-10":                        {menu, ""},
		"low-menu-10-notice":                 {menu, ""},
		"low-usage-5h-10":                    {armed, ""},
		"menu-80-notice-focus":               {menu, ""},
		"menu-80-notice-tmux":                {menu, ""},
		"menu-moved":                         {menu, ""},
		"narrow-529-40":                      {composer, ""},
		"narrow-529-40-typed":                {composer, "continue"},
		"narrow-menu-40":                     {menu, ""},
		"narrow-menu-40-notice":              {menu, ""},
		"narrow-menu-50":                     {menu, ""},
		"narrow-menu-56":                     {menu, ""},
		"narrow-menu-56-coming":              {busy, ""},
		"narrow-usage-5h-40":                 {armed, ""},
		"narrow-usage-5h-50":                 {armed, ""},
		"narrow-vim-insert-40":               {composer, ""},
		"ok":                                 {composer, ""},
		"prompt-idle":                        {composer, ""},
		"rate-limit-options":                 {menu, ""},
		"sigterm-while-armed":                {strange, ""},
		"trust-dialog":                       {strange, ""},
		"usage-5h-after-tool":                {armed, ""},
		"usage-5h-oauth":                     {armed, ""},
		"usage-5h-second-hit":                {armed, ""},
		"usage-5h-typed-while-armed":         {composer, ""},
		"usage-5h-with-statusline":           {armed, ""},
		"usage-warning":                      {composer, ""},
		"usage-weekly-after-typing-continue": {composer, ""},
		"usage-weekly-continued":             {composer, ""},
		"usage-weekly-menu":                  {menu, ""},
		"v197-529-typed":                     {composer, "continue"},
		"v197-529-typed-effort":              {composer, "continue"},
		"v197-low-529-10":                    {composer, ""},
		"v197-low-menu-10":                   {menu, ""},
		"v197-low-menu-10-closed":            {composer, ""},
		"v197-narrow-529-40":                 {composer, ""},
		"v197-narrow-529-40-typed":           {composer, "continue"},
		"v197-usage-5h":                      {menu, ""},
		"v197-usage-5h-typed-notice":         {composer, "continue"},
		"v197-vim-insert":                    {composer, ""},
		"v197-vim-normal":                    {composer, ""},
		"vim-insert":                         {composer, ""},
		"vim-insert-typed":                   {composer, "continue"},
		"vim-menu-closed":                    {composer, ""},
		"vim-normal":                         {composer, ""},
		"vim-usage-5h":                       {armed, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := Read(captureOf(t, name))
			require.Equal(t, want.view, got.view)
			require.Equal(t, want.draft, got.draft)
			inserts := strings.Contains(name, "vim-") && !strings.HasSuffix(name, "vim-normal")
			require.Equal(t, inserts, got.insert, "vim's INSERT is shown, and nothing else of vim")
		})
	}
	files, err := filepath.Glob("../testdata/screens/*.txt")
	require.NoError(t, err)
	require.Len(t, files, 76, "every capture is in the table")
}

// rule is as wide as the terminals that were captured.
var rule = strings.Repeat("─", 120)

// prompt draws a prompt: the text above it, in it and below it.
func prompt(above, composer string, below ...string) string {
	return above + "\n" + rule + "\n" + composer + "\n" + rule + "\n  " + strings.Join(below, "\n  ") + "\n\n\n"
}

func TestWhatAScreenShows(t *testing.T) {
	const mode = "⏵⏵ auto mode on (shift+tab to cycle)"
	const refusal = "❯ work\n\n● API Error: 529 Overloaded."
	for rule, c := range map[string]struct {
		text  string
		view  view
		draft string
	}{
		"an empty screen":             {"\n\n\n", strange, ""},
		"a shell":                     {"$ claude\nbash: claude: not found\n$ ", strange, ""},
		"a composer that waits":       {prompt(refusal, "❯ ", mode), composer, ""},
		"the mode that asks":          {prompt(refusal, "❯ ", "⏸ manual mode on · ? for shortcuts"), composer, ""},
		"no mode of its own":          {prompt(refusal, "❯ ", "? for shortcuts"), composer, ""},
		"a draft":                     {prompt(refusal, "❯ wait a", mode), composer, "wait a"},
		"a draft of several lines":    {prompt(refusal, "❯ one\n  two\n\n  three", mode), composer, "one\ntwo\n\nthree"},
		"something pasted":            {prompt(refusal, "❯ [Pasted text #1]", mode), composer, "[Pasted text #1]"},
		"a shell command":             {prompt(refusal, "! ls", "! for bash mode"), strange, ""},
		"nothing below the composer":  {prompt(refusal, "❯ "), strange, ""},
		"a draft with nothing below":  {prompt(refusal, "❯ wait a"), composer, "wait a"},
		"a draft with a notice below": {prompt(refusal, "❯ wait a", "something else"), strange, "wait a"},
		"a draft with a notice at the right edge": {
			prompt(refusal, "❯ wait a", strings.Repeat(" ", 40)+"tmux focus-events off"), composer, "wait a",
		},
		"a draft with a question at the right edge": {
			prompt(refusal, "❯ wait a", strings.Repeat(" ", 40)+"Exit anyway? (y/n)"), strange, "wait a",
		},
		"a draft with work at the right edge": {
			prompt(refusal, "❯ wait a", strings.Repeat(" ", 40)+"esc to interrupt"), busy, "wait a",
		},
		"work and nothing below":        {prompt("❯ work\n\n✻ Unraveling…\n", "❯ wait a"), busy, "wait a"},
		"a status line":                 {prompt(refusal, "❯ ", "main · 3 files · 42%", mode), composer, ""},
		"a menu below the composer":     {prompt(refusal, "❯ ", "❯ 1. Yes", "2. No", mode), strange, ""},
		"a question below the composer": {prompt(refusal, "❯ ", "Exit anyway? (y/n)", mode), strange, ""},
		"another end of the screen":     {prompt(refusal, "❯ ", mode, "Enter to confirm"), strange, ""},
		"a key a moment ago":            {prompt(refusal, "❯ ", "Press Ctrl-C again to exit"), touched, ""},
		"a paste a moment ago":          {prompt(refusal, "❯ ", "paste again to expand"), touched, ""},
		"work, by the footer":           {prompt(refusal, "❯ ", "⏸ manual mode on · esc to interrupt"), busy, ""},
		"work, by the spinner":          {prompt("❯ work\n\n✻ Unraveling…\n  ⎿  Tip: Use Plan Mode\n", "❯ ", mode), busy, ""},
		"a retry":                       {prompt("❯ work\n\n✻ API error · Retrying in 17s · attempt 1/10\n", "❯ ", mode), busy, ""},
		"a turn that is over":           {prompt(refusal+"\n\n✻ Cooked for 4s · done 2:53 AM", "❯ ", mode), composer, ""},
		"a continuation that is due": {
			prompt(refusal, "❯ ", "⚠ Usage limit reached · limit resets 2:52am", "  Continuing shortly · Esc to cancel", mode), armed, "",
		},
		"a continuation in other words": {
			prompt(refusal, "❯ ", "⚠ Usage limit reached · limit resets 2:52am", "  We go on at 2:52am", mode), armed, "",
		},
		"one that waits for a key": {
			prompt(refusal, "❯ ", "Your usage limit has reset", "  Press enter to continue", mode), stale, "",
		},
		"one that waits for a key, in one line": {
			prompt(refusal, "❯ ", "⚠ Usage limit has reset · Press enter to continue", mode), strange, "",
		},
		"one that says so in the conversation": {
			prompt(refusal+"\n\n● Usage limit has reset · Press\n  enter to continue", "❯ ", mode), stale, "",
		},
		"one that said so before the last prompt": {
			prompt("● Usage limit has reset · Press enter to continue\n"+refusal, "❯ ", mode), composer, "",
		},
		"an answer that speaks of a key": {
			prompt(refusal+"\n\n● The script says: press enter to continue", "❯ ", mode), composer, "",
		},
		"a menu with a choice nobody knows": {
			rule2("What do you want to do?", "❯ 1. Stop and wait for limit to reset", "2. Delete everything", "Enter to confirm · Esc to cancel"), strange, "",
		},
		"a menu with a choice nobody knows after one that is broken": {
			rule2("What do you want to do?", "❯ 1. Stop and wait for limit to", "  reset", "2. Wait here, then continue", "automatically at 5pm",
				"3. Delete everything", "Enter to confirm · Esc to cancel"), strange, "",
		},
		"the limit's menu with a notice on its edge": {
			" tmux detected · scroll … ▔\n  What do you want to do?\n  ❯ 1. Stop and wait for limit to reset\n  2. Upgrade your plan\n  Enter to confirm · Esc to cancel\n", menu, "",
		},
		"the limit's menu below something else": {
			"▔▔▔▔\n  Really?\n  What do you want to do?\n  ❯ 1. Stop and wait for limit to reset\n  Enter to confirm · Esc to cancel\n", strange, "",
		},
		"work, by a footer that is cut off":        {prompt(refusal, "❯ ", "⏵⏵ auto mode on (shift+tab to cycle) · esc to inter…"), busy, ""},
		"a hint above a notice at the right edge":  {prompt(refusal, "❯ ", "? for shortcuts", strings.Repeat(" ", 20)+"● high · /effort"), composer, ""},
		"a continuation on a screen with few rows": {prompt(refusal, "❯ ", "⚠ Usage limit reached · limit resets 2:52am"), armed, ""},
		"a cancel key of something else":           {prompt(refusal, "❯ ", "· Esc to cancel", mode), strange, ""},
		"vim's letters":                            {prompt(refusal, "❯ ", "-- INSERT -- "+mode), composer, ""},
		"vim's letters without a mode's name":      {prompt(refusal, "❯ ", "-- INSERT -- ← for agents"), composer, ""},
		"vim selects":                              {prompt(refusal, "❯ ", "-- VISUAL -- "+mode), strange, ""},
		"the limit's menu with another choice marked": {
			rule2("What do you want to do?", "1. Stop and wait for limit to reset", "❯ 2. Upgrade your plan", "Enter to confirm · Esc to cancel"), menu, "",
		},
		"the limit's menu with no choice marked": {
			rule2("What do you want to do?", "1. Stop and wait for limit to reset", "2. Upgrade your plan", "Enter to confirm · Esc to cancel"), strange, "",
		},
		"the limit's menu quoted above a composer": {
			prompt("What do you want to do?\n❯ 1. Stop and wait for limit to reset\n2. Upgrade your plan\nEnter to confirm · Esc to cancel", "❯ ", mode), composer, "",
		},
	} {
		t.Run(rule, func(t *testing.T) {
			got := Read(c.text)
			require.Equal(t, c.view, got.view)
			require.Equal(t, c.draft, got.draft)
		})
	}
}

// An empty composer may show a hint: it is dim, but for the cursor on its first character.
func TestAHintIsNoDraft(t *testing.T) {
	const mode, colour = "\x1b[38;5;220m⏵⏵ auto mode on\x1b[39m", "\x1b[2mdim\x1b[0m"
	for name, c := range map[string]struct{ composer, above, draft string }{
		"dim, with the cursor":                         {"\x1b[7mT\x1b[0;2mry this\x1b[0m", "", ""},
		"dim, without focus":                           {"\x1b[2mTry this\x1b[22m", "", ""},
		"dim, in several rows":                         {"\x1b[7mT\x1b[0;2mry\n  this", "", ""},
		"dim in a colour":                              {"\x1b[7mT\x1b[27;38;5;7;2mry\x1b[38;2;2;7;2m this", "", ""},
		"a draft":                                      {"Try this\x1b[7m \x1b[0m", colour, "Try this"},
		"its cursor at the beginning":                  {"\x1b[7mT\x1b[0mry this", colour, "Try this"},
		"one letter, and the cursor on it":             {"\x1b[7mR\x1b[0m", colour, "R"},
		"one that is dim in part":                      {"\x1b[7mT\x1b[0mry \x1b[2mthis", "", "Try this"},
		"one with the cursor behind it":                {"\x1b[2mTry this\x1b[7m \x1b[0m", "", "Try this"},
		"one in colours with a 2 in them":              {"\x1b[38;5;2mTry\x1b[38:2::2:2:2m this\x1b[4:2;48;2;2;2;2m!", colour, "Try this!"},
		"a known one without colours":                  {"\x1b[7mO\x1b[0mnce fixed, resend your message", "", ""},
		"and one without a cursor":                     {"Run /rewind to go back", "", ""},
		"and one that is cut":                          {"Resend your message to …", "", ""},
		"its words as a draft":                         {"Run /rewind to go back\x1b[7m \x1b[0m", "", "Run /rewind to go back"},
		"its words as a draft, where something is dim": {"\x1b[7mR\x1b[0mun /rewind to go back", colour, "Run /rewind to go back"},
		"more than its words":                          {"Run /rewind to go back now", "", "Run /rewind to go back now"},
	} {
		t.Run(name, func(t *testing.T) {
			got := Read(prompt(c.above, "❯ "+c.composer+"\x1b[0m", mode))
			require.Equal(t, composer, got.view)
			require.Equal(t, c.draft, got.draft)
		})
	}
}

func rule2(rows ...string) string { return rule + "\n  " + strings.Join(rows, "\n  ") + "\n" }

// The decision needs both the screen and the status of the process.
func TestWhatMayBeTyped(t *testing.T) {
	now := time.Date(2026, 11, 15, 2, 10, 0, 0, time.UTC)
	type session = resume.Session
	limited := func(text string, reset time.Time) session {
		return session{Interruption: resume.Interruption{LimitText: text, Limit: limit.Verdict{Reset: limit.Reset{At: reset}}}}
	}
	overloaded := limited("API Error: 529 Overloaded. This is a server-side issue, usually temporary", time.Time{})
	shortWindow := limited("You've hit your 5-hour limit · resets 2:02am (UTC)", now.Add(-8*time.Minute))
	for rule, c := range map[string]struct {
		screen, status string
		session        session
		menu, strange  bool
		why            string // "": it may be typed
		park           bool
	}{
		"an idle prompt after an error":   {"529-final", "idle", overloaded, false, false, "", false},
		"one with a hint in it":           {"hint-accessibility", "idle", overloaded, false, false, "", false},
		"a version without a status":      {"529-final", "", overloaded, false, false, "", false},
		"the process says that it works":  {"529-final", "busy", overloaded, false, false, "works", false},
		"the screen says that it works":   {"529-retrying", "idle", overloaded, false, false, "works", false},
		"the process is another's by now": {"529-final", "gone", overloaded, false, false, "let go", false},
		"another error than the transcript's": {
			"529-final", "idle", shortWindow, false, true, "does not show what stopped", true,
		},
		"no error at all":                  {"ok", "idle", overloaded, false, true, "does not show what stopped", true},
		"a menu that the process waits in": {"v197-usage-5h", "waiting", shortWindow, true, false, "", false},
		"a menu, and the process is idle":  {"usage-weekly-menu", "idle", shortWindow, false, true, "does not say that it waits", true},
		"it waits, and there is no menu":   {"529-final", "waiting", overloaded, false, true, "waits for an answer", true},
		"a dialog":                         {"trust-dialog", "waiting", overloaded, false, false, "Accessing workspace:", false},
		"a dialog that a person opened":    {"dialog-model", "waiting", overloaded, false, false, "(Select model): answer or close it there", false},
		"one about a session after a pause": {
			"dialog-resume-summary", "waiting", overloaded, false, false,
			"(This session is 14h 43m old and 150k tokens.): it asks whether to continue from a summary, or with the full session, which uses more of your allowance; answer or close it there", false,
		},
		"one about the checks of a gateway": {
			"dialog-auto-mode-unchecked", "waiting", overloaded, false, false, "(Auto mode can't check actions in this session): answer or close it there", false,
		},
		"a dialog that is shown once":        {"dialog-auto-mode", "waiting", overloaded, false, false, "(Make auto mode your default permission mode?)", false},
		"the menu with the cursor moved":     {"menu-moved", "waiting", shortWindow, true, false, "", false},
		"a command such as /model":           {"529-then-model", "idle", overloaded, false, false, "", false},
		"a dialog that it does not speak of": {"trust-dialog", "idle", overloaded, false, true, "not known", true},
		"armed, and its time is over":        {"usage-5h-oauth", "idle", shortWindow, false, false, "", false},
		"armed, and its time is to come": {
			"usage-5h-oauth", "idle", limited(shortWindow.LimitText, now.Add(-time.Minute)), false, false, "continues by itself", false,
		},
	} {
		t.Run(rule, func(t *testing.T) {
			got := judge(Read(captureOf(t, c.screen)), c.status, c.session, 7, now)
			require.Equal(t, c.menu, got.Menu)
			require.Equal(t, c.strange, got.Strange)
			if c.why == "" {
				require.Nil(t, got.Skip)
				return
			}
			require.NotNil(t, got.Skip)
			require.Contains(t, got.Skip.Why, c.why)
			require.Equal(t, c.park, got.Skip.Park)
		})
	}
	// A command's output may fill the screen: then the transcript has to tell of it.
	filled := Read(captureOf(t, "low-context-24"))
	require.Contains(t, judge(filled, "idle", overloaded, 7, now).Skip.Why, "does not show what stopped")
	yes, no := func() bool { return true }, func() bool { return false }
	told := Process{PID: 7, Status: "idle", Vim: no, Commands: yes}
	require.Equal(t, agent.ScreenState{}, filled.Judge(told, overloaded, now))
	require.NotNil(t, Read(captureOf(t, "ok")).Judge(told, overloaded, now).Skip, "here a prompt is to be seen, and an answer")
	moved := Read(prompt("❯ work\n● API Error: 529 Overloaded. This is\n❯ /model\n  ⎿  Kept model as Opus", "❯ ", "? for shortcuts"))
	require.Equal(t, agent.ScreenState{}, judge(moved, "idle", overloaded, 7, now), "the refusal is to be seen above the command")

	low := Read(captureOf(t, "v197-low-menu-10-closed"))
	require.Contains(t, judge(low, "idle", shortWindow, 7, now).Skip.Why, "does not show what stopped")
	asked := Process{PID: 7, Status: "idle", Asked: true, Vim: func() bool { return false }}
	require.Equal(t, agent.ScreenState{}, low.Judge(asked, shortWindow, now), "the menu that stood there has told")

	asleep := strings.NewReplacer("⚠ Usage limit reached · limit resets 2:02am", "Usage limit has reset",
		"Continuing automatically at 2:02am · Esc to cancel", "Press enter to continue").Replace(captureOf(t, "usage-5h-oauth"))
	got := judge(Read(asleep), "idle", shortWindow, 7, now)
	require.NotNil(t, got.Skip, "nobody has seen it: nothing is typed")
	require.Contains(t, got.Skip.Why, "asks for Enter")
	require.True(t, got.Skip.Park && got.Strange, "it is told, and kept")
	got = judge(Read(captureOf(t, "cancel-ctrlc-in-retry")), "idle",
		session{Interruption: resume.Interruption{LimitText: "Interrupted · What should Claude do instead?"}}, 7, now)
	require.Equal(t, agent.ScreenState{Draft: "try again"}, got, "a draft is told, not touched")
}

// No screen shows why Claude Code let a turn end: the prompt is typed anyway.
func TestAfterATurnThatWasLetEndThePromptIsTyped(t *testing.T) {
	for _, text := range []string{claudetest.NearTheLimit, claudetest.InTheGrace} {
		got := judge(Read(captureOf(t, "ok")), "idle", resume.Session{Interruption: resume.Interruption{LimitText: text}}, 7, time.Now())
		require.Equal(t, agent.ScreenState{}, got)
	}
}

// A refusal is found on screens of every width, because terminals wrap lines.
func TestARefusalIsFoundHoweverItIsBroken(t *testing.T) {
	const text = "API Error: Request rejected (429) · This request would exceed"
	for _, turn := range []string{"● API Error: Request rejected (429)", "● API Err\n  or: Request re\n  jected (429)"} {
		got := Read(prompt("❯ go\n"+turn, "❯ ", "? for shortcuts"))
		require.True(t, got.shows(text), turn)
	}
	require.False(t, Screen{turn: "anything"}.shows(""), "a refusal without words is not found")
	const long = "API Error: 529 Overloaded. This is a server-side issue, usually temporary — try again in a moment. If it persists, check your inference gateway (127.0.0.1:37967)."
	low := Read(captureOf(t, "low-529-10-narrow"))
	require.True(t, low.shows(long), "its beginning stands above the screen")
	require.False(t, low.shows("API Error: 500 Internal server error. Try again in a moment."))
	low.cut = false
	require.False(t, low.shows(long), "a turn whose beginning is seen must show the refusal's")
	got := Read(prompt("❯ go\n"+text+"\n❯ again\n● Done.", "❯ ", "? for shortcuts"))
	require.False(t, got.shows(text), "one before the last prompt is over")
}

func FuzzReadScreen(f *testing.F) {
	files, err := filepath.Glob("../testdata/screens/*.txt")
	require.NoError(f, err)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(string(data))
	}
	f.Fuzz(func(t *testing.T, text string) {
		s := Read(text)
		if s.view == menu {
			require.Contains(t, text, "Esc to cancel")
		}
		if s.view == strange || s.view == stale {
			require.False(t, judge(s, "idle", resume.Session{Interruption: resume.Interruption{LimitText: "x"}}, 1, time.Time{}).Skip == nil)
		}
	})
}
