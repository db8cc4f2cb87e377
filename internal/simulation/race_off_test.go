//go:build !race

package simulation

const raceDetector = false

// everyday is how many steps are played by every test run. CI plays more.
const everyday = 15_000
