package termui

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"resumed/internal/control"
	"resumed/internal/resume"
)

// framesPerSecond bounds how often the terminal is written. The effect of a key is visible within a
// frame; more would only cost time.
const framesPerSecond = 20

// Live shows the sessions on a terminal until the person quits, or ctx is done. Keys come from the
// terminal, whatever standard input is.
func (f Following) Live(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	program := tea.NewProgram(newModel(ctx, f),
		tea.WithContext(ctx), tea.WithOutput(f.Out), tea.WithFPS(framesPerSecond), tea.WithoutSignalHandler())
	var reading sync.WaitGroup
	reading.Go(func() {
		send := func(msg tea.Msg) error { program.Send(msg); return nil }
		_ = f.follow(ctx, // it ends only with ctx
			func(u control.Update) error { return send(u) },
			func(l lost) error { return send(l) })
	})
	_, err := program.Run()
	stop()
	reading.Wait()
	if errors.Is(err, tea.ErrProgramKilled) && errors.Is(err, context.Canceled) {
		return nil // a signal ended it
	}
	return err
}

// model is the state of the live view.
type model struct {
	ctx  context.Context // of the orders that keys give; ends with the view
	f    Following
	page Renderer // Width and Now are those of the last event

	height int
	board  board
	away   *lost // the daemon is gone

	rows    []*row // the rows that match the filter, in order
	natural layout // room for all of them
	nextFor int    // the widest countdown shown so far: columns must not move

	filter string
	typing bool       // keys change the filter
	at     resume.Key // the selected session,
	index  int        // and its index in rows
	left   resume.Key // an order was given for it: if it moves in the list, the cursor does not
	marked map[resume.Key]bool
	top    int // the first row on the screen

	fleet  *fleetView // nil: the sessions of this host are shown
	text   *output    // nil: no output of a command is shown
	open   bool       // the selected session's details are shown
	help   bool
	scroll int // of the details

	ask    *question
	notice notice
}

type question struct {
	text string
	yes  tea.Cmd
}

type notice struct {
	text   string
	colour Colour
	until  time.Time
}

const noticeFor = 8 * time.Second

func newModel(ctx context.Context, f Following) *model {
	m := &model{ctx: ctx, f: f, marked: make(map[resume.Key]bool), page: Renderer{Width: 80, Paint: f.Paint, Now: time.Now()}, height: 24}
	if f.Only != nil {
		m.at, m.open = *f.Only, true
	}
	return m
}

type tick time.Time

func everySecond() tea.Cmd {
	return tea.Every(time.Second, func(t time.Time) tea.Msg { return tick(t) })
}

func (m *model) Init() tea.Cmd { return everySecond() }

// Update handles one event.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	m.page.Now = time.Now()
	switch msg := msg.(type) {
	case tick:
		return m, tea.Batch(everySecond(), m.fleetAgain())
	case tea.WindowSizeMsg:
		m.page.Width, m.height, m.nextFor = msg.Width, msg.Height, 0
	case control.Update:
		m.away = nil
		m.board.apply(msg)
		m.refresh()
	case lost:
		m.away = &msg
	case notice:
		if strings.HasPrefix(msg.text, "http") { // there is no desktop: the link stays until it is copied
			m.text, msg = &output{title: "Open this link in your browser", lines: m.page.wrap(msg.text, "")}, notice{}
		}
		m.notice = msg
	case early:
		m.askEarly(msg)
	case output:
		m.text = &msg
	case fleetAnswer:
		if m.fleet == nil || m.fleet.after != msg.after {
			break // another page is shown meanwhile
		}
		if m.fleet.err = msg.err; msg.err == nil {
			m.fleet.seen = &msg.found
		}
	case tea.PasteMsg:
		if m.typing {
			m.setFilter(m.filter + msg.Content)
		}
	case tea.KeyPressMsg:
		return m, m.key(msg)
	}
	return m, nil
}

