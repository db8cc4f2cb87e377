package watch

import (
	"bytes"
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

	// near holds, for each byte beside the rare one, the needles that may stand
	// there, a bit each: nearly all false hits end here.
	near [len(beside)][256]uint64
}

// beside is where the bytes stand that are looked at first, seen from the rare
// one. The quote of a JSON key tells it from the same word in a text.
var beside = [...]int{-1, 1, -2}

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
	g.needles = append(g.needles, n)
	for k, by := range beside {
		at := n.at + by
		for c := range 256 {
			if at < 0 || at >= len(n.text) || n.text[at] == byte(c) {
				g.near[k][c] |= bit
			}
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
		if i < 2 || i+1 == len(block) { // nothing beside it
			if g.stands(block, i, ^uint64(0)) {
				return i
			}
			continue
		}
		maybe := g.near[0][block[i-1]] & g.near[1][block[i+1]]
		if maybe == 0 {
			continue
		}
		if maybe &= g.near[2][block[i-2]]; maybe != 0 && g.stands(block, i, maybe) {
			return i
		}
	}
	return len(block)
}

// stands says whether the rare byte at i is that of one of the needles.
func (g *group) stands(block []byte, i int, maybe uint64) bool {
	for k := range g.needles {
		n := &g.needles[k]
		start := i - n.at
		if maybe&(1<<k) != 0 && start >= 0 && len(block)-start >= len(n.text) &&
			string(block[start:start+len(n.text)]) == n.text {
			return true
		}
	}
	return false
}

// lines calls keep with the bounds of each line of the block that contains a
// needle, newline included, in their order; of each that is not empty where there
// are no needles. The block is of whole lines.
func (f *finder) lines(block []byte, keep func(start, end int)) {
	if !f.every {
		among(f.groups, block, 0, keep)
		return
	}
	for start := 0; start < len(block); {
		if block[start] == '\n' { // an empty line says nothing, and there may be a million
			start++
			continue
		}
		end := lineEnd(block, start)
		keep(start, end)
		start = end
	}
}

// among is lines for the part of a block from an offset on. What one group
// passes over is left to the next: the first finds the lines that are most
// frequent, so the others have less to look through.
func among(groups []group, part []byte, offset int, keep func(start, end int)) {
	for len(groups) > 0 && len(part) > 0 {
		hit := groups[0].next(part, 0)
		if hit == len(part) {
			groups = groups[1:]
			continue
		}
		start, end := lineStart(part[:hit]), lineEnd(part, hit)
		among(groups[1:], part[:start], offset, keep)
		keep(offset+start, offset+end)
		part, offset = part[end:], offset+end
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
