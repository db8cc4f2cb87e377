package execrun

// followStops does nothing where a stop of the command cannot be detected.
func (t *terminal) followStops(int) {}
