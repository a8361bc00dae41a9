//go:build !race

package sourcetest

// raced: the race detector watches, which takes many times the memory and the time.
const raced = false
