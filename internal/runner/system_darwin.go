package runner

import "time"

// BirthTime returns when a directory was created. It is not known on this system.
func BirthTime(string) (time.Time, bool) { return time.Time{}, false }

func sealDescriptors() {}
