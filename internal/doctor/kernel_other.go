//go:build !linux

package doctor

// examineInotify has nothing to look at where there is no inotify.
func examineInotify(*Report, int) {}

// examineMounts has nothing to look at: there is one view of the files here.
func examineMounts(*Report, int) {}

// clockSynchronised cannot tell here.
func clockSynchronised() (synchronised, known bool) { return false, false }