// refresh computes again which sessions are shown, and keeps the same session selected.
func (m *model) refresh() {
	words := strings.Fields(strings.ToLower(m.filter))
	m.rows = m.rows[:0]
	m.natural = layout{}
	for _, r := range m.board.order {
		if !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(r.hay, word) }) {
			m.rows = append(m.rows, r)
			m.natural.grow(r.room)
		}
	}
	found := slices.IndexFunc(m.rows, func(r *row) bool { return r.view.Key() == m.at })
	found = m.stays(found)
	if found < 0 && m.open && m.board.rows[m.at] != nil {
		return // its details stay open even if the filter hides its row
	}
	if found < 0 {
		found = m.index
	}
	m.move(found)
}

// move selects a row, or the nearest one that exists.
func (m *model) move(to int) {
	m.index = max(0, min(to, len(m.rows)-1))
	if m.index < len(m.rows) {
		m.at = m.rows[m.index].view.Key()
	}
}

func (m *model) setFilter(text string) {
	m.notice = notice{}
	m.filter = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r < ' ' }), " ")
	m.top, m.index, m.at = 0, 0, resume.Key{}
	m.refresh()
}

func (m *model) selected() *row {
	if m.open {
		return m.board.rows[m.at]
	}
	if m.index < len(m.rows) {
		return m.rows[m.index]
	}
	return nil
}

func (m *model) key(k tea.KeyPressMsg) tea.Cmd {
	switch name := k.String(); {
	case name == "ctrl+c":
		return tea.Quit
	case name == "ctrl+z":
		return tea.Suspend
	case m.ask != nil: // only y means yes
		yes := m.ask.yes
		if m.ask = nil; name != "y" && name != "Y" {
			return nil
		}
		return yes
	case m.typing:
		m.typed(name, k.Text)
		return nil
	case m.help:
		m.help = false
		return nil
	case m.fleet != nil:
		return m.fleetCommand(name)
	default:
		return m.command(name)
	}
}

func (m *model) typed(name, text string) {
	switch name {
	case "enter":
		m.typing = false
	case "esc":
		m.typing = false
		m.setFilter("")
	case "backspace":
		_, size := utf8.DecodeLastRuneInString(m.filter)
		m.setFilter(m.filter[:len(m.filter)-size])
	case "ctrl+u":
		m.setFilter("")
	case "up", "down", "pgup", "pgdown":
		m.travel(name)
	case "space":
		m.filter += " "
	default:
		if text != "" {
			m.setFilter(m.filter + text)
		}
	}
}

func (m *model) command(name string) tea.Cmd {
	switch name {
	case "q":
		return tea.Quit
	case "?":
		m.help = true
	case "/":
		m.open, m.text, m.typing = false, nil, true
	case "enter":
		m.open, m.scroll, m.text = !m.open && m.selected() != nil, 0, nil
	case "l":
		return m.run("logs")
	case "h":
		return m.run("history")
	case "o":
		return m.openPage()
	case "y":
		return m.copy()
	case "*":
		m.markAll()
	case "esc", "left", "backspace":
		m.back()
	case "r":
		return m.give(control.Due)
	case "c":
		return m.confirmCancel()
	case "p":
		return m.togglePause()
	case "P":
		return m.toggleAll()
	case "F":
		return m.openFleet()
	case "space":
		if _, scroll := m.pane(); scroll == nil {
			m.mark()
			return nil
		}
		m.travel(name)
	default:
		m.travel(name)
	}
	return nil
}

func (m *model) back() {
	switch {
	case m.text != nil:
		m.text = nil
	case m.open:
		m.open = false
		m.refresh()
	case len(m.marked) > 0:
		clear(m.marked)
	case m.filter != "":
		m.setFilter("")
	}
}

// travel moves the selection, or scrolls the details.
func (m *model) travel(name string) {
	lines, scroll := m.pane()
	page := max(1, m.room()-1)
	if scroll == nil {
		page = max(1, m.listRoom()-1)
	}
	far := len(m.rows) + len(lines)
	steps := map[string]int{
		"up": -1, "k": -1, "ctrl+p": -1, "down": 1, "j": 1, "ctrl+n": 1,
		"pgup": -page, "b": -page, "ctrl+b": -page, "pgdown": page, "space": page, "f": page, "ctrl+f": page,
		"home": -far, "g": -far, "end": far, "G": far,
	}
	step := steps[name]
	if scroll != nil {
		*scroll = max(0, min(*scroll+step, len(lines)-m.room()))
		return
	}
	if step != 0 {
		m.left = resume.Key{}
		m.move(m.index + step)
	}
}
