//go:build !race

package intake_test

const raced = false
