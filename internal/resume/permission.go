package resume

import (
	"slices"
	"strings"
)

// Since returns the origin with the settings that were noted earlier, if it is the same process: what its
// settings files say later is not what it was started with.
func (o *Origin) Since(earlier *Origin) *Origin {
	if o == nil || earlier == nil || earlier.Settings == nil || o.Process != earlier.Process || o.Boot != earlier.Boot {
		return o
	}
	same := *o
	same.Settings = earlier.Settings
	return &same
}

// Settings are what an agent's settings files said when the start of a session was seen. A file that was
// written after the process started says nothing about its start.
type Settings struct {
	Mode  string            `json:"mode,omitempty"`  // what may be done without asking, if no flag says it; empty: they did not say
	Files map[string]string `json:"files,omitempty"` // a hash of what each allows and forbids, without those that do neither
}

// Permission is what a resume may do without asking.
type Permission struct {
	Mode string   `json:"mode,omitempty"` // as the agent calls it; empty: it has no modes
	Rank int      `json:"rank,omitempty"` // of the modes of an agent, by what they allow: 1 is the least; 0: not known
	More []string `json:"more,omitempty"` // what else it allows, for people
}

func (p Permission) String() string { return strings.Join(append([]string{p.Mode}, p.More...), ", ") }

// Wider reports whether p allows something that than does not allow, as far as is known.
func (p Permission) Wider(than Permission) bool {
	switch {
	case p.Mode != than.Mode && (p.Rank == 0 || than.Rank == 0):
		return p.Mode != ""
	case p.Rank != than.Rank:
		return p.Rank > than.Rank
	default:
		return slices.ContainsFunc(p.More, func(more string) bool { return !slices.Contains(than.More, more) })
	}
}

// Word is a person's word that a session may continue although its start was not seen. It is for what
// they were shown.
type Word struct {
	For *Permission `json:"for,omitempty"` // nil: they were shown nothing, and it is for what the first resume after it is
}
