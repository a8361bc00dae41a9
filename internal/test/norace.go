//go:build !race

package test

const raced = false
