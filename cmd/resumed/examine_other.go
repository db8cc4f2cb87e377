//go:build !linux

package main

// examineInotify has nothing to look at where there is no inotify.
func examineInotify(*examination, int) {}

// clockSynchronised cannot tell here.
func clockSynchronised() (synchronised, known bool) { return false, false }
