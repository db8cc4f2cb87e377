package watch

import (
	"bytes"
	"math/bits"
	"slices"
	"strings"
)

// finder finds the lines that contain one of several needles.
//
// A search that begins with a needle's first byte stumbles at every quote of
// JSON. Each needle is looked for by a byte of it that is rare in transcripts
// instead, and needles that share such a byte share the pass over the block.
type finder struct {
	every  bool // no needles: every line is a hit
	groups []group
}

// group is the needles that are found by the same byte.
type group struct {
	rare    byte
	needles []needle

	// before and after hold, for the byte on either side of a rare byte, the
	// needles that may stand there, a bit each: nearly all false hits end here.
	before, after [256]uint64
	all           uint64
}

type needle struct {
	text string
	at   int // of the rare byte
}

// maxGroup is how many needles the bits of a group can tell apart.
const maxGroup = 64

// newFinder plans the search. It takes the bytes one after the other that find
// most needles for the least work: a pass over the block costs about as much as
// being stopped at one byte of a hundred.
func newFinder(needles []string) finder {
	left := slices.DeleteFunc(slices.Clone(needles), func(n string) bool {
		return strings.Contains(n, "\n") // stands in no line
	})
	if len(needles) == 0 || slices.Contains(left, "") {
		return finder{every: true}
	}
	var f finder
	for len(left) > 0 {
		best := bestByte(left)
		g := group{rare: best}
		left = slices.DeleteFunc(left, func(n string) bool {
			at := strings.IndexByte(n, best)
			if at < 0 || len(g.needles) == maxGroup {
				return false
			}
			g.add(needle{n, at})
			return true
		})
		f.groups = append(f.groups, g)
	}
	return f
}

func bestByte(needles []string) byte {
	const pass = 100
	var best byte
	var most float64
	for c := range 256 {
		found := 0
		for _, n := range needles {
			if strings.IndexByte(n, byte(c)) >= 0 {
				found++
			}
		}
		if worth := float64(found) / float64(pass+frequency[c]); worth > most {
			best, most = byte(c), worth
		}
	}
	return best
}

func (g *group) add(n needle) {
	bit := uint64(1) << len(g.needles)
	g.all |= bit
	g.needles = append(g.needles, n)
	for c := range 256 {
		if n.at == 0 || n.text[n.at-1] == byte(c) {
			g.before[c] |= bit
		}
		if n.at == len(n.text)-1 || n.text[n.at+1] == byte(c) {
			g.after[c] |= bit
		}
	}
}

// next returns a place within the first needle of the group at or after from,
// or the block's length.
func (g *group) next(block []byte, from int) int {
	for i := from; i < len(block); i++ {
		step := bytes.IndexByte(block[i:], g.rare)
		if step < 0 {
			break
		}
		i += step
		if g.stands(block, i) {
			return i
		}
	}
	return len(block)
}

// stands says whether the rare byte at i is that of a needle.
func (g *group) stands(block []byte, i int) bool {
	maybe := g.all
	if i > 0 {
		maybe = g.before[block[i-1]]
	}
	if i+1 < len(block) {
		maybe &= g.after[block[i+1]]
	}
	for ; maybe != 0; maybe &= maybe - 1 {
		n := &g.needles[bits.TrailingZeros64(maybe)]
		start := i - n.at
		if start >= 0 && len(block)-start >= len(n.text) && string(block[start:start+len(n.text)]) == n.text {
			return true
		}
	}
	return false
}

// lines calls keep with the bounds of each line of the block that contains a
// needle, newline included. The block is of whole lines.
func (f *finder) lines(block []byte, keep func(start, end int)) {
	if f.every {
		for start := 0; start < len(block); {
			end := lineEnd(block, start)
			keep(start, end)
			start = end
		}
		return
	}
	// Each group remembers how far it has looked: it passes over each byte at
	// most once, and never over the rest of a line that was already kept.
	var few [8]int
	next := few[:0]
	for i := range f.groups {
		next = append(next, f.groups[i].next(block, 0))
	}
	for done := 0; done < len(block); {
		hit := slices.Min(next)
		if hit == len(block) {
			return
		}
		start := done + lineStart(block[done:hit])
		done = lineEnd(block, hit)
		keep(start, done)
		for i := range next {
			if next[i] < done {
				next[i] = f.groups[i].next(block, done)
			}
		}
	}
}

// lineEnd returns the place after the first newline at or after from.
func lineEnd(block []byte, from int) int {
	if i := bytes.IndexByte(block[from:], '\n'); i >= 0 {
		return from + i + 1
	}
	return len(block)
}

// lineStart returns the place after the block's last newline, or 0. It looks
// at windows from the end, because the search forward is vectorised and
// bytes.LastIndexByte is not.
func lineStart(block []byte) int {
	const window = 2 << 10
	for end := len(block); end > 0; {
		start := max(0, end-window)
		if last := lastNewline(block[start:end]); last >= 0 {
			return start + last + 1
		}
		end = start
	}
	return 0
}

func lastNewline(window []byte) int {
	last := -1
	for {
		i := bytes.IndexByte(window[last+1:], '\n')
		if i < 0 {
			return last
		}
		last += i + 1
	}
}

// frequency is how many of ten thousand bytes of a transcript are of each
// value, roughly: JSON around English and source code. It decides speed only.
var frequency = func() (f [256]int) {
	for c := range f {
		switch {
		case c >= 0x80:
			f[c] = 40 // text in other scripts
		case c < ' ':
			f[c] = 2
		default:
			f[c] = 10
		}
	}
	for of, letters := range map[int]string{
		1000: `"`, 800: "e", 500: "t", 400: "as ", 350: "inrod", 300: ":c,", 200: "-pml",
		160: "u012fh45\\", 110: "b9683g", 90: "y7", 60: "{}_k.v[]/w", 35: "xT", 20: "IqACDS",
		13: "EURP\n", 3: "zWFGJVKQX@~^",
	} {
		for i := range len(letters) {
			f[letters[i]] = of
		}
	}
	return f
}()
