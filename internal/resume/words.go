package resume

// Typed is how a printed command names a session: by its whole id, which is valid for ever and on every
// machine, with the agent before it if its name needs that.
func Typed(key Key, name string) string {
	if name == key.String() {
		return name
	}
	return key.ID
}
