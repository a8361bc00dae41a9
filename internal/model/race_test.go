//go:build race

package model_test

// enough is how many random histories are compared by default: the race detector makes each ten times as slow.
const enough = 20
