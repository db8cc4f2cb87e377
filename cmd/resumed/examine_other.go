//go:build !linux && !windows

package main

// examineInotify has nothing to look at where there is no inotify.
func examineInotify(*examination, int) {}

// examineWorld has nothing to look at: there is one world here.
func examineWorld(*examination, int) {}

// clockSynchronised cannot tell here.
func clockSynchronised() (synchronised, known bool) { return false, false }
