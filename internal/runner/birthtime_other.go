//go:build !linux

package runner

import "time"

// BirthTime returns when a directory was made. Here it cannot be told.
func BirthTime(string) (time.Time, bool) { return time.Time{}, false }
