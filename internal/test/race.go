//go:build race

package test

const raced = true
