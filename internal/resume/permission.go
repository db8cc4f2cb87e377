package resume

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
