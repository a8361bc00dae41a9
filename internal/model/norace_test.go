//go:build !race

package model_test

// enough is how many random histories are compared by default.
const enough = 60
